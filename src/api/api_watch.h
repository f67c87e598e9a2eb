// SPDX-License-Identifier: Apache-2.0
/* The turn page of this process, which its loops write and the watch's thread reads.
 *
 * Invariant: the page is never freed. So the watch may end, or the next one begin, while a thread
 * is inside a mark: one mark is wrong then, but no memory. */
#ifndef SONDE_API_WATCH_H
#define SONDE_API_WATCH_H

#include <stdatomic.h>

#include "probe_page.h"

struct sonde__api_marks {
    _Atomic uint32_t running; /* 1: a watch runs */
    _Atomic uint32_t epoch;   /* counts forks that began a watch of their own; a slot is of one */
    _Atomic uint32_t wanted;  /* 1: a thread found no free slot since the last sweep */
    struct sonde__probe_page page;
};

extern struct sonde__api_marks sonde__api_marks;

/* Mark every loop as idle. Context: no watch runs. */
void sonde__api_marks_begin(uint64_t threshold_ns);
/* Free the slots of threads that have ended. Context: the watch's thread. */
void sonde__api_marks_sweep(void);

#endif
