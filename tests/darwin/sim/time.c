// SPDX-License-Identifier: Apache-2.0
/* Clocks and pauses. */
#include <errno.h>
#include <mach/vm_page_size.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

#if defined(__arm64__)
vm_size_t vm_page_size = 0x4000;
#else
vm_size_t vm_page_size = 0x1000;
#endif

uint64_t clock_gettime_nsec_np(clockid_t clock)
{
    sim_use_vectors();
    switch (clock) {
    case CLOCK_REALTIME:
        return host_real_ns();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_UPTIME_RAW:
    case CLOCK_UPTIME_RAW_APPROX:
        return host_now_ns();
    case CLOCK_THREAD_CPUTIME_ID:
        return host_cpu_ns();
    default:
        return 0;
    }
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    uint64_t ns = clock_gettime_nsec_np(clock);
    *ret_time = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                                  .tv_nsec = (long)(ns % 1000000000u)};
    if (ns == 0) {
        errno = EINVAL;
    }
    return ns != 0 ? 0 : -1;
}

time_t time(time_t *ret_time)
{
    time_t now = (time_t)(host_real_ns() / 1000000000u);
    if (ret_time != 0) {
        *ret_time = now;
    }
    return now;
}

/* Part of its caller: a thread that waits is in the function that the program called. */
static inline __attribute__((always_inline)) void pause_ns(uint64_t time_ns)
{
    uint32_t never = 0;
    uint64_t now = host_now_ns(), until = now + time_ns;
    for (; now < until; now = host_now_ns()) {
        host_sleep(&never, 0, until - now);
    }
}

int usleep(useconds_t time_us)
{
    pause_ns(time_us * 1000ull);
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *ret_left)
{
    (void)ret_left;
    pause_ns((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
    return 0;
}
