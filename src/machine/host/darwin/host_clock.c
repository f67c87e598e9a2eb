// SPDX-License-Identifier: Apache-2.0
#include "host_clock.h"

uint64_t sonde__host_unix_ns(void)
{
    return clock_gettime_nsec_np(CLOCK_REALTIME);
}

uint64_t sonde__host_monotonic_ns(void)
{
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

uint64_t sonde__host_cpu_ns(void)
{
    return clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID);
}

/* The system counts them for the process only. */
struct sonde__host_waits sonde__host_waits(void)
{
    return (struct sonde__host_waits){0};
}
