// SPDX-License-Identifier: Apache-2.0
/* The clock of the probe and the recorder, read in every turn of a loop or for every block.
 * Context: handler. */
#ifndef SONDE_PRELOAD_CLOCK_H
#define SONDE_PRELOAD_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The clocks of sonde__os_now_ns(): exact, and read faster with a resolution of milliseconds. */
#if defined(CLOCK_MONOTONIC_COARSE) /* Linux */
#    define PRELOAD_CLOCK        CLOCK_MONOTONIC
#    define PRELOAD_COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else /* Darwin */
#    define PRELOAD_CLOCK        CLOCK_UPTIME_RAW
#    define PRELOAD_COARSE_CLOCK CLOCK_UPTIME_RAW_APPROX
#endif

/* The vdso's clock_gettime() once the process has started (libc's wrapper costs 50 % more); libc's
 * before that, or without a vdso. */
extern int (*preload_clock)(clockid_t clock, struct timespec *ret_time);
void preload_find_clock(void);

static inline uint64_t preload_clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)preload_clock(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t preload_precise_ns(void)
{
    return preload_clock_ns(PRELOAD_CLOCK);
}

/* The coarse clock: a resolution of a jiffy, at a fifth of the cost. */
static inline uint64_t preload_now_ns(void)
{
    return preload_clock_ns(PRELOAD_COARSE_CLOCK);
}

#endif
