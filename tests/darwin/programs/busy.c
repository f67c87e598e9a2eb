// SPDX-License-Identifier: Apache-2.0
/* Threads that call small functions without pause, and so are stopped anywhere: before a frame is
 * set up, in it, and after it was left. Each stack must be a part of the one chain of calls, from
 * the thread's start inward, without a gap. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "capture_stopped.h"

enum { BUSY = 2, FRAMES = 50 };
#ifndef ROUNDS
#    define ROUNDS 500
#endif

static unsigned mistakes;
static volatile int is_over;
static uint64_t tids[BUSY], turns[BUSY];

#define FUNCTION __attribute__((noinline)) static long

FUNCTION leaf(long a)
{
    return a * 3 + (a >> 2);
}

FUNCTION early(long a) /* mostly returns before it needs a frame */
{
    if (__builtin_expect((a & 3) != 0, 1)) {
        return a;
    }
    return leaf(a) + leaf(a + 1);
}

FUNCTION saves(long a, long b, long c)
{
    long x = leaf(a), y = early(b), z = leaf(c);
    return x + y * a + z * b + c;
}

FUNCTION locals(long a)
{
    volatile char text[100];
    text[a & 63] = (char)a;
    return saves(a, a + 1, a + 2) + text[a & 63];
}

FUNCTION many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    return locals(a + b + c + d + e) + locals(f + g + h + i + j) + a;
}

static void *work(void *argument)
{
    uint64_t *tid = argument;
    long sum = 0;
    __atomic_store_n(tid, sonde__os_tid(), __ATOMIC_SEQ_CST);
    for (long i = 0; !is_over; i++) {
        sum += many(i, 1, 2, 3, 4, 5, 6, 7, 8, sum & 7);
        __atomic_store_n(&turns[tid - tids], (uint64_t)i, __ATOMIC_RELAXED);
    }
    return (void *)sum;
}

/* Until each thread has called all functions since it was stopped, so that it comes to other
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

/* The functions in order of address. */
struct function {
    uint64_t start;
    char kind;
};
static struct function functions[] = {
    {(uintptr_t)leaf, 'l'},   {(uintptr_t)early, 'e'}, {(uintptr_t)saves, 's'},
    {(uintptr_t)locals, 'o'}, {(uintptr_t)many, 'm'},  {(uintptr_t)work, 'w'},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* The function with the highest start at most at `pc`. */
static char kind_at(uint64_t pc)
{
    const struct function *found = NULL;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (functions[i].start <= pc && (found == NULL || functions[i].start > found->start)) {
            found = &functions[i];
        }
    }
    return found != NULL ? found->kind : '?';
}

/* Who may call whom. */
static int is_call(char caller, char callee)
{
    return (caller == 'w' && callee == 'm') || (caller == 'm' && callee == 'o') ||
           (caller == 'o' && callee == 's') ||
           (caller == 's' && (callee == 'e' || callee == 'l')) || (caller == 'e' && callee == 'l');
}

/* The outermost frame is the thread's start, in libSystem. */
static int is_whole(const struct sonde_stack *stack)
{
    int is_good = stack->end == SONDE_END_ROOT && stack->count >= 2 &&
                  kind_at(stack->pcs[stack->count - 2] - 1) == 'w';
    for (unsigned i = stack->count - 1; is_good && i-- > 1;) {
        uint64_t callee = stack->pcs[i - 1] - (i > 1);
        is_good = is_call(kind_at(stack->pcs[i] - 1), kind_at(callee));
    }
    return is_good;
}

static void print(const struct sonde_stack *stack)
{
    printf("end %u:", (unsigned)stack->end);
    for (unsigned i = 0; i < stack->count; i++) {
        char kind = kind_at(stack->pcs[i] - (i > 0));
        printf(" %c+%lx(%u)", kind, (unsigned long)stack->pcs[i], (unsigned)stack->how[i]);
    }
    printf(" %s\n", "");
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
    printf("%u captures, %u mistakes\n", captured, mistakes);
    return mistakes != 0;
}
