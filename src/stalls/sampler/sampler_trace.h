// SPDX-License-Identifier: Apache-2.0
/* The scheduler's records of the thread that is sampled. They show to the microsecond when a phase
 * of its turn began and ended, however late the looks are; between two phases in which it runs,
 * ticks show it to some ms (sampler_border.h). Only one thread has the trace at a time;
 * phases of others are found by looks alone. Without perf events there is no trace. Context: the
 * thread that samples. */
#ifndef SONDE_SAMPLER_TRACE_H
#define SONDE_SAMPLER_TRACE_H

#include "sampler_border.h"

/* With more switches than this between two samples, the thread waits again and again, and there is
 * no single border. */
#define SONDE__SAMPLER_TRACE_MOVES 4u

struct sonde__sampler_trace {
    struct sonde__host_perf perf;
    uint64_t tid;        /* 0: closed */
    const void *who;     /* who uses it; null: paused */
    const void *stalled; /* whose stall ended last; null: none yet */
    bool awaits;         /* `who` does not sample yet */
    bool is_crowded;     /* set by the owner: processors are short, so ticks are finer */
    bool refused;        /* perf events are refused */
};

/* `who` begins to sample thread `tid` of process `pid`, unless somebody else samples. runs: it runs
 * now, or waits only for a processor. */
void sonde__sampler_trace_begin(struct sonde__sampler_trace *trace, const void *who, int32_t pid,
                                uint64_t tid, bool runs);
/* `who` may begin to sample soon, and wants to know what the thread does until then. It gives way
 * to whoever samples. Where several threads wait, that whose loop stalled last is taken. */
void sonde__sampler_trace_await(struct sonde__sampler_trace *trace, const void *who, int32_t pid,
                                uint64_t tid);
/* `who` stops sampling. The event is paused, not closed: opening it again would cost more. */
void sonde__sampler_trace_rest(struct sonde__sampler_trace *trace, const void *who);
/* Could the thread run, and has it had no processor since it ran last? It has not waited since the
 * last call of _read(). */
bool sonde__sampler_trace_is_off(const struct sonde__sampler_trace *trace, const void *who);
/* What has the thread done since the last call of _read()? Takes nothing. False: not known. */
bool sonde__sampler_trace_peek(const struct sonde__sampler_trace *trace, const void *who,
                               struct sonde__host_moves *ret_moves);
void sonde__sampler_trace_close(struct sonde__sampler_trace *trace);
/* Thread `tid` has ended. Another one may get its number, and the event would not see it. */
void sonde__sampler_trace_forget(struct sonde__sampler_trace *trace, uint64_t tid);
/* The switches from the last call to until_ns. Without any, the thread ran on or slept on: the
 * ticks are added to `border` (may be null). False: not known. */
bool sonde__sampler_trace_read(struct sonde__sampler_trace *trace, const void *who,
                               uint64_t until_ns, struct sonde__sampler_border *border,
                               struct sonde__host_switches *ret_switches);

#endif
