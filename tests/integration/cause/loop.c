// SPDX-License-Identifier: Apache-2.0
/* An event loop that stalls for 600 ms, times argv[2]. argv[1]: "lock", which another thread holds;
 * "pipe", which a child writes to at the end of that; "child", which ends then; "deadlock", for
 * ever; "late deadlock", which closes after that time; "place", which a second loop waits for
 * meanwhile. Prints the truth: "TID RESOURCE OWNER". */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static atomic_int holds, owner;
static unsigned stall_us, circle_after_us;

static void *hold(void *forever)
{
    pthread_mutex_lock(&mutex);
    owner = (int)syscall(SYS_gettid);
    holds = 1;
    usleep(circle_after_us);
    if (forever != NULL) {
        pthread_mutex_lock(&second);
    }
    usleep(stall_us);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void stall_by_lock(void *forever)
{
    pthread_t thread;
    pthread_mutex_lock(&second);
    pthread_create(&thread, NULL, hold, forever);
    while (holds == 0) {
        usleep(100);
    }
    printf("%d %p %d\n", (int)getpid(), (void *)&mutex, owner);
    fflush(stdout);
    pthread_mutex_lock(&mutex);
}

static void stall_by_pipe(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0) {
        exit(2);
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        usleep(stall_us);
        (void)write(ends[1], "x", 1);
        _exit(0);
    }
    close(ends[1]);
    printf("%d %d %d\n", (int)getpid(), ends[0], (int)pid);
    fflush(stdout);
    (void)read(ends[0], &byte, 1);
    close(ends[0]);
}

static __attribute__((noinline)) void work_of_the_child(void)
{
    usleep(stall_us);
    _exit(0);
}

static void stall_by_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        work_of_the_child();
    }
    printf("%d %d %d\n", (int)getpid(), (int)pid, (int)pid);
    fflush(stdout);
    (void)waitpid(pid, NULL, 0);
}

static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool is_taken;

/* Another loop: each of its turns needs the place for a moment. */
static void *loop_at_a_place(void *arg)
{
    struct pollfd polled = {.fd = *(int *)arg, .events = POLLIN};
    owner = (int)syscall(SYS_gettid);
    for (;;) {
        (void)poll(&polled, 1, 10);
        pthread_mutex_lock(&mutex);
        while (is_taken) {
            pthread_cond_wait(&released, &mutex);
        }
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void take_place(bool taken)
{
    pthread_mutex_lock(&mutex);
    is_taken = taken;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&mutex);
}

static void stall_in_the_place(void)
{
    printf("%d %p %d\n", (int)getpid(), (void *)&released, owner);
    fflush(stdout);
    take_place(true);
    usleep(stall_us);
    take_place(false);
}

int main(int argc, char **argv)
{
    int wake[2];
    if (argc < 3 || pipe(wake) != 0) {
        return 2;
    }
    stall_us = 600000 * (unsigned)atoi(argv[2]);
    circle_after_us = strcmp(argv[1], "late deadlock") == 0 ? stall_us : 0;
    struct pollfd polled = {.fd = wake[0], .events = POLLIN};
    pthread_t other;
    if (strcmp(argv[1], "place") == 0) {
        pthread_create(&other, NULL, loop_at_a_place, &wake[0]);
    }
    for (int turn = 0; turn < 60; turn++) {
        (void)poll(&polled, 1, 10);
        if (turn == 40 && strcmp(argv[1], "pipe") == 0) {
            stall_by_pipe();
        } else if (turn == 40 && strcmp(argv[1], "child") == 0) {
            stall_by_child();
        } else if (turn == 40 && strcmp(argv[1], "place") == 0) {
            stall_in_the_place();
        } else if (turn == 40) {
            stall_by_lock(strstr(argv[1], "deadlock") != NULL ? wake : NULL);
        }
    }
    return 0;
}
