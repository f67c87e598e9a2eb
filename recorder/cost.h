// SPDX-License-Identifier: Apache-2.0
/* What recording costs the program: the first calls of each thread are measured, then one in some.
 * A measured call stands for the ones that follow it unmeasured. A measurement during which the
 * thread may have lost its processor is left out, and counted as that. Context: handler, except the
 * start. */
#ifndef SONDE_RECORDER_COST_H
#define SONDE_RECORDER_COST_H

#include "clock.h"
#include "recorder.h"

enum {
    RECORDER_COST_FIRST = 16,  /* calls of a thread that are all measured */
    RECORDER_COST_EACH = 64,   /* then one in this many; a power of two */
    RECORDER_COST_MAX = 50000, /* ns; longer ones are left out, unless they are a thread's first */
};

static inline uint64_t recorder_cost_now(void)
{
    recorder_busy++; /* as in start.c */
    uint64_t now = preload_precise_ns();
    recorder_busy--;
    return now;
}

/* How many calls this one stands for; 0: it is not measured. */
static inline uint32_t recorder_cost_weight(uint32_t call)
{
    return call < RECORDER_COST_FIRST ? 1 : call % RECORDER_COST_EACH == 0 ? RECORDER_COST_EACH : 0;
}

static inline void recorder_cost_add(uint32_t weight, uint64_t begin_ns)
{
    uint64_t took = recorder_cost_now() - begin_ns;
    took -= took > recorder_clock_ns ? recorder_clock_ns : took;
    struct sonde__record_page *page = recorder_page;
    if (took < RECORDER_COST_MAX || weight == 1) {
        atomic_fetch_add_explicit(&page->cost_samples, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&page->cost_calls, weight, memory_order_relaxed);
        atomic_fetch_add_explicit(&page->cost_ns, took * weight, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&page->cost_left_out, 1, memory_order_relaxed);
    }
}

#endif
