// SPDX-License-Identifier: Apache-2.0
/* The slow paths of wrapped waits, and the wrappers of waits on descriptors.
 *
 * A wrapper is a cancellation point as the real function is, and holds nothing while it calls that.
 * It may run in a signal handler; before the constructor and after the destructor it only passes
 * the call on. Stack address and return address must be those of the loop's call, so every wrapper
 * reads them itself. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "level.h"
#include "os.h"
#include "preload_wrap.h"
#include "xcb.h"

static struct sonde__probe_slot *find_slot(struct sonde__probe_page *page)
{
    if (preload_slot == NULL && !preload_slotless) {
        preload_slot = sonde__probe_claim(page, preload_own_tid());
        preload_slotless = preload_slot == NULL;
    }
    return preload_slot;
}

static bool is_main(const struct sonde__probe_page *page)
{
    uint64_t tid = preload_slot != NULL
                       ? atomic_load_explicit(&preload_slot->tid, memory_order_relaxed)
                       : preload_own_tid();
    return tid == (uint32_t)atomic_load_explicit(&page->pid, memory_order_relaxed);
}

/* Use the place where libxcb is called. All waits of libxcb look alike at its own call, so none may
 * take the fast path. */
static void judge_xcb(struct sonde__probe_wait *wait)
{
    struct preload_xcb_wait xcb;
    wait->slow = true;
    if (!preload_xcb_wait(wait->caller, &xcb)) {
        return;
    }
    wait->caller = xcb.caller;
    wait->level = xcb.level;
    wait->reply = xcb.purpose == PRELOAD_XCB_REPLY;
    wait->learn = wait->note = xcb.purpose == PRELOAD_XCB_EVENT;
}

/* A runtime's own lock says nothing: Python's main thread waits so for the interpreter. A process
 * with one thread has nobody to wait for, so there the program itself waits: queue.get() with a
 * time-out. */
static bool is_of_runtime(const struct sonde__probe_wait *wait)
{
    return (wait->kind == SONDE__PROBE_COND || wait->kind == SONDE__PROBE_SEM ||
            wait->kind == SONDE__PROBE_FUTEX) &&
           __libc_single_threaded == 0 && preload_in_runtime(wait->caller);
}

/* Weak waits, for time or for other threads, make a loop only in the main thread: a worker that
 * waits for work is not an event loop. For watched threads they show where the thread is; they are
 * no reason to watch another thread. */
static bool judge(struct sonde__probe_page *page, struct sonde__probe_wait *wait)
{
    if (!sonde__probe_is_weak(wait->kind)) {
        bool xcb = wait->kind == SONDE__PROBE_POLL && preload_in_xcb(wait->caller);
        wait->learn = wait->note = !xcb;
        if (xcb) {
            judge_xcb(wait);
        }
        return find_slot(page) != NULL;
    }
    if (preload_slotless || (preload_slot == NULL && !is_main(page)) || find_slot(page) == NULL) {
        return false;
    }
    bool of_runtime = !wait->instant && is_of_runtime(wait);
    preload_slot->lock_waits += of_runtime;
    wait->note = !wait->instant && !of_runtime;
    wait->learn = wait->learn && wait->note && is_main(page);
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
                                     .timed = (flags & PRELOAD_TIMED) != 0,
                                     .learn = (flags & PRELOAD_LEARN) != 0,
                                     .early = true};
    if (page == NULL) {
        page = preload_claim_page(kind, wait.instant);
    }
    if (page == NULL || !preload_take_slot_back(page) || !judge(page, &wait)) {
        return NULL;
    }
    struct sonde__probe_slot *slot = preload_slot;
    if (atomic_load_explicit(&page->sample.wanted, memory_order_relaxed) != 0 &&
        atomic_load_explicit(&page->sample.handler, memory_order_relaxed) ==
            SONDE__PROBE_HANDLER_NONE) {
        preload_sampler_start(page); /* the supervisor requested it after the start */
    }
    if (wait.note && !wait.slow) {
        wait.level = preload_level(caller, sp);
        wait.path = sonde__probe_wants_path(slot, &wait) ? preload_path(caller) : 0;
    }
    enum sonde__probe_turn turn = sonde__probe_enter(slot, &wait);
    if (turn == SONDE__PROBE_NESTED) {
        return NULL;
    }
    if (turn != SONDE__PROBE_UNSURE &&
        atomic_load_explicit(&slot->stamp, memory_order_relaxed) != 0) {
        sonde__probe_stamp(slot, preload_now_ns());
    }
    return slot;
}

void preload_end_any(struct sonde__probe_slot *slot)
{
    struct sonde__probe_page *page = preload_page();
    if (page != NULL) {
        uint64_t now_ns = preload_now_ns();
        if (sonde__probe_must_check(page, slot, now_ns)) {
            sonde__probe_check(page, slot, now_ns);
        }
        sonde__probe_leave_any(slot, now_ns);
        if (sonde__probe_must_wake(page)) {
            preload_wake(page);
        }
    }
}

