// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

uint64_t collector_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return ns_of(&now);
}

uint64_t collector_steady_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return ns_of(&now);
}

struct timespec collector_after_ms(uint64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

struct clock_age clock_age_begin(void)
{
    return (struct clock_age){collector_now_ns(), collector_steady_ns()};
}

uint64_t clock_age_now(const struct clock_age *age, uint64_t wall_ns, uint64_t steady_ns)
{
    uint64_t believed_ns = age->wall_ns + (steady_ns - age->steady_ns);
    return wall_ns < believed_ns ? wall_ns : believed_ns;
}
