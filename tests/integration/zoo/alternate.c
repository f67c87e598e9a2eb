// SPDX-License-Identifier: Apache-2.0
/* Alternates 20 us of work and 200 us of a blocking call, inside the stalls of an event loop, so
 * that the watch samples it all the time; counts calls that ended early.
 *
 *     alternate ROUNDS [WORK_US [STALL_MS]]
 *
 * Each round gives each call one stall (of 260 ms), in which the watch samples at 100 Hz. A sampler
 * that stops or signals the thread ends some of these calls early (EINTR, or success with time
 * left): it would change the program. Prints "CALL made M early E" a line. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_NS = 200000 };

static int64_t work_ns = 20000, stall_ns = 260000000;

static int quiet[2];   /* a pipe that nobody writes to */
static int silent[2];  /* another one, for the loop's own wait */
static int busy[2];    /* a pipe that the partner writes to, 200 us after each read */
static int sockets[2]; /* the same as sockets */
static int timed_socket[2];
static int epoll_fd;
static int ring_fd = -1;
static sem_t semaphore;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct timespec realtime_end(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += WAIT_NS;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static const struct timespec wait_time = {0, WAIT_NS};

/* Each returns 0 or an error number: the kernel's word for "ended early" is EINTR. */
static int call_nanosleep(void)
{
    return nanosleep(&wait_time, NULL) == 0 ? 0 : errno;
}

static int call_clock_nanosleep(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += WAIT_NS;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int call_usleep(void)
{
    return usleep(WAIT_NS / 1000) == 0 ? 0 : errno;
}

/* poll and epoll_wait count milliseconds: the least that they can wait is one. */
static int call_poll(void)
{
    struct pollfd p = {silent[0], POLLIN, 0};
    return poll(&p, 1, 1) == 0 ? 0 : errno;
}

static int call_ppoll(void)
{
    struct pollfd p = {silent[0], POLLIN, 0};
    return ppoll(&p, 1, &wait_time, NULL) == 0 ? 0 : errno;
}

static int call_select(void)
{
    struct timeval t = {0, WAIT_NS / 1000};
    return select(0, NULL, NULL, NULL, &t) == 0 ? 0 : errno;
}

static int call_pselect(void)
{
    return pselect(0, NULL, NULL, NULL, &wait_time, NULL) == 0 ? 0 : errno;
}

static int call_epoll_wait(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, 1) == 0 ? 0 : errno;
}

static int call_sem_timedwait(void)
{
    struct timespec t = realtime_end();
    return sem_timedwait(&semaphore, &t) != 0 && errno == ETIMEDOUT ? 0 : errno;
}

static int call_futex(void)
{
    static uint32_t word;
    return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &wait_time, NULL, 0) != 0 &&
                   errno == ETIMEDOUT
               ? 0
               : errno;
}

static int call_cond_timedwait(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec t = realtime_end();
    pthread_mutex_lock(&mutex);
    int rc = pthread_cond_timedwait(&cond, &mutex, &t);
    pthread_mutex_unlock(&mutex);
    return rc == ETIMEDOUT ? 0 : rc;
}

static atomic_bool partner_ends, partner_asked;

static void *write_now_and_then(void *fd)
{
    while (!atomic_load(&partner_ends)) {
        nanosleep(&wait_time, NULL);
        /* one byte per read, or a slow reader would always find one */
        if (atomic_exchange(&partner_asked, false) && write(*(int *)fd, "x", 1) != 1) {
            break;
        }
    }
    return NULL;
}

static int call_read(void)
{
    char c;
    atomic_store(&partner_asked, true);
    return read(busy[0], &c, 1) == 1 ? 0 : errno;
}

static int call_recv(void)
{
    char c;
    atomic_store(&partner_asked, true);
    return recv(sockets[0], &c, 1, 0) == 1 ? 0 : errno;
}

static int call_wait4(void)
{
    pid_t child = fork();
    if (child == 0) {
        nanosleep(&wait_time, NULL);
        _exit(0);
    }
    int rc;
    int early = 0;
    while ((rc = waitpid(child, NULL, 0)) != child && errno == EINTR) {
        early = EINTR;
    }
    return rc == child ? early : errno;
}

static int call_recv_timeout(void)
{
    char c;
    return recv(timed_socket[0], &c, 1, 0) < 0 && errno == EAGAIN ? 0 : errno;
}

