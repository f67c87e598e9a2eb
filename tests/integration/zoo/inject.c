// SPDX-License-Identifier: Apache-2.0
#include "inject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAMED __attribute__((noinline))

static unsigned stall_ms;
static char *idle[] = {(char[]){"idle"}, NULL};
static char **kinds;
static unsigned ticks;
static int64_t idle_until_ms;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void pause_ms(unsigned ms)
{
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

NAMED void inject_burn(unsigned ms);
NAMED void inject_sleep(unsigned ms);
NAMED void inject_read(unsigned ms);
NAMED void inject_poll(unsigned ms);
NAMED void inject_flock(unsigned ms);
NAMED void inject_mutex(unsigned ms);
NAMED void inject_cond(unsigned ms);
NAMED void inject_child(unsigned ms);

/* Each ends with a statement after its call, to prevent a tail call. */
static volatile unsigned sink;

NAMED void inject_burn(unsigned ms)
{
    int64_t end = now_ms() + ms;
    while (now_ms() < end) {
        for (unsigned i = 0; i < 10000; i++) {
            sink += i;
        }
    }
}

NAMED void inject_sleep(unsigned ms)
{
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
    sink++;
}

/* A child that holds a pipe or a lock for a while. It ends by _exit. */
static pid_t child_with_lock(const char *path, int *ready, unsigned ms)
{
    pid_t child = fork();
    if (child == 0) {
        int fd = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
        if (fd >= 0) {
            flock(fd, LOCK_EX);
        }
        if (path != NULL && write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        pause_ms(ms);
        if (path == NULL && write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        _exit(0);
    }
    return child;
}

NAMED void inject_read(unsigned ms)
{
    int ends[2];
    char c;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        abort();
    }
    pid_t child = child_with_lock(NULL, ends, ms);
    if (read(ends[0], &c, 1) != 1) {
        abort();
    }
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
}

/* A poll other than the loop's: another descriptor, deeper in the stack. */
NAMED void inject_poll(unsigned ms)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        abort();
    }
    struct pollfd p = {ends[0], POLLIN, 0};
    poll(&p, 1, (int)ms);
    close(ends[0]);
    close(ends[1]);
}

NAMED void inject_flock(unsigned ms)
{
    int ends[2];
    char path[] = "/tmp/sonde-zoo-XXXXXX";
    char c;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        abort();
    }
    pid_t child = child_with_lock(path, ends, ms);
    if (read(ends[0], &c, 1) != 1) {
        abort();
    }
    flock(fd, LOCK_EX);
    waitpid(child, NULL, 0);
    unlink(path);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned hold_ms;

static void *hold_mutex(void *argument)
{
    prctl(PR_SET_NAME, "lock-holder");
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier);
    pause_ms(hold_ms);
    pthread_mutex_unlock(&mutex);
    return argument;
}

NAMED void inject_mutex(unsigned ms)
{
    pthread_t thread;
    hold_ms = ms;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold_mutex, NULL);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

NAMED void inject_cond(unsigned ms)
{
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += (long)(ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&cond, &mutex, &end) == 0) {
    }
    pthread_mutex_unlock(&mutex);
}

NAMED void inject_child(unsigned ms)
{
    pid_t child = fork();
    if (child == 0) {
        pause_ms(ms);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sink++;
}

static const struct {
    const char *kind, *function;
    void (*run)(unsigned ms);
} stalls[] = {
    {"burn", "inject_burn", inject_burn},    {"sleep", "inject_sleep", inject_sleep},
    {"read", "inject_read", inject_read},    {"poll", "inject_poll", inject_poll},
    {"flock", "inject_flock", inject_flock}, {"mutex", "inject_mutex", inject_mutex},
    {"cond", "inject_cond", inject_cond},    {"child", "inject_child", inject_child},
};

static void *wait_for_nothing(void *name)
{
    prctl(PR_SET_NAME, name);
    for (;;) {
        pause();
    }
    return NULL;
}

void inject_start(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3) {
        fprintf(stderr, "usage: %s MILLISECONDS KIND...\n", argv[0]);
        exit(2);
    }
    pthread_create(&thread, NULL, wait_for_nothing, "worker-a");
    pthread_create(&thread, NULL, wait_for_nothing, "worker-b");
    stall_ms = (unsigned)strtoul(argv[1], NULL, 10);
    kinds = argv + 2;
    if (strcmp(*kinds, "late") == 0) {
        pause_ms(stall_ms);
        stall_ms = 1000;
        kinds = idle;
    }
    const char *after = getenv("INJECT_AFTER");
    ticks -= after != NULL ? (unsigned)strtoul(after, NULL, 10) * INJECT_EACH : 0;
    idle_until_ms = now_ms() + stall_ms;
    printf("started %d\n", (int)getpid());
    fflush(stdout);
}

bool inject_tick(void)
{
    if (*kinds != NULL && (strcmp(*kinds, "idle") == 0 || strcmp(*kinds, "work") == 0)) {
        if (**kinds == 'w') {
            inject_burn(18);
        }
        kinds += now_ms() >= idle_until_ms;
        return *kinds != NULL;
    }
    if (++ticks % INJECT_EACH != 0 || ticks > UINT_MAX / 2) {
        return true;
    }
    if (*kinds == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof stalls / sizeof stalls[0]; i++) {
        if (strcmp(stalls[i].kind, *kinds) == 0) {
            int64_t begin = now_ms();
            stalls[i].run(stall_ms);
            printf("injected %s %d ms\n", stalls[i].function, (int)(now_ms() - begin));
            fflush(stdout);
            kinds++;
            return true;
        }
    }
    fprintf(stderr, "unknown kind: %s\n", *kinds);
    exit(2);
}
