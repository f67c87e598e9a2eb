// SPDX-License-Identifier: Apache-2.0
#include "host_clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sonde__host_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t sonde__host_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t sonde__host_unix_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}
