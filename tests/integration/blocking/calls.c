// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static pthread_t threads[CALLS_MAX], joined;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool cond_flag;
static sem_t sem, sem_timed;
static uint32_t futex_word;
static int message_queue, semaphores, listener, lock_file, lock_holder, child;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static char folder[64];
static const struct timespec wait_time = {.tv_sec = TIMED_S};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct timespec deadline(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += TIMED_S;
    return at;
}

/* A call that fails with -1 and errno; the store after it keeps the frame. */
#define CALL(name, expression)                                                                     \
    static __attribute__((noinline)) void block_##name(struct call *call)                          \
    {                                                                                              \
        long result = (long)(expression);                                                          \
        call->error = result < 0 ? errno : 0;                                                      \
    }
/* A call that returns an error number. */
#define CALL_PTHREAD(name, expression)                                                             \
    static __attribute__((noinline)) void block_##name(struct call *call)                          \
    {                                                                                              \
        call->error = (expression);                                                                \
    }

static char byte;
static struct pollfd no_fds[1];
static struct epoll_event event;

CALL(nanosleep, nanosleep(&wait_time, NULL))
CALL_PTHREAD(clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL))
CALL(usleep, usleep(TIMED_S * 1000000u))
CALL(sleep, sleep(TIMED_S) == 0 ? 0 : (errno = EINTR, -1))
CALL(poll, poll(no_fds, 0, TIMED_S * 1000))
CALL(ppoll, ppoll(no_fds, 0, &wait_time, NULL))
CALL(select, select(0, NULL, NULL, NULL, &(struct timeval){.tv_sec = TIMED_S}))
CALL(pselect, pselect(0, NULL, NULL, NULL, &wait_time, NULL))
CALL(sem_timedwait, sem_timedwait(&sem_timed, &(struct timespec){deadline().tv_sec, 0}))
CALL(futex, syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &wait_time, NULL, 0))
CALL(msgrcv, msgrcv(message_queue, &(struct {
                        long type;
                        char text[8];
                    }){0},
                    8, 0, 0))
CALL(epoll_wait, epoll_wait(call->fds[0], &event, 1, TIMED_S * 1000))
CALL(epoll_pwait, epoll_pwait(call->fds[0], &event, 1, TIMED_S * 1000, NULL))
CALL(recv_timeout, recv(call->fds[0], &byte, 1, 0))
CALL(semop, semop(semaphores, &(struct sembuf){.sem_op = -1}, 1))
CALL(read, read(call->fds[0], &byte, 1))
CALL(recv, recv(call->fds[0], &byte, 1, 0))
CALL(accept, accept(call->fds[0], NULL, NULL))
CALL(accept4, accept4(call->fds[0], NULL, NULL, SOCK_CLOEXEC))
CALL(connect, connect(call->fds[0], (struct sockaddr *)&address, sizeof address))
CALL(fcntl, fcntl(lock_file, F_SETLKW, &(struct flock){.l_type = F_WRLCK}))
CALL(flock, flock(call->fds[0], LOCK_EX))
CALL_PTHREAD(mutex, pthread_mutex_lock(&held))
CALL_PTHREAD(join, pthread_join(joined, NULL))
CALL(sem_wait, sem_wait(&sem))
CALL(eventfd, read(call->fds[0], &(uint64_t){0}, 8))
CALL(timerfd, read(call->fds[0], &(uint64_t){0}, 8))
CALL(inotify, read(call->fds[0], (char[512]){0}, 512))
CALL(wait4, wait4(child, NULL, 0, NULL))
CALL(pause, pause())

static __attribute__((noinline)) void block_sigtimedwait(struct call *call)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    call->error = sigtimedwait(&set, NULL, &wait_time) < 0 ? errno : 0;
}

static __attribute__((noinline)) void block_cond(struct call *call)
{
    pthread_mutex_lock(&cond_mutex);
    while (!cond_flag) {
        call->error = pthread_cond_wait(&cond, &cond_mutex);
    }
    pthread_mutex_unlock(&cond_mutex);
}

#define TIMED(name_, error_)                                                                       \
    {                                                                                              \
        .name = #name_, .block = block_##name_, .is_timed = true, .expected_errno = error_         \
    }
#define ENDED(name_)                                                                               \
    {                                                                                              \
        .name = #name_, .block = block_##name_                                                     \
    }
#define FAILED(name_, error_)                                                                      \
    {                                                                                              \
        .name = #name_, .block = block_##name_, .expected_errno = error_                           \
    }
