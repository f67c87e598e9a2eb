// SPDX-License-Identifier: Apache-2.0
/* The threads of a child process that a stalled thread waits for, sampled once.
 *
 * The child is only read: its running threads are sampled by a perf event or not at all, and it is
 * never stopped or signalled. Opening it costs some ms of CPU time, so this happens at most once
 * per stall and as rarely as the search of all processes (sampler_cause.h). Context: any thread,
 * one at a time per struct. */
#ifndef SONDE_SAMPLER_CHILD_H
#define SONDE_SAMPLER_CHILD_H

#include "host_process.h"
#include "sampler.h"

/* Threads of a child that are sampled; all are counted. */
#define SONDE__SAMPLER_CHILD_THREADS_MAX 32u

struct sonde__sampler_child {
    int32_t pid, parent_pid;
    char executable[SONDE__HOST_PATH_MAX];
    struct sonde__sampler *sampler; /* keeps what `images` needs */
    struct sonde__target *images;   /* as of sonde__sampler_freeze() */
    struct sonde__sample threads[SONDE__SAMPLER_CHILD_THREADS_MAX];
    uint32_t thread_count, thread_total;
};

/* perf: running threads may be sampled by perf events. Null: the process cannot be read (the reason
 * is in ret_error, which may be null), has ended, or memory ran out. Ownership: _done(). */
struct sonde__sampler_child *sonde__sampler_child_take(int32_t pid, bool perf,
                                                       struct sonde_error *ret_error);
void sonde__sampler_child_done(struct sonde__sampler_child *child);

#endif
