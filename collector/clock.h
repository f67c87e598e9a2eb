// SPDX-License-Identifier: Apache-2.0
/* Two clocks: that of the wall, which somebody may set, for what is stored and shown; and one that
 * nobody sets, for what is waited for. Context: any thread. */
#ifndef COLLECTOR_CLOCK_H
#define COLLECTOR_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since 1970. */
uint64_t collector_now_ns(void);
/* Nanoseconds since some moment; goes on while the machine is suspended. */
uint64_t collector_steady_ns(void);

/* A moment in `ms` from now, for pthread_cond_clockwait() with CLOCK_MONOTONIC. */
struct timespec collector_after_ms(uint64_t ms);

/* The wall's clock for what is removed by age. */
struct clock_age {
    uint64_t wall_ns, steady_ns; /* as it began */
};
struct clock_age clock_age_begin(void);
/* The time by which ages are counted, where the clocks are at wall_ns and steady_ns now. A clock
 * that was set forward since it began is not believed: it would remove all at once. One that was
 * set back is. */
uint64_t clock_age_now(const struct clock_age *age, uint64_t wall_ns, uint64_t steady_ns);

#endif