struct call calls[] = {
    TIMED(nanosleep, 0),
    TIMED(clock_nanosleep, 0),
    TIMED(usleep, 0),
    TIMED(sleep, 0),
    TIMED(poll, 0),
    TIMED(ppoll, 0),
    TIMED(select, 0),
    TIMED(pselect, 0),
    TIMED(sem_timedwait, ETIMEDOUT),
    TIMED(futex, ETIMEDOUT),
    TIMED(epoll_wait, 0),
    TIMED(epoll_pwait, 0),
    TIMED(recv_timeout, EAGAIN),
    TIMED(sigtimedwait, EAGAIN),
    TIMED(timerfd, 0),
    ENDED(msgrcv),
    ENDED(semop),
    ENDED(read),
    ENDED(recv),
    ENDED(accept),
    ENDED(accept4),
    ENDED(connect),
    ENDED(fcntl),
    ENDED(flock),
    ENDED(cond),
    ENDED(mutex),
    ENDED(join),
    ENDED(sem_wait),
    ENDED(eventfd),
    ENDED(inotify),
    ENDED(wait4),
    FAILED(pause, EINTR),
};
const unsigned call_count = sizeof calls / sizeof calls[0];

static struct call *find(const char *name)
{
    for (unsigned i = 0; i < call_count; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return &calls[i];
        }
    }
    FAIL("no call %s", name);
}

__attribute__((noinline)) void middle(struct call *call)
{
    call->began_ns = now_ns();
    call->block(call);
    call->ended_ns = now_ns();
}

__attribute__((noinline)) void *outer(void *arg)
{
    struct call *call = arg;
    __atomic_store_n(&call->tid, (uint64_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    middle(call);
    __atomic_store_n(&call->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
}

static void *wait_for_read(void *arg)
{
    char ignored;
    return read(((int *)arg)[0], &ignored, 1) == 1 ? NULL : arg;
}

static void open_server(struct call *call, const char *name, struct sockaddr_un *ret_address)
{
    call->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    ret_address->sun_family = AF_UNIX;
    snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "%s/%s", folder, name);
    CHECK_OK(bind(call->fds[0], (struct sockaddr *)ret_address, sizeof *ret_address));
    CHECK_OK(listen(call->fds[0], 0));
}

static struct sockaddr_un accept_address, accept4_address;
static int connect_fill[8], join_fds[2];

static void prepare_sockets(void)
{
    struct timeval timeout = {.tv_sec = TIMED_S};
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, find("recv")->fds));
    CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, find("recv_timeout")->fds));
    CHECK_OK(setsockopt(find("recv_timeout")->fds[0], SOL_SOCKET, SO_RCVTIMEO, &timeout,
                        sizeof timeout));
    open_server(find("accept"), "accept", &accept_address);
    open_server(find("accept4"), "accept4", &accept4_address);
    struct call server = {0};
    open_server(&server, "connect", &address);
    listener = server.fds[0];
    for (unsigned i = 0; i < 8; i++) { /* until the backlog is full */
        connect_fill[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(connect_fill[i], (struct sockaddr *)&address, sizeof address) != 0) {
            break;
        }
    }
    find("connect")->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
}

static void prepare_files(void)
{
    char path[128];
    struct flock lock = {.l_type = F_WRLCK};
    int pipe_fds[2];
    snprintf(path, sizeof path, "%s/lock", folder);
    lock_file = open(path, O_RDWR | O_CREAT, 0600);
    CHECK_OK(pipe(pipe_fds));
    lock_holder = fork(); /* these locks belong to a process */
    if (lock_holder == 0) {
        char ignored = 0;
        CHECK_OK(fcntl(lock_file, F_SETLK, &lock));
        CHECK_EQ(write(pipe_fds[1], "x", 1), 1);
        for (;;) {
            pause();
        }
        (void)ignored;
    }
    CHECK_EQ(read(pipe_fds[0], &byte, 1), 1);
    close(pipe_fds[0]), close(pipe_fds[1]);
    find("flock")->fds[0] = open(path, O_RDWR);
    find("flock")->fds[1] = open(path, O_RDWR);
    CHECK_OK(flock(find("flock")->fds[1], LOCK_EX));
    find("inotify")->fds[0] = inotify_init1(0);
    CHECK(inotify_add_watch(find("inotify")->fds[0], folder, IN_CREATE) >= 0);
}

