// SPDX-License-Identifier: Apache-2.0
/* Another time of libc's clocks, half as fast, as libraries give it that test programs at
 * other dates (libfaketime). The kernel's own is unchanged. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    long result = syscall(SYS_clock_gettime, clock, ret_time);
    if (result == 0 && clock != CLOCK_THREAD_CPUTIME_ID && clock != CLOCK_PROCESS_CPUTIME_ID) {
        ret_time->tv_nsec = (ret_time->tv_sec % 2 * 1000000000 + ret_time->tv_nsec) / 2;
        ret_time->tv_sec /= 2;
    }
    return (int)result;
}
