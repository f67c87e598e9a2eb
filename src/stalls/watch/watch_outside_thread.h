// SPDX-License-Identifier: Apache-2.0
/* What the watch from outside knows of each thread. Context: the thread that samples. */
#ifndef SONDE_WATCH_OUTSIDE_THREAD_H
#define SONDE_WATCH_OUTSIDE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "host_count.h"
#include "host_perf.h"
#include "os.h"
#include "probe_page.h"
#include "watch_outside.h"
#include "watch_outside_wait.h"

struct watch_thread {
    uint64_t tid;
    int32_t wait_fd, stat_fd;
    struct sonde__probe_slot *slot; /* null: no wait of it could be a loop's */
    struct sonde__os_schedstat stat;
    struct sonde__os_wait wait, idle_wait; /* the last wait, and the loop's wait */
    struct sonde__watch_outside_places places;
    uint64_t seen_ns; /* when the following was read; 0: never */
    bool blocked;
    bool idle; /* in a wait that enter() has noted; leave() follows */
    bool held; /* no loop is learned: the thread runs Go code, or is in a pool */
    bool of_go;
    uint64_t voluntary; /* switches; UINT64_MAX: not read */
    uint64_t transfers; /* reads and writes; UINT64_MAX: not read */
    uint64_t calls;     /* calls of its loop's wait, while counted; UINT64_MAX: not read */
    struct sonde__host_count count; /* of calls */
    bool counts;                    /* `count` is open */
    uint64_t needed_ns;             /* when a turn was last long */
    uint64_t away_ns;               /* when it was seen to leave its loop's wait; 0: it is there */
    uint64_t turn_ns;               /* when it may last have been back there */
    uint64_t longest_ns;            /* longest time between two of these */
    bool guessed;                   /* a return to the wait is a guess */
    struct sonde__host_perf wake;   /* ends the watch's sleep when the thread runs */
    bool wakes;                     /* `wake` is open */
};

struct sonde__watch_outside {
    struct sonde__watch_outside_calls calls;
    struct watch_thread threads[SONDE__PROBE_SLOTS];
    uint32_t count;
    uint64_t listed_ns, ran_ns; /* when threads were listed; when one had last run */
    bool no_counts;             /* counting calls is not allowed */
    bool is_judged;             /* counts.is_go is known, and was reported */
    uint64_t cpu_ns, cost_ns;   /* CPU time at the last look, and the mean cost of a look */
    struct sonde__watch_outside_counts counts;
};

/* Is each thread of the process known? If not, the next look lists them. */
bool sonde__watch_outside_lists_all(struct sonde__watch_session *s);

#endif
