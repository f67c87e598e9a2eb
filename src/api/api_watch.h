// SPDX-License-Identifier: Apache-2.0
/* The turn page and the scopes of this process. Its threads write them, the watch's thread reads.
 *
 * Invariant: this memory is never freed, so a watch may end or start while a thread is inside a
 * mark. That mark is then wrong, but does no harm. */
#ifndef SONDE_API_WATCH_H
#define SONDE_API_WATCH_H

#include <stdatomic.h>

#include "os.h"
#include "probe_page.h"
#include "probe_scope.h"

enum sonde__api_running {
    SONDE__API_STOPPED,
    SONDE__API_RUNS,
    SONDE__API_INHERITED, /* a fork child starts its own watch at the first mark */
};

struct sonde__api_marks {
    _Atomic uint32_t running;   /* enum sonde__api_running */
    _Atomic uint32_t stalled;   /* number of current stalls */
    _Atomic uint32_t epoch;     /* number of forks that started a watch; slots belong to one */
    _Atomic uint32_t wanted;    /* 1: a thread has found no free slot since the last sweep */
    _Atomic uint32_t app_state; /* enum sonde_app_state, but ENDS */
    /* Start the watch of a fork child. False: it failed. Keeps errno. */
    bool (*again)(void);
    struct sonde__probe_page page;
    struct sonde__probe_scopes scopes;
};

extern struct sonde__api_marks sonde__api_marks;

/* Checked before each mark. */
static inline bool sonde__api_marks_run(void)
{
    uint32_t running = atomic_load_explicit(&sonde__api_marks.running, memory_order_acquire);
    return running == SONDE__API_RUNS ||
           (__builtin_expect(running == SONDE__API_INHERITED, false) && sonde__api_marks.again());
}
/* Called after a mark that makes the thread busy. */
static inline void sonde__api_marks_wake(void)
{
    struct sonde__probe_page *page = &sonde__api_marks.page;
    if (__builtin_expect(sonde__probe_must_wake(page), false)) {
        (void)sonde__os_wake((const uint32_t *)&page->sleeping, false, false);
    }
}

/* Mark the calling thread's run loop: it waits, or a turn of this phase begins. phase: static. */
void sonde__api_marks_run_loop(bool waits, const char *phase);
/* The mode in which the run loop of thread `tid` runs; "": not known. */
const char *sonde__api_run_loop_mode(uint64_t tid);

/* Mark every loop as idle. Context: no watch is running. */
void sonde__api_marks_begin(uint64_t threshold_ns);
/* Free the slots of threads that have ended. Context: the watch's thread. */
void sonde__api_marks_sweep(void);

#endif
