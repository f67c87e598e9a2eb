// SPDX-License-Identifier: Apache-2.0
/* Wrappers of waits on condition variables and for signals, and of syscall(). */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "preload_wrap.h"

/* Objects that distinguish the waits for signals. */
enum { WAIT_SIGNALS = 1, WAIT_PAUSE, WAIT_SUSPEND };

#define TIMED (PRELOAD_LEARN | PRELOAD_TIMED)

/* --- condition variables: they return errors, they do not set errno --- */

PRELOAD_WRAP(int, pthread_cond_wait, (pthread_cond_t * cond, pthread_mutex_t *mutex), (cond, mutex),
             SONDE__PROBE_COND, (uintptr_t)cond, false, PRELOAD_LEARN)

PRELOAD_WRAP(int, pthread_cond_timedwait,
             (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *limit),
             (cond, mutex, limit), SONDE__PROBE_COND, (uintptr_t)cond, false, TIMED)

PRELOAD_WRAP(int, pthread_cond_clockwait,
             (pthread_cond_t * cond, pthread_mutex_t *mutex, clockid_t clock,
              const struct timespec *limit),
             (cond, mutex, clock, limit), SONDE__PROBE_COND, (uintptr_t)cond, false, TIMED)

PRELOAD_WRAP(int, cnd_wait, (cnd_t * cond, mtx_t *mutex), (cond, mutex), SONDE__PROBE_COND,
             (uintptr_t)cond, false, PRELOAD_LEARN)

PRELOAD_WRAP(int, cnd_timedwait, (cnd_t * cond, mtx_t *mutex, const struct timespec *limit),
             (cond, mutex, limit), SONDE__PROBE_COND, (uintptr_t)cond, false, TIMED)

/* --- signals --- */

PRELOAD_WRAP(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info),
             SONDE__PROBE_SIGNAL, WAIT_SIGNALS, false, PRELOAD_LEARN)

PRELOAD_WRAP(int, sigtimedwait,
             (const sigset_t *set, siginfo_t *info, const struct timespec *timeout),
             (set, info, timeout), SONDE__PROBE_SIGNAL, WAIT_SIGNALS,
             timeout != NULL && timeout->tv_sec == 0 && timeout->tv_nsec == 0,
             timeout != NULL ? TIMED : PRELOAD_LEARN)

PRELOAD_WRAP(int, sigwait, (const sigset_t *set, int *signal), (set, signal), SONDE__PROBE_SIGNAL,
             WAIT_SIGNALS, false, PRELOAD_LEARN)

/* Written by hand because it has no parameters. */
PRELOAD_EXPORT int pause(void)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"pause", NULL};
    int (*real)(void) = (int (*)(void))(uintptr_t)preload_real(&cell);
    char here;
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    struct sonde__probe_slot *slot =
        preload_learn(SONDE__PROBE_SIGNAL, WAIT_PAUSE, (uintptr_t)&here,
                      (uintptr_t)__builtin_return_address(0), PRELOAD_LEARN);
    int result = real();
    if (slot != NULL) {
        preload_end_any(slot);
    }
    return result;
}

PRELOAD_WRAP(int, sigsuspend, (const sigset_t *mask), (mask), SONDE__PROBE_SIGNAL, WAIT_SUSPEND,
             false, PRELOAD_LEARN)

/* --- system calls by number --- */

static bool is_zero_at(long address)
{
    const struct timespec *t = (const struct timespec *)(uintptr_t)address;
    return t != NULL && t->tv_sec == 0 && t->tv_nsec == 0;
}

static bool is_futex_wait(int operation)
{
    int command = operation & FUTEX_CMD_MASK;
    return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
}

/* Fill kind, object, instant and timed. False: not a wait that a loop could make. */
static bool describe(long number, const long a[6], struct sonde__probe_wait *wait)
{
    switch (number) {
#if defined(SYS_epoll_wait)
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
        wait->kind = SONDE__PROBE_EPOLL;
        wait->object = (uint32_t)a[0];
        wait->instant = (int)a[3] == 0;
        wait->timed = (int)a[3] > 0;
        return true;
    case SYS_epoll_pwait2:
        wait->kind = SONDE__PROBE_EPOLL;
        wait->object = (uint32_t)a[0];
        wait->instant = is_zero_at(a[3]);
        wait->timed = a[3] != 0;
        return true;
    case SYS_ppoll:
        wait->kind = a[1] > 0 ? SONDE__PROBE_POLL : SONDE__PROBE_SLEEP;
        wait->object = a[1] <= 0   ? wait->caller
                       : a[0] != 0 ? (uint32_t) * (const int *)(uintptr_t)a[0]
                                   : UINT64_MAX;
        wait->instant = is_zero_at(a[2]);
        wait->timed = a[2] != 0;
        return true;
    case SYS_futex: /* (word, operation, value, timeout): also locks, which wait deeper */
        wait->kind = SONDE__PROBE_FUTEX;
        wait->object = (uint64_t)a[0];
        wait->timed = a[3] != 0;
        return is_futex_wait((int)a[1]);
    case SYS_io_uring_enter: /* (fd, to_submit, min_complete, flags): without min_complete no wait
                              */
        wait->kind = SONDE__PROBE_OTHER;
        wait->object = (uint32_t)a[0];
        return a[2] > 0;
    default:
        return false;
    }
}

/* Passes six arguments to any call, as every implementation does: the kernel ignores surplus
 * ones. A caller that has fewer has left words of its stack there. */
PRELOAD_EXPORT __attribute__((no_sanitize_address)) long syscall(long number, ...)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"syscall", NULL};
    long (*real)(long, ...) = (long (*)(long, ...))(uintptr_t)preload_real(&cell);
    struct sonde__probe_wait wait = {.sp = (uintptr_t)&wait,
                                     .caller = (uintptr_t)__builtin_return_address(0)};
    struct sonde__probe_slot *slot = NULL;
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    if (__builtin_expect(real == NULL, false)) {
        errno = ENOSYS;
        return -1;
    }
    if (describe(number, a, &wait)) {
        slot = preload_learn(wait.kind, wait.object, wait.sp, wait.caller,
                             (wait.instant ? PRELOAD_INSTANT : 0u) |
                                 (wait.timed ? PRELOAD_TIMED : 0u) | PRELOAD_LEARN);
    }
    long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (slot != NULL) {
        preload_end_any(slot);
    }
    return result;
}
