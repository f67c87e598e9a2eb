// SPDX-License-Identifier: Apache-2.0
/* Waits for the end of a process, for signals and for a word in shared memory at once, by one epoll
 * of all descriptors: to poll each of them costs a third of a wait that finds nothing.
 *
 * A word cannot be polled, and a descriptor cannot be a futex. So a thread of the supervisor (never
 * of the program) sleeps on the word and signals its change by an eventfd. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_identity.h"
#include "host_process.h"
#include "host_prompt.h"
#include "host_run.h"
#include "mem_heap.h"

/* Polling period for the end of a process without a pidfd. */
#define LOOK_NS     100000000u
#define STACK_BYTES ((size_t)128 << 10)

struct sonde__host_waiter {
    int pidfd, signals, event; /* pidfd: -1 if refused */
    int all;                   /* an epoll of these, and of heeded descriptors */
    int32_t pid;
    struct sonde__host_identity process;
    char doubt[160];
    uint32_t *word;
    _Atomic uint32_t armed; /* 1: the thread waits for the word to become 0 */
    _Atomic uint64_t tid;   /* of the thread; 0: not started yet */
    pthread_t thread;
};

static void wait_word(uint32_t *word, uint32_t value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void wake_word(uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *watch_word(void *arg)
{
    struct sonde__host_waiter *w = arg;
    atomic_store(&w->tid, (uint64_t)syscall(SYS_gettid));
    sonde__host_be_prompt();
    for (;;) {
        uint64_t one = 1;
        while (atomic_load(&w->armed) == 0) {
            wait_word((uint32_t *)&w->armed, 0);
        }
        while (__atomic_load_n(w->word, __ATOMIC_SEQ_CST) == 1) {
            wait_word(w->word, 1);
        }
        atomic_store(&w->armed, 0);
        (void)!write(w->event, &one, sizeof one);
    }
    return NULL;
}

static void doubt(struct sonde__host_waiter *w, const char *call, int error, const char *instead)
{
    snprintf(w->doubt, sizeof w->doubt, "%s is refused (%s): %s", call, strerror(error), instead);
}

/* Does the process with our number run? An ended main thread is a zombie while others run. */
static bool number_runs(const struct sonde__host_waiter *w)
{
    struct sonde__host_thread now;
    uint64_t *tids;
    size_t count;
    if (sonde__host_thread_read(w->pid, (uint64_t)w->pid, &now) != SONDE_OK) {
        return false;
    }
    if (now.letter != 'Z' && now.letter != 'X') {
        return true;
    }
    if (sonde__host_tids_read(w->pid, &tids, &count, NULL) != SONDE_OK) {
        return false;
    }
    sonde__mem_free(tids);
    return count > 1;
}

static bool still_runs(const struct sonde__host_waiter *w)
{
    return number_runs(w) && sonde__host_identity_holds(&w->process);
}

/* False: no such process. */
static bool take_process(struct sonde__host_waiter *w)
{
    w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
    int error = errno;
    if (w->pidfd >= 0) {
        fcntl(w->pidfd, F_SETFD, FD_CLOEXEC);
    } else if (error != ENOSYS && error != EPERM && error != EACCES) {
        return false;
    } else {
        doubt(w, "pidfd_open", error, "the program's end is looked for ten times a second");
    }
    bool known = sonde__host_identity_take(w->pid, (uint64_t)w->pid, &w->process, NULL) == SONDE_OK;
    return known || w->pidfd >= 0;
}

void sonde__host_heed_terminal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void sonde__host_heed_marks(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void block_signals(sigset_t *set)
{
    sigset_t former;
    sigemptyset(set);
    sigaddset(set, SIGQUIT);
    sigaddset(set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, set, &former);
    if (sigismember(&former, SIGUSR1)) {
        sigaddset(set, SIGUSR1);
    }
    if (sigismember(&former, SIGINT)) {
        sigaddset(set, SIGINT);
    }
    if (sigismember(&former, SIGHUP)) {
        sigaddset(set, SIGHUP);
    }
}

/* Its stack is small, because the supervisor has the program's limit of memory. */
static bool start_thread(struct sonde__host_waiter *w)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    int error = pthread_create(&w->thread, &attr, watch_word, w);
    pthread_attr_destroy(&attr);
    errno = error;
    return error == 0;
}

bool sonde__host_waiter_heed(struct sonde__host_waiter *w, int32_t fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(w->all, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool heeds_all(struct sonde__host_waiter *w)
{
    return (w->pidfd < 0 || sonde__host_waiter_heed(w, w->pidfd)) &&
           sonde__host_waiter_heed(w, w->signals) && sonde__host_waiter_heed(w, w->event);
}

enum sonde_status sonde__host_waiter_create(int32_t pid, uint32_t *sleep_word,
                                            struct sonde__host_waiter **ret_waiter,
                                            struct sonde_error *ret_error)
{
    struct sonde__host_waiter *w = calloc(1, sizeof *w);
    sigset_t set;
    if (w == NULL) {
        return SONDE_MEMORY;
    }
    block_signals(&set);
    w->word = sleep_word;
    w->process.fd = -1;
    w->pid = pid;
    bool taken = take_process(w);
    w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->all = epoll_create1(EPOLL_CLOEXEC);
    if (!taken || !heeds_all(w) || !start_thread(w)) {
        *ret_error = (struct sonde_error){.status = SONDE_OS, .os_error = errno};
        snprintf(ret_error->what, sizeof ret_error->what, "waiting for process %d", (int)pid);
        free(w); /* its descriptors are closed when the supervisor exits, now */
        return SONDE_OS;
    }
    *ret_waiter = w;
    return SONDE_OK;
}

/* ioctl_pidfd(2), Linux 6.15: the exit status of a process that its parent has waited for. Declared
 * here because headers may be older. */
struct pidfd_end {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t status;
};
#define PIDFD_END        _IOWR(0xff, 11, struct pidfd_end)
#define PIDFD_HAS_STATUS 8u

static bool read_reaped(const struct sonde__host_waiter *w, int *ret_status)
{
    struct pidfd_end end = {.mask = PIDFD_HAS_STATUS};
    if (w->pidfd < 0 || ioctl(w->pidfd, PIDFD_END, &end) != 0 ||
        (end.mask & PIDFD_HAS_STATUS) == 0) {
        return false;
    }
    *ret_status = end.status;
    return true;
}

/* Before its parent has waited: the last field of proc_pid_stat(5). It reads as 0 without
 * permission. */
static bool read_zombie(const struct sonde__host_waiter *w, int *ret_status)
{
    struct sonde__host_thread now;
    char path[32], text[1024];
    if (sonde__host_thread_read(w->pid, (uint64_t)w->pid, &now) != SONDE_OK || now.letter != 'Z') {
        return false;
    }
    snprintf(path, sizeof path, "/proc/%d/stat", (int)w->pid);
    FILE *file = fopen(path, "re");
    const char *last =
        file != NULL && fgets(text, sizeof text, file) != NULL ? strrchr(text, ' ') : NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    *ret_status = last != NULL ? atoi(last) : 0;
    return last != NULL && sonde__host_identity_holds(&w->process);
}

int32_t sonde__host_waiter_signal(const struct sonde__host_waiter *w)
{
    int status = 0;
    if (!read_reaped(w, &status) && !read_zombie(w, &status)) {
        (void)read_reaped(w, &status); /* its parent has waited meanwhile */
    }
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

uint64_t sonde__host_waiter_tid(const struct sonde__host_waiter *w)
{
    return atomic_load(&w->tid);
}

static uint32_t take_signals(struct sonde__host_waiter *w)
{
    struct signalfd_siginfo info;
    uint32_t events = 0;
    while (read(w->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        events |= info.ssi_signo == SIGQUIT   ? SONDE__HOST_ASKED
                  : info.ssi_signo == SIGUSR1 ? SONDE__HOST_MARKED
                                              : SONDE__HOST_TERMINATE;
    }
    return events;
}

/* An event of an ended thread hangs up for good, and would end every wait. */
static uint32_t take_event(struct sonde__host_waiter *w, const struct epoll_event *event)
{
    uint64_t count;
    int fd = event->data.fd;
    if (fd == w->pidfd) {
        return SONDE__HOST_ENDED;
    }
    if (fd == w->signals) {
        return take_signals(w);
    }
    if (fd == w->event) {
        return read(fd, &count, sizeof count) > 0 ? (uint32_t)SONDE__HOST_WOKEN : 0;
    }
    if ((event->events & (EPOLLHUP | EPOLLERR)) != 0) {
        (void)epoll_ctl(w->all, EPOLL_CTL_DEL, fd, NULL);
    }
    return SONDE__HOST_WOKEN;
}

static uint32_t take_events(struct sonde__host_waiter *w)
{
    struct epoll_event events[16];
    uint32_t taken = 0;
    int count = epoll_wait(w->all, events, sizeof events / sizeof *events, 0);
    for (int i = 0; i < count; i++) {
        taken |= take_event(w, &events[i]);
    }
    return taken;
}

/* Wait for a descriptor to be readable. Without a pidfd, check the process periodically. */
static uint32_t wait_once(struct sonde__host_waiter *w, uint64_t timeout_ns)
{
    uint64_t left_ns = timeout_ns;
    for (;;) {
        uint64_t slice_ns = w->pidfd < 0 && left_ns > LOOK_NS ? LOOK_NS : left_ns;
        struct timespec limit = {(time_t)(slice_ns / 1000000000u), (long)(slice_ns % 1000000000u)};
        struct pollfd all = {w->all, POLLIN, 0};
        int ready = ppoll(&all, 1, slice_ns == UINT64_MAX ? NULL : &limit, NULL);
        uint32_t events = ready > 0 ? take_events(w) : 0;
        if (w->pidfd < 0 && !still_runs(w)) {
            return events | SONDE__HOST_ENDED;
        }
        left_ns -= left_ns == UINT64_MAX ? 0 : slice_ns;
        if (ready != 0 || left_ns == 0) {
            return events;
        }
    }
}

uint32_t sonde__host_wait(struct sonde__host_waiter *w, uint64_t timeout_ns, bool sleeping)
{
    if (sleeping && atomic_load(&w->armed) == 0) {
        __atomic_store_n(w->word, 1, __ATOMIC_SEQ_CST);
        atomic_store(&w->armed, 1);
        wake_word((uint32_t *)&w->armed);
    }
    uint32_t events = wait_once(w, timeout_ns);
    if (!sleeping && __atomic_exchange_n(w->word, 0, __ATOMIC_SEQ_CST) == 1) {
        wake_word(w->word);
    }
    return events;
}

static void send_signal(struct sonde__host_waiter *w, int signal)
{
    if (w->pidfd >= 0) {
        if (syscall(SYS_pidfd_send_signal, w->pidfd, signal, NULL, 0) == 0 || errno == ESRCH) {
            return;
        }
        doubt(w, "pidfd_send_signal", errno, "the program was signalled by its number");
    }
    if (still_runs(w)) {
        (void)kill(w->pid, signal);
    }
}

/* No such call takes a pidfd. If another process got the number right before the call, it gets its
 * limit back. */
static void allow_core(const struct sonde__host_waiter *w)
{
    struct rlimit limit, former;
    if (prlimit(w->pid, RLIMIT_CORE, NULL, &limit) != 0 || !still_runs(w)) {
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    if (prlimit(w->pid, RLIMIT_CORE, &limit, &former) == 0 &&
        !sonde__host_identity_holds(&w->process)) {
        (void)prlimit(w->pid, RLIMIT_CORE, &former, NULL);
    }
}

void sonde__host_waiter_abort(struct sonde__host_waiter *w, bool core)
{
    if (core) {
        allow_core(w);
    }
    send_signal(w, SIGABRT);
    send_signal(w, SIGCONT);
}

void sonde__host_waiter_kill(struct sonde__host_waiter *w)
{
    send_signal(w, SIGKILL);
}

const char *sonde__host_waiter_doubt(const struct sonde__host_waiter *w)
{
    return w->doubt;
}
