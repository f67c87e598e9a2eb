// SPDX-License-Identifier: Apache-2.0
/* A library, preloaded after the probe, that injects stalls into unmodified programs. It wraps the
 * program's waits and wakes long ones, so that every loop turns some times a second. It makes the
 * thread stall in an ordinary call after a wait. A stall has one to five phases, each a function of
 * its own that takes time in one of five ways.
 *
 * ZOO_INTRUDER="LOG SEED COUNT MIN_MS MAX_MS PHASES": so many stalls, of so many phases (0: one to
 * five), each a line of LOG. Only one thread of one process stalls, which LOG names first: the
 * first that waits often for descriptors, or else a main thread with any waits. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NAMED  __attribute__((noinline, visibility("default")))
#define MS     1000000u

enum {
    LONG_MS = 50,         /* wake waits that are longer, */
    TICK_MS = 25,         /* after this time */
    WAITS_TO_CLAIM = 30,  /* waits that make a loop, */
    TRIP_MS = 5,          /* of more than a round trip: a start has many of those */
    WARM_MS = 1500,       /* until the first stall */
    WEAK_AFTER_MS = 4000, /* if no thread waits for descriptors */
    LAST_PAUSE_MS = 700,
    UNMET = 4, /* waits without an end of their own that led to nothing, and are ended otherwise */
    PHASES = 5,
};

static char log_path[256];
static unsigned seed, count, min_ms, max_ms, phases_asked;
static uint64_t start_ns;
static _Atomic int owner; /* the thread that stalls; -1: one of another process */

static _Thread_local bool inside;
static _Thread_local unsigned waits, weak_waits, interrupted;
static _Thread_local uint64_t wait_ns; /* when the last wait began */
static _Thread_local uint64_t woke_ns; /* 0: not since the last stall */
static _Thread_local bool ending;      /* the next wait ends the turn of a stall */
static _Thread_local unsigned unmet;   /* waits in a row without a wrapped call after them */

static uint64_t due_ns, begin_ns, injected_ns, wall_ns, turn_ns;
static unsigned made, phase_count;
static struct {
    unsigned function, ms, us; /* planned, measured */
} phases[PHASES];

static inline __attribute__((always_inline)) uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned pick(unsigned below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % (below > 0 ? below : 1);
}

/* --- ways to take time. Each ends with a statement after its call, so that it is no jump. --- */

static volatile unsigned sink;
static unsigned ways[PHASES];

static inline __attribute__((always_inline)) void take_time(unsigned way, unsigned ms)
{
    uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)ms * MS;
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    while (way == 0 && clock_ns(CLOCK_MONOTONIC) < end) {
        for (unsigned i = 0; i < 10000; i++) {
            sink += i;
        }
    }
    if (way == 1) {
        nanosleep(&pause, NULL);
    } else if (way == 2) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) == 0) {
            struct pollfd p = {ends[0], POLLIN, 0};
            poll(&p, 1, (int)ms);
            close(ends[0]);
            close(ends[1]);
        }
    } else if (way == 3) {
        int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        const struct itimerspec once = {{0, 0}, pause};
        uint64_t times;
        fcntl(fd, F_SETFL, 0);
        timerfd_settime(fd, 0, &once, NULL);
        sink += (unsigned)(read(fd, &times, sizeof times) > 0);
        close(fd);
    } else if (way == 4) {
        uint64_t until = clock_ns(CLOCK_REALTIME) + (uint64_t)ms * MS;
        struct timespec t = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
        pthread_mutex_lock(&mutex);
        while (pthread_cond_timedwait(&cond, &mutex, &t) == 0) {
        }
        pthread_mutex_unlock(&mutex);
    }
    sink++;
}

#define PHASE(name, number)                                                                        \
    NAMED void name(unsigned ms);                                                                  \
    NAMED void name(unsigned ms)                                                                   \
    {                                                                                              \
        take_time(ways[number], ms);                                                               \
        sink += number;                                                                            \
    }
PHASE(intrude_alpha, 0)
PHASE(intrude_beta, 1)
PHASE(intrude_gamma, 2)
PHASE(intrude_delta, 3)
PHASE(intrude_epsilon, 4)
static void (*const functions[PHASES])(unsigned) = {intrude_alpha, intrude_beta, intrude_gamma,
                                                    intrude_delta, intrude_epsilon};
static const char *const names[PHASES] = {"intrude_alpha", "intrude_beta", "intrude_gamma",
                                          "intrude_delta", "intrude_epsilon"};

/* --- the stall --- */

