// SPDX-License-Identifier: Apache-2.0
/* The slow paths of wrapped waits, and the wrappers of waits on descriptors.
 *
 * A wrapper is a cancellation point like the real function and holds nothing while it calls that.
 * It may run in a signal handler, before the constructor and after the destructor; then it only
 * passes the call on. Stack address and return address must be those of the loop's call, so every
 * wrapper reads them itself. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base_text.h"
#include "os.h"
#include "preload_wrap.h"

_Thread_local struct sonde__probe_slot *preload_slot;
static _Thread_local bool slotless;

static bool tid_from_clock;

/* The number of this thread without a system call: a seccomp filter may end the program for one.
 * The C library makes a thread's clock of the number it keeps (kernel ABI: ~tid << 3, and flags).
 */
static uint32_t clock_tid(void)
{
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (uint32_t) ~(clock >> 3) : 0;
}

void preload_learn_own_tid(void)
{
    tid_from_clock = clock_tid() == (uint32_t)sonde__os_tid();
}

static struct sonde__probe_slot *find_slot(struct sonde__probe_page *page)
{
    if (preload_slot == NULL && !slotless) {
        preload_slot =
            sonde__probe_claim(page, tid_from_clock ? clock_tid() : (uint32_t)sonde__os_tid());
        slotless = preload_slot == NULL;
    }
    return preload_slot;
}

#pragma weak _dl_find_object

/* Libraries whose event loop waits on a condition variable. Elsewhere such a wait is usually a lock
 * or a queue, not a loop: Python's main thread waits so for the interpreter lock, and taking that
 * for a loop would report idle programs. By the loader's lock-free look-up: dladdr takes a lock
 * that a constructor may hold while it waits for this thread. */
static bool in_condition_loop(uint64_t caller)
{
    static const char prefix[] = "libtcl";
    struct dl_find_object found;
    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)caller, &found) != 0 ||
        found.dlfo_link_map == NULL || found.dlfo_link_map->l_name == NULL) {
        return false;
    }
    const char *name = sonde__base_file_name(found.dlfo_link_map->l_name);
    for (size_t i = 0; i < sizeof prefix - 1; i++) {
        if (name[i] != prefix[i]) {
            return false;
        }
    }
    return true;
}

struct sonde__probe_slot *preload_learn(uint32_t kind, uint64_t object, uint64_t sp,
                                        uint64_t caller, unsigned flags)
{
    struct sonde__probe_page *page = preload_page();
    struct sonde__probe_wait wait = {.object = object,
                                     .sp = sp,
                                     .caller = caller,
                                     .now_ns = preload_now_ns(),
                                     .kind = kind,
                                     .instant = (flags & PRELOAD_INSTANT) != 0,
                                     .learn = (flags & PRELOAD_LEARN) != 0};
    struct sonde__probe_slot *slot = page != NULL ? find_slot(page) : NULL;
    if (slot == NULL) {
        return NULL;
    }
    if (atomic_load_explicit(&page->sample.wanted, memory_order_relaxed) != 0 &&
        atomic_load_explicit(&page->sample.handler, memory_order_relaxed) ==
            SONDE__PROBE_HANDLER_NONE) {
        preload_sampler_start(page); /* the supervisor asked for it only after the start */
    }
    if (kind == SONDE__PROBE_COND &&
        (atomic_load_explicit(&slot->tid, memory_order_relaxed) !=
             (uint32_t)atomic_load_explicit(&page->pid, memory_order_relaxed) ||
         !in_condition_loop(caller))) {
        wait.learn = false; /* a worker that waits for work is no event loop */
    }
    if (sonde__probe_enter(slot, &wait) == SONDE__PROBE_NESTED) {
        return NULL;
    }
    if (atomic_load_explicit(&slot->stamp, memory_order_relaxed) != 0) {
        preload_stamp(slot);
    }
    return slot;
}

void preload_stamp(struct sonde__probe_slot *slot)
{
    atomic_store_explicit(&slot->ended_ns, preload_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&slot->stamp, 0, memory_order_release);
}