static int call_sigtimedwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &wait_time) < 0 && errno == EAGAIN ? 0 : errno;
}

static int call_io_uring(void)
{
    struct io_uring_getevents_arg argument = {.ts = (uint64_t)(uintptr_t)&wait_time};
    long rc = syscall(SYS_io_uring_enter, ring_fd, 0, 1,
                      IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
    return rc < 0 && errno == ETIME ? 0 : errno;
}

static const struct {
    const char *name;
    int (*call)(void);
    int *partner; /* descriptor that a partner writes to */
    bool timed;   /* may not return success before WAIT_NS */
} calls[] = {
    {"nanosleep", call_nanosleep, NULL, true},
    {"clock_nanosleep", call_clock_nanosleep, NULL, true},
    {"usleep", call_usleep, NULL, true},
    {"poll", call_poll, NULL, true},
    {"ppoll", call_ppoll, NULL, true},
    {"select", call_select, NULL, true},
    {"pselect", call_pselect, NULL, true},
    {"epoll_wait", call_epoll_wait, NULL, true},
    {"sem_timedwait", call_sem_timedwait, NULL, true},
    {"futex", call_futex, NULL, true},
    {"pthread_cond_timedwait", call_cond_timedwait, NULL, true},
    {"read", call_read, &busy[1], false},
    {"recv", call_recv, &sockets[1], false},
    {"wait4", call_wait4, NULL, false},
    {"recv-timeout", call_recv_timeout, NULL, false}, /* the kernel counts it in jiffies */
    {"sigtimedwait", call_sigtimedwait, NULL, true},
    {"io_uring_enter", call_io_uring, NULL, true},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static volatile unsigned sink;

__attribute__((noinline)) static void alternate(unsigned which, unsigned *made, unsigned *early)
{
    int64_t end = now_ns() + stall_ns;
    while (now_ns() < end) {
        int64_t begin = now_ns();
        while (now_ns() - begin < work_ns) {
            sink++;
        }
        begin = now_ns();
        int error = calls[which].call();
        bool short_wait = calls[which].timed && now_ns() - begin < WAIT_NS;
        ++*made;
        if (error != 0 && error != EINTR) {
            printf("%s failed: %s\n", calls[which].name, strerror(error));
            exit(1);
        }
        *early += error == EINTR || short_wait;
    }
}

static bool prepare(void)
{
    struct io_uring_params params = {0};
    struct timeval t = {0, WAIT_NS / 1000};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    ring_fd = (int)syscall(SYS_io_uring_setup, 4, &params);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return sem_init(&semaphore, 0, 0) == 0 && pipe2(quiet, O_CLOEXEC) == 0 &&
           pipe2(silent, O_CLOEXEC) == 0 && pipe2(busy, O_CLOEXEC) == 0 &&
           socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 &&
           socketpair(AF_UNIX, SOCK_STREAM, 0, timed_socket) == 0 &&
           setsockopt(timed_socket[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0;
}

int main(int argc, char **argv)
{
    static unsigned made[CALLS], early[CALLS];
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    struct pollfd loop;
    if (argc > 2) {
        work_ns = (int64_t)strtoul(argv[2], NULL, 10) * 1000;
    }
    if (argc > 3) {
        stall_ns = (int64_t)strtoul(argv[3], NULL, 10) * 1000000;
    }
    if (!prepare()) {
        return 2;
    }
    loop = (struct pollfd){quiet[0], POLLIN, 0};
    for (int i = 0; i < 8; i++) {
        poll(&loop, 1, 10);
    }
    for (unsigned i = 0; i < rounds * CALLS; i++) {
        unsigned which = i % CALLS;
        pthread_t partner;
        if (which == CALLS - 1 && ring_fd < 0) {
            continue;
        }
        atomic_store(&partner_ends, false);
        if (calls[which].partner != NULL) {
            pthread_create(&partner, NULL, write_now_and_then, calls[which].partner);
        }
        alternate(which, &made[which], &early[which]);
        if (calls[which].partner != NULL) {
            atomic_store(&partner_ends, true);
            pthread_join(partner, NULL);
        }
        for (int k = 0; k < 3; k++) {
            poll(&loop, 1, 10);
        }
    }
    for (unsigned i = 0; i < CALLS; i++) {
        printf("%s made %u early %u\n", calls[i].name, made[i], early[i]);
    }
    return 0;
}
