// SPDX-License-Identifier: Apache-2.0
/* The turn page of this process, and its scopes, which its threads write and the watch's thread
 * reads.
 *
 * Invariant: this memory is never freed. So the watch may end, or the next one begin, while a
 * thread is inside a mark: one mark is wrong then, but no memory. */
#ifndef SONDE_API_WATCH_H
#define SONDE_API_WATCH_H

#include <stdatomic.h>

#include "os.h"
#include "probe_page.h"
#include "probe_scope.h"

enum sonde__api_running {
    SONDE__API_STOPPED,
    SONDE__API_RUNS,
    SONDE__API_INHERITED, /* a fork child begins a watch of its own with its first mark */
};

struct sonde__api_marks {
    _Atomic uint32_t running; /* enum sonde__api_running */
    _Atomic uint32_t stalled; /* stalls that last now */
    _Atomic uint32_t epoch;   /* counts forks that began a watch of their own; a slot is of one */
    _Atomic uint32_t wanted;  /* 1: a thread found no free slot since the last sweep */
    /* Begins the watch that a fork child was promised. False: it could not begin. Keeps errno. */
    bool (*again)(void);
    struct sonde__probe_page page;
    struct sonde__probe_scopes scopes;
};

extern struct sonde__api_marks sonde__api_marks;

/* Asked before each mark. */
static inline bool sonde__api_marks_run(void)
{
    uint32_t running = atomic_load_explicit(&sonde__api_marks.running, memory_order_acquire);
    return running == SONDE__API_RUNS ||
           (__builtin_expect(running == SONDE__API_INHERITED, false) && sonde__api_marks.again());
}
/* After a mark by which the thread becomes busy. */
static inline void sonde__api_marks_wake(void)
{
    struct sonde__probe_page *page = &sonde__api_marks.page;
    if (__builtin_expect(sonde__probe_must_wake(page), false)) {
        (void)sonde__os_wake((const uint32_t *)&page->sleeping, false, false);
    }
}

/* Mark every loop as idle. Context: no watch runs. */
void sonde__api_marks_begin(uint64_t threshold_ns);
/* Free the slots of threads that have ended. Context: the watch's thread. */
void sonde__api_marks_sweep(void);

#endif
