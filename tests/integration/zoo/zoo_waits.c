// SPDX-License-Identifier: Apache-2.0
/* Loops that wait for no descriptor: zoo_waits LOOP MILLISECONDS KIND... The loop's wait ends by a
 * tick each 20 ms: by its own time-out, or by another thread. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"

enum { TICK_NS = INJECT_TICK_MS * 1000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool ticked;
static sem_t semaphore;
static int timer = -1;

static struct timespec in_a_tick(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += TICK_NS;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *tick(void *unused)
{
    const struct timespec pause = {0, TICK_NS};
    (void)unused;
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&mutex);
        ticked = true;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
        sem_post(&semaphore);
    }
    return NULL;
}

static void wait_cond(void)
{
    pthread_mutex_lock(&mutex);
    while (!ticked) {
        pthread_cond_wait(&cond, &mutex);
    }
    ticked = false;
    pthread_mutex_unlock(&mutex);
}

static void wait_cond_timed(void)
{
    static pthread_cond_t own = PTHREAD_COND_INITIALIZER;
    struct timespec end = in_a_tick(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&own, &mutex, &end) == 0) {
    }
    pthread_mutex_unlock(&mutex);
}

/* Ticks during a stall count as one. */
static void wait_sem(void)
{
    do {
        sem_wait(&semaphore);
    } while (sem_trywait(&semaphore) == 0);
}

static void wait_sem_timed(void)
{
    static sem_t own;
    struct timespec end = in_a_tick(CLOCK_REALTIME);
    sem_timedwait(&own, &end);
}

static void wait_nanosleep(void)
{
    const struct timespec pause = {0, TICK_NS};
    nanosleep(&pause, NULL);
}

static void wait_absolute(void)
{
    struct timespec end = in_a_tick(CLOCK_MONOTONIC);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static void wait_usleep(void)
{
    usleep(TICK_NS / 1000);
}

static void wait_pselect(void)
{
    const struct timespec pause = {0, TICK_NS};
    pselect(0, NULL, NULL, NULL, &pause, NULL);
}

static void wait_timer(void)
{
    const struct itimerspec each = {{0, TICK_NS}, {0, TICK_NS}};
    uint64_t times;
    if (timer < 0) {
        timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        timerfd_settime(timer, 0, &each, NULL);
    }
    if (read(timer, &times, sizeof times) < 0) {
        perror("read");
    }
}

static const struct {
    const char *name;
    void (*wait)(void);
} loops[] = {{"cond", wait_cond},
             {"cond_timed", wait_cond_timed},
             {"sem", wait_sem},
             {"sem_timed", wait_sem_timed},
             {"nanosleep", wait_nanosleep},
             {"clock_nanosleep", wait_absolute},
             {"usleep", wait_usleep},
             {"pselect", wait_pselect},
             {"timerfd", wait_timer}};

int main(int argc, char **argv)
{
    pthread_t ticker;
    void (*wait)(void) = NULL;
    for (size_t i = 0; argc > 1 && i < sizeof loops / sizeof loops[0]; i++) {
        wait = strcmp(loops[i].name, argv[1]) == 0 ? loops[i].wait : wait;
    }
    if (wait == NULL) {
        fprintf(stderr, "usage: %s LOOP MILLISECONDS KIND...\n", argv[0]);
        return 2;
    }
    sem_init(&semaphore, 0, 0);
    inject_start(argc - 1, argv + 1);
    if (wait == wait_cond || wait == wait_sem) {
        pthread_create(&ticker, NULL, tick, NULL);
    }
    do {
        wait();
    } while (inject_tick());
    return 0;
}
