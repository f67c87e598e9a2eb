// SPDX-License-Identifier: Apache-2.0
/* The scheduler's records of the thread whose turn is sampled: where a phase of it began and ended,
 * to the microsecond, however late a look comes. One thread at a time: while another one has the
 * trace, phases are told apart by looks alone. Where perf events are refused there is none.
 * Context: the thread that samples. */
#ifndef SONDE_WATCH_TRACE_H
#define SONDE_WATCH_TRACE_H

#include "host_perf.h"

/* More switches between two samples are no border: the thread waits again and again. */
#define SONDE__WATCH_TRACE_MOVES 4u

struct sonde__watch_trace {
    struct sonde__host_perf perf;
    uint64_t tid;    /* 0: closed */
    const void *who; /* it is on for; null: it is paused */
    bool refused;    /* perf events are, here */
};

/* `who` begins to sample the thread. */
void sonde__watch_trace_begin(struct sonde__watch_trace *trace, const void *who, uint64_t tid);
/* It no longer does. It may again soon: an event costs more to open than to pause. */
void sonde__watch_trace_rest(struct sonde__watch_trace *trace, const void *who);
void sonde__watch_trace_close(struct sonde__watch_trace *trace);
/* Since the last call, until then. False: not known. */
bool sonde__watch_trace_read(struct sonde__watch_trace *trace, const void *who, uint64_t until_ns,
                             struct sonde__host_switches *ret_switches);

#endif