/* Phase lengths in random order; the longest leads the second by a tenth or more. */
static void plan(void)
{
    unsigned total = min_ms + pick(max_ms - min_ms + 1), longest = 0, second = 0, sum = 0;
    unsigned parts[PHASES];
    phase_count = phases_asked != 0 ? phases_asked : 1 + pick(PHASES);
    for (unsigned i = 0; i < PHASES; i++) {
        phases[i].function = i;
        ways[i] = i;
    }
    for (unsigned i = PHASES - 1; i > 0; i--) {
        unsigned j = pick(i + 1), k = pick(i + 1), f = phases[i].function, w = ways[i];
        phases[i].function = phases[j].function;
        phases[j].function = f;
        ways[i] = ways[k];
        ways[k] = w;
    }
    for (unsigned i = 0; i < phase_count; i++) {
        parts[i] = 30 + pick(70);
        longest = parts[i] > parts[longest] ? i : longest;
    }
    for (unsigned i = 0; i < phase_count; i++) {
        second = i != longest && parts[i] > second ? parts[i] : second;
    }
    parts[longest] =
        second + second / 10 + 1 > parts[longest] ? second + second / 10 + 1 : parts[longest];
    for (unsigned i = 0; i < phase_count; i++) {
        sum += parts[i];
    }
    for (unsigned i = 0; i < phase_count; i++) {
        phases[i].ms = (total * parts[i] + sum - 1) / sum;
    }
}

static void note(const char *text, size_t size)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0) {
        sink += (unsigned)syscall(SYS_write, fd, text, size);
        syscall(SYS_close, fd);
    }
}

/* The thread waits again: the turn has ended. */
static void end_turn(void)
{
    char line[512];
    size_t n;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    ending = false;
    n = (size_t)snprintf(line, sizeof line, "stall %llu %llu %llu", (unsigned long long)wall_ns,
                         (unsigned long long)(injected_ns / 1000),
                         (unsigned long long)((now - turn_ns) / 1000));
    for (unsigned i = 0; i < phase_count; i++) {
        n += (size_t)snprintf(line + n, sizeof line - n, " %s %u", names[phases[i].function],
                              phases[i].us);
    }
    line[n++] = '\n';
    note(line, n);
    if (made == count) {
        due_ns = now + (uint64_t)LAST_PAUSE_MS * MS;
    }
}

static void stall(void)
{
    int saved = errno;
    inside = true;
    plan();
    turn_ns = woke_ns;
    begin_ns = clock_ns(CLOCK_MONOTONIC);
    wall_ns = clock_ns(CLOCK_REALTIME) - (begin_ns - woke_ns);
    for (unsigned i = 0; i < phase_count; i++) {
        uint64_t from_ns = clock_ns(CLOCK_MONOTONIC);
        functions[phases[i].function](phases[i].ms);
        phases[i].us = (unsigned)((clock_ns(CLOCK_MONOTONIC) - from_ns) / 1000);
    }
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    injected_ns = now - begin_ns;
    woke_ns = 0;
    ending = true;
    made++;
    due_ns = now + (uint64_t)(made % 2 != 0 ? 50 : 50 + pick(400)) * MS;
    inside = false;
    errno = saved;
}

/* True if this thread is the one that stalls, or becomes it now. */
static bool claims(void)
{
    int none = 0, own = (int)syscall(SYS_gettid);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    bool weak = weak_waits >= WAITS_TO_CLAIM && getpid() == own &&
                now - start_ns >= (uint64_t)WEAK_AFTER_MS * MS;
    char claim[300];
    if (owner != 0 || (waits < WAITS_TO_CLAIM && !weak)) {
        return owner == own;
    }
    if (!atomic_compare_exchange_strong(&owner, &none, own)) {
        return false;
    }
    snprintf(claim, sizeof claim, "%s.claim", log_path);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, claim, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) {
        owner = -1;
        return false;
    }
    syscall(SYS_close, fd);
    note(claim, (size_t)snprintf(claim, sizeof claim, "thread %d\n", own));
    due_ns = now + (uint64_t)WARM_MS * MS;
    return true;
}

static void before_wait(void)
{
    wait_ns = clock_ns(CLOCK_MONOTONIC);
    if (ending) {
        end_turn();
    }
    if (made == count && owner > 0 && due_ns != 0 && clock_ns(CLOCK_MONOTONIC) >= due_ns) {
        due_ns = 0;
        note("done\n", 5);
    }
}

static void after_wait(bool weak)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    bool long_enough = now - wait_ns >= (uint64_t)TRIP_MS * MS;
    unmet++;
    interrupted += !weak;
    waits += !weak && long_enough;
    weak_waits += weak && long_enough;
    woke_ns = owner >= 0 ? now : 0;
}