static void prepare(void)
{
    struct itimerspec timer = {.it_value = wait_time};
    snprintf(folder, sizeof folder, "%s", test_folder());
    signal(SIGUSR1, on_signal);
    sigset_t set; /* blocked in all threads, so that sigtimedwait() may wait for it */
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prepare_sockets();
    prepare_files();
    CHECK_OK(pipe(find("read")->fds));
    CHECK_OK(pipe(join_fds));
    find("epoll_wait")->fds[0] = epoll_create1(0);
    find("epoll_pwait")->fds[0] = epoll_create1(0);
    find("eventfd")->fds[0] = eventfd(0, 0);
    find("timerfd")->fds[0] = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK_OK(timerfd_settime(find("timerfd")->fds[0], 0, &timer, NULL));
    message_queue = msgget(IPC_PRIVATE, 0600);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    CHECK(message_queue >= 0 && semaphores >= 0);
    CHECK_OK(sem_init(&sem, 0, 0));
    CHECK_OK(sem_init(&sem_timed, 0, 0));
    child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    pthread_mutex_lock(&held);
    CHECK_OK(pthread_create(&joined, NULL, wait_for_read, join_fds));
}

void start_calls(void)
{
    prepare();
    for (unsigned i = 0; i < call_count; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, outer, &calls[i]));
        CHECK_OK(pthread_setname_np(threads[i], calls[i].name));
    }
    for (unsigned i = 0; i < call_count; i++) {
        while (__atomic_load_n(&calls[i].tid, __ATOMIC_ACQUIRE) == 0) {
            usleep(100);
        }
    }
}

static void connect_to(const struct sockaddr_un *to)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_OK(connect(fd, (const struct sockaddr *)to, sizeof *to));
    close(fd);
}

void release_calls(void)
{
    char path[128];
    struct {
        long type;
        char text[8];
    } message = {.type = 1};
    CHECK_OK(msgsnd(message_queue, &message, 8, 0));
    CHECK_OK(semop(semaphores, &(struct sembuf){.sem_op = 1}, 1));
    CHECK_EQ(write(find("read")->fds[1], "x", 1), 1);
    CHECK_EQ(send(find("recv")->fds[1], "x", 1, 0), 1);
    connect_to(&accept_address);
    connect_to(&accept4_address);
    while (!__atomic_load_n(&find("connect")->done, __ATOMIC_ACQUIRE)) {
        close(accept(listener, NULL, NULL)); /* room in the backlog */
        usleep(1000);
    }
    kill(lock_holder, SIGKILL);
    CHECK_OK(flock(find("flock")->fds[1], LOCK_UN));
    pthread_mutex_lock(&cond_mutex);
    cond_flag = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&cond_mutex);
    pthread_mutex_unlock(&held);
    CHECK_EQ(write(join_fds[1], "x", 1), 1);
    sem_post(&sem);
    CHECK_EQ(write(find("eventfd")->fds[0], &(uint64_t){1}, 8), 8);
    snprintf(path, sizeof path, "%s/new", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    kill(child, SIGKILL);
    pthread_kill(threads[find("pause") - calls], SIGUSR1);
    for (unsigned i = 0; i < call_count; i++) {
        pthread_join(threads[i], NULL);
    }
    waitpid(lock_holder, NULL, 0);
    msgctl(message_queue, IPC_RMID, NULL);
    semctl(semaphores, 0, IPC_RMID);
    for (int fd = 3; fd < 256; fd++) { /* all descriptors: nothing else is open in a test child */
        bool is_ours = false;
        for (unsigned i = 0; i < call_count; i++) {
            is_ours = is_ours || (fd == calls[i].fds[0] || fd == calls[i].fds[1]);
        }
        for (unsigned i = 0; i < 8; i++) {
            is_ours = is_ours || fd == connect_fill[i];
        }
        if (is_ours || fd == listener || fd == lock_file || fd == join_fds[0] ||
            fd == join_fds[1]) {
            close(fd);
        }
    }
}

void check_calls(void)
{
    for (unsigned i = 0; i < call_count; i++) {
        const struct call *call = &calls[i];
        uint64_t took_ns = call->ended_ns - call->began_ns;
        /* sem_timedwait's deadline is a whole second of the wall clock: up to one less */
        uint64_t least_ns = (TIMED_S - 1) * 1000000000u;
        if (call->error != call->expected_errno || (call->is_timed && took_ns < least_ns)) {
            FAIL("%s ended with %s after %llu ms", call->name, strerror(call->error),
                 (unsigned long long)(took_ns / 1000000));
        }
    }
}