void preload_wake(struct sonde__probe_page *page)
{
    (void)sonde__os_wake((const uint32_t *)&page->sleeping, false, true);
}

/* aarch64 has neither; there the wrapper always goes through libc. */
#if defined(SYS_poll)
#    define PRELOAD_POLL       SYS_poll
#    define PRELOAD_EPOLL_WAIT SYS_epoll_wait
#else
#    define PRELOAD_POLL       (-1)
#    define PRELOAD_EPOLL_WAIT (-1)
#endif

/* A thread that cancels itself ends at its next wait, though it is the only one. */
PRELOAD_EXPORT int pthread_cancel(pthread_t thread);
PRELOAD_EXPORT int pthread_cancel(pthread_t thread)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"pthread_cancel", NULL, 0};
    int (*real)(pthread_t) = (int (*)(pthread_t))(uintptr_t)preload_real(&cell);
    preload_forbid_direct();
    return real != NULL ? real(thread) : ENOSYS;
}

/* --- poll --- */

static uint64_t first_fd(const struct pollfd *fds, nfds_t count)
{
    return fds != NULL && count > 0 ? (uint64_t)(uint32_t)fds[0].fd : UINT64_MAX;
}

static bool is_zero(const struct timespec *t)
{
    return t != NULL && t->tv_sec == 0 && t->tv_nsec == 0;
}

PRELOAD_WRAP_SYSCALL(poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout),
                     SONDE__PROBE_POLL, first_fd(fds, count), timeout == 0, count > 0, PRELOAD_POLL,
                     (long)fds, (long)count, timeout, 0)

PRELOAD_WRAP(int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t size),
             (fds, count, timeout, size), SONDE__PROBE_POLL, first_fd(fds, count), timeout == 0,
             count > 0)

PRELOAD_WRAP(int, ppoll,
             (struct pollfd * fds, nfds_t count, const struct timespec *timeout,
              const sigset_t *mask),
             (fds, count, timeout, mask), SONDE__PROBE_POLL, first_fd(fds, count), is_zero(timeout),
             count > 0)

PRELOAD_WRAP(int, __ppoll_chk,
             (struct pollfd * fds, nfds_t count, const struct timespec *timeout,
              const sigset_t *mask, size_t size),
             (fds, count, timeout, mask, size), SONDE__PROBE_POLL, first_fd(fds, count),
             is_zero(timeout), count > 0)

/* --- epoll --- */

PRELOAD_WRAP_SYSCALL(epoll_wait, (int epfd, struct epoll_event *events, int max, int timeout),
                     (epfd, events, max, timeout), SONDE__PROBE_EPOLL, (uint32_t)epfd, timeout == 0,
                     true, PRELOAD_EPOLL_WAIT, epfd, (long)events, max, timeout)

PRELOAD_WRAP(int, epoll_pwait,
             (int epfd, struct epoll_event *events, int max, int timeout, const sigset_t *mask),
             (epfd, events, max, timeout, mask), SONDE__PROBE_EPOLL, (uint32_t)epfd, timeout == 0,
             true)

PRELOAD_WRAP(int, epoll_pwait2,
             (int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
              const sigset_t *mask),
             (epfd, events, max, timeout, mask), SONDE__PROBE_EPOLL, (uint32_t)epfd,
             is_zero(timeout), true)

/* --- select --- */

PRELOAD_WRAP(int, select,
             (int nfds, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout),
             (nfds, in, out, except, timeout), SONDE__PROBE_SELECT, (uint32_t)nfds,
             timeout != NULL && timeout->tv_sec == 0 && timeout->tv_usec == 0, nfds > 0)

PRELOAD_WRAP(int, pselect,
             (int nfds, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
              const sigset_t *mask),
             (nfds, in, out, except, timeout, mask), SONDE__PROBE_SELECT, (uint32_t)nfds,
             is_zero(timeout), nfds > 0)
