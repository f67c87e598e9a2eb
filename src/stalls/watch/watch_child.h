// SPDX-License-Identifier: Apache-2.0
/* The threads of a child that a stalled thread waits for, once.
 *
 * The child is only read: what runs in it is sampled by a perf event or not at all, it is never
 * stopped or signalled. Opening it costs some ms of CPU time, so it is done once a stall and not
 * more often than all processes are searched (watch_cause.h).
 * Context: any thread, one at a time per struct. */
#ifndef SONDE_WATCH_CHILD_H
#define SONDE_WATCH_CHILD_H

#include "host_process.h"
#include "watch_capture.h"

/* Threads of a child that are sampled; how many there are is known. */
#define SONDE__WATCH_CHILD_THREADS_MAX 32u

struct sonde__watch_child {
    int32_t pid, parent_pid;
    char executable[SONDE__HOST_PATH_MAX];
    struct sonde__watch_sampler *sampler; /* keeps what `images` needs */
    struct sonde__target *images;         /* as of sonde__watch_sampler_freeze() */
    struct sonde__sample threads[SONDE__WATCH_CHILD_THREADS_MAX];
    uint32_t thread_count, thread_total;
};

/* perf: running threads may be sampled by perf events. Null: the process may not be read, which
 * ret_error says (it may be null), has ended, or memory ran out. Ownership: _done(). */
struct sonde__watch_child *sonde__watch_child_take(int32_t pid, bool perf,
                                                   struct sonde_error *ret_error);
void sonde__watch_child_done(struct sonde__watch_child *child);

#endif
