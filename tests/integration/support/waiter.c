// SPDX-License-Identifier: Apache-2.0
/* A program to look at: the main thread and two more, each blocked below functions whose names the
 * tests know. Prints a line when all are there. With an argument N the main thread is N calls of
 * `deeper` down. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_barrier_t started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int after_call; /* written after each call, so that none is a tail call */

NOINLINE static void wait_for_lock(void)
{
    pthread_mutex_lock(&lock);
    after_call++;
}

NOINLINE static void *lock_thread(void *ctx)
{
    pthread_setname_np(pthread_self(), "waits-for-lock");
    pthread_barrier_wait(&started);
    wait_for_lock();
    after_call++;
    return ctx;
}

NOINLINE static void *sleep_thread(void *ctx)
{
    pthread_setname_np(pthread_self(), "sleeps \033[31m\"");
    pthread_barrier_wait(&started);
    for (;;) {
        sleep(1000);
        after_call++;
    }
    return ctx;
}

NOINLINE static void wait_in_main(void)
{
    char byte;
    int ends[2];
    if (pipe(ends) == 0 && read(ends[0], &byte, 1) == 1) {
        after_call++;
    }
    after_call++;
}

NOINLINE static void deeper(unsigned depth)
{
    if (depth == 0) {
        wait_in_main();
    } else {
        deeper(depth - 1);
    }
    after_call++;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_barrier_init(&started, NULL, 3);
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, lock_thread, NULL);
    pthread_create(&thread, NULL, sleep_thread, NULL);
    pthread_barrier_wait(&started);
    puts("ready");
    fflush(stdout);
    deeper(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0);
    return 0;
}