void preload_wake(struct sonde__probe_page *page)
{
    (void)sonde__os_wake((const uint32_t *)&page->sleeping, false, true);
}

/* aarch64 has no poll and epoll_wait; there the wrapper always calls libc. */
#if defined(SYS_poll)
#    define PRELOAD_POLL       SYS_poll
#    define PRELOAD_EPOLL_WAIT SYS_epoll_wait
#else
#    define PRELOAD_POLL       (-1)
#    define PRELOAD_EPOLL_WAIT (-1)
#endif

/* A thread that cancels itself ends at its next wait, even if it is the only one: no direct calls
 * from here on. */
PRELOAD_EXPORT int pthread_cancel(pthread_t thread);
PRELOAD_EXPORT int pthread_cancel(pthread_t thread)
{
    static struct preload_cell cell
        __attribute__((used, section("preload_cells"))) = {"pthread_cancel", NULL, 0};
    int (*real)(pthread_t) = (int (*)(pthread_t))(uintptr_t)preload_real(&cell);
    preload_forbid_direct();
    return real != NULL ? real(thread) : ENOSYS;
}

/* A wait with something to wait for may be a loop's; else it is a pause. */
#define LEARN         PRELOAD_LEARN
#define TIMED_IF(yes) (PRELOAD_LEARN | ((yes) ? PRELOAD_TIMED : 0u))

/* --- poll --- */

static uint64_t first_fd(const struct pollfd *fds)
{
    return fds != NULL ? (uint64_t)(uint32_t)fds[0].fd : UINT64_MAX;
}

#define POLL_OBJECT   ((count) > 0 ? first_fd(fds) : caller_)
#define SELECT_OBJECT ((nfds) > 0 ? (uint32_t)nfds : caller_)

#define POLL_KIND ((count) > 0 ? SONDE__PROBE_POLL : SONDE__PROBE_SLEEP)

static bool is_zero(const struct timespec *t)
{
    return t != NULL && t->tv_sec == 0 && t->tv_nsec == 0;
}

PRELOAD_WRAP_SYSCALL(poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout),
                     POLL_KIND, POLL_OBJECT, timeout == 0, TIMED_IF(timeout > 0), PRELOAD_POLL,
                     (long)fds, (long)count, timeout, 0)

PRELOAD_WRAP(int, __poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t size),
             (fds, count, timeout, size), POLL_KIND, POLL_OBJECT, timeout == 0,
             TIMED_IF(timeout > 0))

PRELOAD_WRAP(int, ppoll,
             (struct pollfd * fds, nfds_t count, const struct timespec *timeout,
              const sigset_t *mask),
             (fds, count, timeout, mask), POLL_KIND, POLL_OBJECT, is_zero(timeout),
             TIMED_IF(timeout != NULL))

PRELOAD_WRAP(int, __ppoll_chk,
             (struct pollfd * fds, nfds_t count, const struct timespec *timeout,
              const sigset_t *mask, size_t size),
             (fds, count, timeout, mask, size), POLL_KIND, POLL_OBJECT, is_zero(timeout),
             TIMED_IF(timeout != NULL))

/* --- epoll --- */

PRELOAD_WRAP_SYSCALL(epoll_wait, (int epfd, struct epoll_event *events, int max, int timeout),
                     (epfd, events, max, timeout), SONDE__PROBE_EPOLL, (uint32_t)epfd, timeout == 0,
                     TIMED_IF(timeout > 0), PRELOAD_EPOLL_WAIT, epfd, (long)events, max, timeout)

PRELOAD_WRAP(int, epoll_pwait,
             (int epfd, struct epoll_event *events, int max, int timeout, const sigset_t *mask),
             (epfd, events, max, timeout, mask), SONDE__PROBE_EPOLL, (uint32_t)epfd, timeout == 0,
             TIMED_IF(timeout > 0))

PRELOAD_WRAP(int, epoll_pwait2,
             (int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
              const sigset_t *mask),
             (epfd, events, max, timeout, mask), SONDE__PROBE_EPOLL, (uint32_t)epfd,
             is_zero(timeout), TIMED_IF(timeout != NULL))

/* --- select --- */

#define SELECT_KIND ((nfds) > 0 ? SONDE__PROBE_SELECT : SONDE__PROBE_SLEEP)

PRELOAD_WRAP(int, select,
             (int nfds, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout),
             (nfds, in, out, except, timeout), SELECT_KIND, SELECT_OBJECT,
             timeout != NULL && timeout->tv_sec == 0 && timeout->tv_usec == 0,
             TIMED_IF(timeout != NULL))

PRELOAD_WRAP(int, pselect,
             (int nfds, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
              const sigset_t *mask),
             (nfds, in, out, except, timeout, mask), SELECT_KIND, SELECT_OBJECT, is_zero(timeout),
             TIMED_IF(timeout != NULL))
