// SPDX-License-Identifier: Apache-2.0
/* Compiled with musl-gcc by the test: each thread, named after the function of libc that it calls,
 * is blocked below enter(), work_NAME() and what lies between. Prints a line when all are. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2], full[2], sockets[2];
static struct timespec hour = {3600, 0};
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, free_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t write_held = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_t sleeper;
static char bytes[1 << 17];

#define KEEP __asm__ volatile("")
#define WORK(name, call)                                                                           \
    static __attribute__((noipa)) void work_##name(void)                                           \
    {                                                                                              \
        (void)(call);                                                                              \
        KEEP;                                                                                      \
    }

WORK(poll, poll(NULL, 0, -1))
WORK(ppoll, ppoll(NULL, 0, NULL, NULL))
WORK(select, select(0, NULL, NULL, NULL, NULL))
WORK(pselect, pselect(0, NULL, NULL, NULL, NULL, NULL))
WORK(nanosleep, nanosleep(&hour, NULL))
WORK(clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL))
WORK(usleep, usleep(3600000000u))
WORK(sleep, sleep(3600))
WORK(pause, pause())
WORK(read, read(ends[0], bytes, 1))
WORK(readv, recv(sockets[0], bytes, 1, 0))
WORK(write, write(full[1], bytes, sizeof bytes))
WORK(flock, flock(open("/proc/self/exe", O_RDONLY), LOCK_EX))
WORK(epoll_wait, epoll_wait(epoll_create1(0), &(struct epoll_event){0}, 1, -1))
WORK(mutex, pthread_mutex_lock(&held))
WORK(rwlock, pthread_rwlock_rdlock(&write_held))
WORK(barrier, pthread_barrier_wait(&barrier))
WORK(sem, sem_wait(&semaphore))
WORK(join, pthread_join(sleeper, NULL))
WORK(sigwait, sigwaitinfo(&(sigset_t){0}, NULL))
WORK(wait, wait(NULL))

static __attribute__((noipa)) void work_cond(void)
{
    pthread_mutex_lock(&free_mutex);
    pthread_cond_wait(&condition, &free_mutex);
    KEEP;
}

/* Callbacks: the function of libc that lies between is called by pointer, or calls by pointer. */
static int compare(const void *a, const void *b)
{
    nanosleep(&hour, NULL);
    return *(const int *)a - *(const int *)b;
}

static __attribute__((noipa)) void work_qsort(void)
{
    int numbers[16];
    for (int i = 0; i < 16; i++) {
        numbers[i] = 16 - i;
    }
    qsort(numbers, 16, sizeof numbers[0], compare);
    KEEP;
}

static __attribute__((noipa)) void work_bsearch(void)
{
    int numbers[3] = {1, 2, 3}, key = 2;
    (void)!bsearch(&key, numbers, 3, sizeof numbers[0], compare);
    KEEP;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void only_once(void)
{
    pause();
    KEEP;
}

static __attribute__((noipa)) void work_once(void)
{
    pthread_once(&once, only_once);
    KEEP;
}

static __attribute__((noipa)) void work_fgets(void)
{
    FILE *file = fdopen(dup(ends[0]), "r");
    (void)!fgets(bytes, 10, file);
    KEEP;
}

static __attribute__((noipa)) void work_fscanf(void)
{
    FILE *file = fdopen(dup(ends[0]), "r");
    int number;
    (void)!fscanf(file, "%d", &number);
    KEEP;
}

static __attribute__((noipa)) void work_fprintf(void)
{
    FILE *file = fdopen(dup(full[1]), "w");
    for (;;) {
        fprintf(file, "%s %d %.3f %*s\n", "a line", 42, 2.5, 300, "");
    }
}

static __attribute__((noipa)) void work_variadic(const char *format, ...)
{
    FILE *file = fdopen(dup(full[1]), "w");
    va_list arguments;
    va_start(arguments, format);
    for (int i = 0; i < 100; i++) {
        va_list again;
        va_copy(again, arguments);
        vfprintf(file, format, again);
        va_end(again);
    }
    va_end(arguments);
}

static __attribute__((noipa)) void work_vfprintf(void)
{
    work_variadic("%1000d %1000x %e\n", 1, 2, 3.0);
    KEEP;
}

static void on_signal(int number)
{
    (void)number;
    poll(NULL, 0, -1);
    KEEP;
}

static __attribute__((noipa)) void work_signal(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    KEEP;
}

struct job {
    const char *name;
    void (*work)(void);
};

#define JOB(name)                                                                                  \
    {                                                                                              \
#        name, work_##name                                                                         \
    }
static const struct job jobs[] = {
    JOB(poll),   JOB(ppoll), JOB(select),  JOB(pselect), JOB(nanosleep), JOB(clock_nanosleep),
    JOB(usleep), JOB(sleep), JOB(pause),   JOB(read),    JOB(readv),     JOB(write),
    JOB(flock),  JOB(mutex), JOB(rwlock),  JOB(barrier), JOB(sem),       JOB(epoll_wait),
    JOB(join),   JOB(wait),  JOB(sigwait), JOB(cond),    JOB(qsort),     JOB(bsearch),
    JOB(once),   JOB(fgets), JOB(fscanf),  JOB(fprintf), JOB(vfprintf),  JOB(signal),
};

static __attribute__((noipa)) void enter(const struct job *job)
{
    job->work();
    KEEP;
}

static void *thread(void *argument)
{
    const struct job *job = argument;
    pthread_setname_np(pthread_self(), job->name);
    enter(job);
    KEEP;
    return NULL;
}

static void *sleep_long(void *argument)
{
    pause();
    return argument;
}

int main(void)
{
    pthread_t id;
    int lock = open("/proc/self/exe", O_RDONLY);
    alarm(600);
    if (pipe(ends) != 0 || pipe(full) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 ||
        flock(lock, LOCK_EX) != 0) {
        return 1;
    }
    fcntl(full[1], F_SETFL, O_NONBLOCK);
    while (write(full[1], bytes, 4096) > 0) {
    }
    fcntl(full[1], F_SETFL, 0);
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&write_held);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    pthread_create(&sleeper, NULL, sleep_long, NULL);
    if (fork() == 0) { /* for wait() */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        pause();
    }
    for (unsigned i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        pthread_create(&id, NULL, thread, (void *)&jobs[i]);
    }
    puts("ready");
    fflush(stdout);
    enter(&jobs[0]);
    return 0;
}
