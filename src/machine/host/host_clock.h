// SPDX-License-Identifier: Apache-2.0
/* Clocks, in nanoseconds. Context: any thread. */
#ifndef SONDE_HOST_CLOCK_H
#define SONDE_HOST_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The clock of sonde__host_tick_ns(): inline, because a function call would cost a tenth more. */
#if defined(CLOCK_MONOTONIC_COARSE) /* Linux */
#    define SONDE__HOST_TICK_CLOCK CLOCK_MONOTONIC_COARSE
#else /* Darwin */
#    define SONDE__HOST_TICK_CLOCK CLOCK_UPTIME_RAW_APPROX
#endif

uint64_t sonde__host_unix_ns(void); /* since 1970 */
uint64_t sonde__host_monotonic_ns(void);
/* Read the monotonic clock by the kernel: a library that is preloaded may give another time for
 * libc's (libfaketime), and a supervisor compares its clock with that of its program's probe, which
 * is the kernel's. Not in a program that is watched from inside: its stamps are by libc's clock.
 * Context: start-up, one thread. */
void sonde__host_use_kernels_clock(void);
uint64_t sonde__host_cpu_ns(void); /* CPU time of this thread */

/* How often this thread has waited, in all: each stop of its process adds a wait. All 0: unknown.
 */
struct sonde__host_waits {
    uint64_t waits;
    uint64_t disk_faults; /* pages that had to be read, which are waits, too */
};
struct sonde__host_waits sonde__host_waits(void);

/* Monotonic, as of the kernel's last tick: up to 4 to 10 ms old, but cheaper. */
static inline uint64_t sonde__host_tick_ns(void)
{
    struct timespec now;
    clock_gettime(SONDE__HOST_TICK_CLOCK, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
