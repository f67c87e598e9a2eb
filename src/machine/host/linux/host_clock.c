// SPDX-License-Identifier: Apache-2.0
#include "host_clock.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

#include "os.h"

static bool is_kernels;

void sonde__host_use_kernels_clock(void)
{
    is_kernels = true;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sonde__host_monotonic_ns(void)
{
    return is_kernels ? sonde__os_now_ns() : read_clock(CLOCK_MONOTONIC);
}

uint64_t sonde__host_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct sonde__host_waits sonde__host_waits(void)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_THREAD, &used);
    return (struct sonde__host_waits){(uint64_t)used.ru_nvcsw, (uint64_t)used.ru_majflt};
}

uint64_t sonde__host_unix_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}