/* Called in each wrapped call that is no wait. */
static void meet(void)
{
    unmet = 0;
    if (woke_ns != 0 && !inside && made < count) {
        inside = true;
        bool ours = claims() && woke_ns >= due_ns;
        inside = false;
        if (ours) {
            stall();
        }
    }
}

static bool works(void)
{
    return count > 0 && !inside;
}

/* The watch has the environment variables that it passes on. */
static bool is_the_watch(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    return n >= 6 && memcmp(path + n - 6, "/sonde", 6) == 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *asked = getenv("ZOO_INTRUDER");
    start_ns = clock_ns(CLOCK_MONOTONIC);
    if (is_the_watch() || asked == NULL ||
        sscanf(asked, "%255s %u %u %u %u %u", log_path, &seed, &count, &min_ms, &max_ms,
               &phases_asked) != 6) {
        count = 0;
    }
}

static void forked(void)
{
    waits = weak_waits = 0;
    woke_ns = 0;
    start_ns = clock_ns(CLOCK_MONOTONIC);
    if (owner != 0) {
        owner = -1;
    }
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked);
}

/* --- what is wrapped --- */

#define REAL(name, type, parameters)                                                               \
    static type(*real) parameters;                                                                 \
    if (real == NULL) {                                                                            \
        real = (type(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name);                             \
    }

/* A long wait takes a tick and ends as if by a signal, or as if it timed out: some programs do
 * nothing after one of these. A wait without a time-out does not time out, and libuv relies on
 * that. A program that only waits again after signals (dnsmasq) gets such an end all the same. */
static bool ends_by_signal(bool for_ever)
{
    return for_ever ? unmet < UNMET : interrupted % 2 == 0;
}

#define INTERRUPTED(call, limited, for_ever)                                                       \
    before_wait();                                                                                 \
    result = (call);                                                                               \
    if (result == 0 && (limited) && ends_by_signal(for_ever)) {                                    \
        result = -1;                                                                               \
        errno = EINTR;                                                                             \
    }                                                                                              \
    after_wait(false)

/* A pause takes as long as the program asks. */
#define PASSED(call)                                                                               \
    before_wait();                                                                                 \
    result = (call);                                                                               \
    after_wait(true)

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    REAL(poll, int, (struct pollfd *, nfds_t, int))
    int result;
    if (!works() || timeout == 0) {
        return real(fds, n, timeout);
    }
    if (n == 0) {
        PASSED(real(fds, n, timeout));
        return result;
    }
    bool limited = timeout < 0 || timeout > LONG_MS;
    INTERRUPTED(real(fds, n, limited ? TICK_MS : timeout), limited, timeout < 0);
    return result;
}

static bool limit(const struct timespec *asked, struct timespec *ret)
{
    bool limited = asked == NULL || asked->tv_sec > 0 || asked->tv_nsec > (long)LONG_MS * (long)MS;
    *ret = limited ? (struct timespec){0, (long)TICK_MS * (long)MS} : *asked;
    return limited;
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    REAL(ppoll, int, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))
    int result;
    struct timespec t;
    bool limited = limit(timeout, &t);
    if (!works() || (t.tv_sec == 0 && t.tv_nsec == 0)) {
        return real(fds, n, timeout, mask);
    }
    if (n == 0) {
        PASSED(real(fds, n, timeout, mask));
        return result;
    }
    INTERRUPTED(real(fds, n, &t, mask), limited, timeout == NULL);
    return result;
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
    REAL(epoll_wait, int, (int, struct epoll_event *, int, int))
    int result;
    if (!works() || timeout == 0) {
        return real(fd, events, max, timeout);
    }
    bool limited = timeout < 0 || timeout > LONG_MS;
    INTERRUPTED(real(fd, events, max, limited ? TICK_MS : timeout), limited, timeout < 0);
    return result;
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout,
                       const sigset_t *mask)
{
    REAL(epoll_pwait, int, (int, struct epoll_event *, int, int, const sigset_t *))
    int result;
    if (!works() || timeout == 0) {
        return real(fd, events, max, timeout, mask);
    }
    bool limited = timeout < 0 || timeout > LONG_MS;
    INTERRUPTED(real(fd, events, max, limited ? TICK_MS : timeout, mask), limited, timeout < 0);
    return result;
}

/* The programs' sets are no longer than needed. */
static size_t bytes_of(int n)
{
    size_t bytes = ((size_t)n + 63) / 64 * 8;
    return bytes < sizeof(fd_set) ? bytes : sizeof(fd_set);
}

/* A signal leaves the sets as they were. */
static void keep_sets(int n, fd_set kept[3], const fd_set *in, const fd_set *out,
                      const fd_set *except)
{
    const fd_set *const sets[3] = {in, out, except};
    for (unsigned i = 0; i < 3; i++) {
        if (sets[i] != NULL) {
            memcpy(&kept[i], sets[i], bytes_of(n));
        }
    }
}

