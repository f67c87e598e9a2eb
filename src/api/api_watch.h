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

struct sonde__api_marks {
    _Atomic uint32_t running; /* 1: a watch runs */
    _Atomic uint32_t epoch;   /* counts forks that began a watch of their own; a slot is of one */
    _Atomic uint32_t wanted;  /* 1: a thread found no free slot since the last sweep */
    struct sonde__probe_page page;
    struct sonde__probe_scopes scopes;
};

extern struct sonde__api_marks sonde__api_marks;

/* Asked before each mark. */
static inline bool sonde__api_marks_run(void)
{
    return atomic_load_explicit(&sonde__api_marks.running, memory_order_acquire) != 0;
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
