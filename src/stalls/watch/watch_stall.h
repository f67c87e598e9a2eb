// SPDX-License-Identifier: Apache-2.0
/* A stall in progress: its samples, weighted by the time that each represents.
 *
 * A sample that equals the one before extends it, so an unchanged thread costs one element however
 * long it hangs. Context: any thread, one at a time. */
#ifndef SONDE_WATCH_STALL_H
#define SONDE_WATCH_STALL_H

#include "host_run.h"
#include "watch_capture.h"

/* Different samples kept of one stall: at four a second, over four hours of a thread that never
 * does the same twice. What does not fit extends the last one and is counted. */
#define SONDE__WATCH_SAMPLES_MAX 65536u
/* Other threads that are sampled once; a note says how many do not fit. */
#define SONDE__WATCH_THREADS_MAX 1024u

struct sonde__watch_sample {
    struct sonde__sample sample;
    uint64_t time_ns;   /* since the stall began, effective */
    uint64_t weight_ns; /* until the next one */
};

struct sonde__watch_stall {
    struct sonde__watch_sample *samples;
    uint32_t count, capacity;
    uint64_t lost;
    uint64_t early; /* samples that ended a system call of the thread early */
    struct sonde__sample *threads;
    uint32_t thread_count, thread_total;
    struct sonde__host_thread_look begin; /* schedstat when the samples began */
    uint64_t begin_cpu_ns;                /* of the watch itself */
    uint64_t begin_counted_ns;
    uint64_t cpu_ns, runqueue_ns, overhead_ns;
};

void sonde__watch_stall_init(struct sonde__watch_stall *stall);
void sonde__watch_stall_done(struct sonde__watch_stall *stall);
/* Takes the sample over. counted_ns: effective time since the thread became busy. */
void sonde__watch_stall_add(struct sonde__watch_stall *stall, struct sonde__sample *sample,
                            uint64_t counted_ns);
/* Extend the last sample to here. */
void sonde__watch_stall_extend(struct sonde__watch_stall *stall, uint64_t counted_ns);
void sonde__watch_stall_add_threads(struct sonde__watch_stall *stall,
                                    struct sonde__watch_sampler *sampler, uint64_t tid);

#endif
