// SPDX-License-Identifier: Apache-2.0
/* Loops that read a timer descriptor. read() is called too often to check each descriptor: only
 * those that timerfd_create() returned here are checked, by one bit each. A bit stays when its
 * descriptor is closed; if another file gets the number, the supervisor sees that it is not a
 * timer. */
#include <stddef.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "preload_wrap.h"

/* Loops create their timers early, so the numbers are small. */
enum { TIMERS_MAX = 1024 };
static _Atomic uint64_t timers[TIMERS_MAX / 64];

static bool is_timer(int fd)
{
    return (unsigned)fd < TIMERS_MAX &&
           (atomic_load_explicit(&timers[(unsigned)fd / 64], memory_order_relaxed) >>
                ((unsigned)fd % 64) &
            1) != 0;
}

/* A nonblocking timer is read after a poll, so only blocking ones count. */
PRELOAD_EXPORT int timerfd_create(int clock, int flags)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"timerfd_create", NULL, 0};
    int (*real)(int, int) = (int (*)(int, int))(uintptr_t)preload_real(&cell);
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    int fd = real(clock, flags);
    if (fd >= 0 && fd < TIMERS_MAX && (flags & TFD_NONBLOCK) == 0) {
        atomic_fetch_or_explicit(&timers[fd / 64], (uint64_t)1 << (fd % 64), memory_order_relaxed);
    }
    return fd;
}

typedef ssize_t read_function(int, void *, size_t);

static __attribute__((noinline)) ssize_t read_timer(read_function *real, int fd, void *bytes,
                                                    size_t size, uintptr_t sp, uintptr_t caller)
{
    struct sonde__probe_slot *slot =
        preload_learn(SONDE__PROBE_TIMER, (uint32_t)fd, sp, caller, PRELOAD_LEARN | PRELOAD_TIMED);
    ssize_t result = real(fd, bytes, size);
    if (slot != NULL) {
        preload_end_any(slot);
    }
    return result;
}

PRELOAD_EXPORT ssize_t read(int fd, void *bytes, size_t size)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"read", NULL, 0};
    read_function *real = (read_function *)(uintptr_t)preload_real(&cell);
    char here;
    if (__builtin_expect(real == NULL, false)) {
        errno = ENOSYS;
        return -1;
    }
    if (__builtin_expect(is_timer(fd), false)) {
        return read_timer(real, fd, bytes, size, (uintptr_t)&here,
                          (uintptr_t)__builtin_return_address(0));
    }
    return real(fd, bytes, size);
}
