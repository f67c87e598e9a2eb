// SPDX-License-Identifier: Apache-2.0
/* Clock and futex. The clock is read by a system call: finding the vdso's entry would need
 * state. */
#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "linux_syscall.h"
#include "os.h"

enum { NS_PER_S = 1000000000 };

static uint64_t read_clock(int clock)
{
    struct timespec t = {0, 0};
    linux_call(SYS_clock_gettime, clock, &t, 0, 0);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t sonde__os_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t sonde__os_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

enum sonde_status sonde__os_sleep(const uint32_t *word, uint32_t expected, uint64_t timeout_ns,
                                  bool shared)
{
    struct timespec t = {(time_t)(timeout_ns / NS_PER_S), (long)(timeout_ns % NS_PER_S)};
    int op = shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
    long result = linux_call(SYS_futex, word, op, expected,
                             timeout_ns == SONDE__OS_FOREVER ? (struct timespec *)NULL : &t);
    return result == -ETIMEDOUT ? SONDE_TIMEOUT : SONDE_OK;
}

enum sonde_status sonde__os_sleep_until(const uint32_t *word, uint32_t expected, uint64_t until_ns)
{
    struct timespec t = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
    long result = linux_call6(SYS_futex, (long)word, FUTEX_WAIT_BITSET_PRIVATE, expected, (long)&t,
                              0, (long)FUTEX_BITSET_MATCH_ANY);
    return result == -ETIMEDOUT ? SONDE_TIMEOUT : SONDE_OK;
}

bool sonde__os_wake(const uint32_t *word, bool all, bool shared)
{
    int op = shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;
    return linux_call(SYS_futex, word, op, all ? INT32_MAX : 1, 0) > 0;
}