static int give_back(int n, const fd_set kept[3], fd_set *in, fd_set *out, fd_set *except)
{
    fd_set *const sets[3] = {in, out, except};
    for (unsigned i = 0; i < 3; i++) {
        if (sets[i] != NULL) {
            memcpy(sets[i], &kept[i], bytes_of(n));
        }
    }
    return -1;
}

EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
    REAL(select, int, (int, fd_set *, fd_set *, fd_set *, struct timeval *))
    fd_set kept[3];
    int result;
    struct timespec asked = {0}, t;
    if (timeout != NULL) {
        asked = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
    }
    bool limited = limit(timeout != NULL ? &asked : NULL, &t);
    if (!works() || (t.tv_sec == 0 && t.tv_nsec == 0)) {
        return real(n, in, out, except, timeout);
    }
    if (n == 0) {
        PASSED(real(n, in, out, except, timeout));
        return result;
    }
    struct timeval tick = {t.tv_sec, t.tv_nsec / 1000};
    keep_sets(n, kept, in, out, except);
    INTERRUPTED(real(n, in, out, except, &tick), limited, timeout == NULL);
    return result < 0 ? give_back(n, kept, in, out, except) : result;
}

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
                   const sigset_t *mask)
{
    REAL(pselect, int,
         (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))
    fd_set kept[3];
    int result;
    struct timespec t;
    bool limited = limit(timeout, &t);
    if (!works() || (t.tv_sec == 0 && t.tv_nsec == 0)) {
        return real(n, in, out, except, timeout, mask);
    }
    if (n == 0) {
        PASSED(real(n, in, out, except, timeout, mask));
        return result;
    }
    keep_sets(n, kept, in, out, except);
    INTERRUPTED(real(n, in, out, except, &t, mask), limited, timeout == NULL);
    return result < 0 ? give_back(n, kept, in, out, except) : result;
}

/* Waits of other kinds are as long as the program asks. */
#define WEAK(type, name, parameters, arguments)                                                    \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        REAL(name, type, parameters)                                                               \
        if (!works()) {                                                                            \
            return real arguments;                                                                 \
        }                                                                                          \
        before_wait();                                                                             \
        type result = real arguments;                                                              \
        after_wait(true);                                                                          \
        return result;                                                                             \
    }
WEAK(int, nanosleep, (const struct timespec *t, struct timespec *rest), (t, rest))
WEAK(int, clock_nanosleep,
     (clockid_t clock, int flags, const struct timespec *t, struct timespec *rest),
     (clock, flags, t, rest))
WEAK(int, usleep, (useconds_t us), (us))
WEAK(int, pthread_cond_timedwait,
     (pthread_cond_t * cond, pthread_mutex_t *mutex, const struct timespec *t), (cond, mutex, t))
WEAK(int, pthread_cond_clockwait,
     (pthread_cond_t * cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *t),
     (cond, mutex, clock, t))
WEAK(int, pthread_cond_wait, (pthread_cond_t * cond, pthread_mutex_t *mutex), (cond, mutex))

#define MEET(type, name, parameters, arguments)                                                    \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        REAL(name, type, parameters)                                                               \
        meet();                                                                                    \
        return real arguments;                                                                     \
    }
MEET(int, clock_gettime, (clockid_t clock, struct timespec *t), (clock, t))
MEET(int, gettimeofday, (struct timeval * t, void *zone), (t, zone))
MEET(time_t, time, (time_t * t), (t))
MEET(ssize_t, recv, (int fd, void *b, size_t n, int flags), (fd, b, n, flags))
MEET(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
MEET(ssize_t, recvfrom,
     (int fd, void *b, size_t n, int flags, __SOCKADDR_ARG from, socklen_t *size),
     (fd, b, n, flags, from, size))
MEET(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n))
MEET(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
MEET(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
MEET(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
MEET(ssize_t, send, (int fd, const void *b, size_t n, int flags), (fd, b, n, flags))
MEET(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
MEET(int, epoll_ctl, (int fd, int op, int of, struct epoll_event *e), (fd, op, of, e))
extern void *__libc_malloc(size_t size);
extern void __libc_free(void *memory);
EXPORT void *malloc(size_t size)
{
    meet();
    return __libc_malloc(size);
}
EXPORT void free(void *memory)
{
    meet();
    __libc_free(memory);
}
/* FD_SET() of programs that are compiled with checks: all that PHP does between two waits */
EXPORT long __fdelt_chk(long fd);
MEET(long, __fdelt_chk, (long fd), (fd))
MEET(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
MEET(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
MEET(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
