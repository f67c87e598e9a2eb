// SPDX-License-Identifier: Apache-2.0
/* Frames of Swift's async functions, which clang makes from C (tests/integration/swift/fixture.c):
 * who awaits, next to the whole physical stack; of the own thread, and of one that is stopped. */
#include <unistd.h>

#include "capture_stopped.h"
#include "fixture.h"
#include "workers.h"

enum { FRAMES = 60, CHAIN = 8 };

static struct swift_task task = {.id = 4711};
static struct {
    volatile uint64_t tid;
    volatile int is_spinning, is_over;
} other;
static unsigned met;

void *swift_task_getCurrent(void);
void *swift_task_getCurrent(void)
{
    return &task;
}

/* The continuations behind the one that runs, then the executor up to the root. */
static void check_stack(const struct sonde_stack *stack, int where, int inner)
{
    uint64_t expected[3];
    always_continuations(expected);
    CHECK(stack->async_met == 1 && stack->async_cut == 0);
    CHECK(stack->async_count == (uint32_t)(3 - where));
    for (uint32_t i = 0; i < stack->async_count && i < (uint32_t)(3 - where); i++) {
        CHECK(stack->async_pcs[i] == expected[(uint32_t)where + i]);
    }
    CHECK(stack->end == SONDE_END_ROOT && stack->count >= (uint32_t)inner + 4);
    CHECK(stack->async_at == (uint32_t)inner);
    if (where > 0) {
        CHECK(stack->pcs[inner] - expected[where - 1] < 256);
    }
}

__attribute__((noinline)) static void capture_self(int where)
{
    static uint64_t pcs[FRAMES], async[CHAIN];
    static uint8_t how[FRAMES];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    sonde_stack_set_async(&stack, async, CHAIN);
    CHECK(sonde_stack_capture(&stack, 0) == SONDE_OK);
    check_stack(&stack, where, 2); /* behind this function and observe() */
    CHECK(stack.task_id == 4711);
    met++;
}

__attribute__((noinline)) static void spin(void)
{
    other.is_spinning = 1;
    while (!other.is_over) {
    }
}

void observe(int where)
{
    if (other.tid == 0) {
        capture_self(where);
    } else if (where == 1) {
        spin();
    }
    __asm__ volatile("");
}

static void *work(void *argument)
{
    other.tid = sonde__os_tid();
    always_run();
    return argument;
}

static void capture_other(void)
{
    static uint64_t pcs[FRAMES], async[CHAIN];
    static uint8_t how[FRAMES];
    struct sonde__stopped stopped = {0};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
    while (!other.is_spinning) {
        usleep(10);
    }
    CHECK(sonde__os_stop_open(other.tid, &stopped.stop) == SONDE_OK);
    sonde_stack_init(&stopped.stack, pcs, how, FRAMES, 0);
    sonde_stack_set_async(&stopped.stack, async, CHAIN);
    sonde__capture_stopped(&stopped, 1);
    sonde__os_stop_close(&stopped.stop);
    CHECK(stopped.status == SONDE_OK);
    check_stack(&stopped.stack, 1, 2);
    other.is_over = 1;
    pthread_join(thread, NULL);
}

int main(void)
{
    always_run();
    CHECK(met == 3);
    capture_other();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
