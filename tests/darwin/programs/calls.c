// SPDX-License-Identifier: Apache-2.0
/* Threads that are busy in libSystem and in their own code: they allocate, format, lock, wait, and
 * recurse. Each stack goes from its innermost frame to the thread's start without a gap: all frames
 * are code of an image, the thread's function is there, and nothing is between it and the root but
 * the start. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_stopped.h"
#include "os_images.h"

enum { BUSY = 4, FRAMES = 100, DEPTH = 9 };
#ifndef ROUNDS
#    define ROUNDS 200
#endif

static unsigned mistakes, deepest;
static volatile int is_over;
static uint64_t tids[BUSY], turns[BUSY];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned shared;

#define FUNCTION __attribute__((noinline)) static long

FUNCTION allocates(long i)
{
    char *text = malloc((size_t)(16 + (i & 1023)));
    long sum = 0;
    if (text != NULL) {
        memset(text, (int)i, 16);
        sum = snprintf(text, 16, "%ld %s", i & 0xffff, "x");
        sum += (long)strlen(text);
    }
    free(text);
    return sum;
}

FUNCTION locks(long i)
{
    pthread_mutex_lock(&lock);
    shared += (unsigned)i;
    pthread_mutex_unlock(&lock);
    return (long)shared;
}

FUNCTION recurses(long i, long depth)
{
    return depth == 0 ? allocates(i) + locks(i) : recurses(i + depth, depth - 1) * 3 + depth;
}

static void *work(void *argument)
{
    uint64_t *tid = argument;
    long sum = 0;
    __atomic_store_n(tid, sonde__os_tid(), __ATOMIC_SEQ_CST);
    for (long i = 0; !is_over; i++) {
        sum += recurses(i, i % DEPTH);
        __atomic_store_n(&turns[tid - tids], (uint64_t)i, __ATOMIC_RELAXED);
        if (tid != &tids[0] && i % 100 == 0) { /* the first one never waits */
            usleep(20);
        }
    }
    return (void *)sum;
}

/* Until each thread has gone through its functions since it was stopped, so that it comes to other
 * places. */
static void wait_for_turns(void)
{
    uint64_t before[BUSY];
    for (unsigned i = 0; i < BUSY; i++) {
        before[i] = __atomic_load_n(&turns[i], __ATOMIC_RELAXED);
    }
    for (unsigned i = 0; i < BUSY; i++) {
        while (__atomic_load_n(&turns[i], __ATOMIC_RELAXED) < before[i] + 2) {
            usleep(10);
        }
    }
}

/* Of the functions above, the one that contains the pc; 0: none. */
static uintptr_t function_at(uint64_t pc)
{
    const uintptr_t all[] = {(uintptr_t)allocates, (uintptr_t)locks, (uintptr_t)recurses,
                             (uintptr_t)work, (uintptr_t)function_at};
    uintptr_t found = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        found = all[i] <= pc && all[i] > found ? all[i] : found;
    }
    return found;
}

static int is_whole(const struct sonde_stack *stack)
{
    struct sonde__os_image image;
    int is_good = stack->end == SONDE_END_ROOT && stack->count >= 2 && stack->count < FRAMES;
    for (unsigned i = 0; is_good && i < stack->count; i++) {
        is_good = sonde__os_find_image(stack->pcs[i] - (i > 0), &image);
    }
    deepest = stack->count > deepest ? stack->count : deepest;
    return is_good && (function_at(stack->pcs[stack->count - 2] - 1) == (uintptr_t)work ||
                       stack->count == 2); /* stopped before its function began */
}

static void print(const struct sonde_stack *stack)
{
    printf("end %u:", (unsigned)stack->end);
    for (unsigned i = 0; i < stack->count; i++) {
        printf(" %lx(%u)", (unsigned long)stack->pcs[i], (unsigned)stack->how[i]);
    }
    printf("\n");
}

int main(void)
{
    static uint64_t pcs[BUSY][FRAMES];
    static uint8_t how[BUSY][FRAMES];
    static struct sonde__stopped stopped[BUSY];
    pthread_t threads[BUSY];
    unsigned captured = 0;
    for (unsigned i = 0; i < BUSY; i++) {
        mistakes += pthread_create(&threads[i], NULL, work, &tids[i]) != 0;
        while (__atomic_load_n(&tids[i], __ATOMIC_SEQ_CST) == 0) {
            usleep(10);
        }
        mistakes += sonde__os_stop_open(tids[i], &stopped[i].stop) != SONDE_OK;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < BUSY; i++) {
            sonde_stack_init(&stopped[i].stack, pcs[i], how[i], FRAMES, 0);
        }
        wait_for_turns();
        sonde__capture_stopped(stopped, BUSY);
        for (unsigned i = 0; i < BUSY; i++, captured++) {
            if (stopped[i].status != SONDE_OK || !is_whole(&stopped[i].stack)) {
                mistakes++;
                print(&stopped[i].stack);
            }
        }
    }
    is_over = 1;
    for (unsigned i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
        sonde__os_stop_close(&stopped[i].stop);
    }
    printf("%u captures, at most %u frames, %u mistakes\n", captured, deepest, mistakes);
    return mistakes != 0 || deepest < DEPTH;
}
