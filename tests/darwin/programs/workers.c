// SPDX-License-Identifier: Apache-2.0
#include "workers.h"

#include <string.h>
#include <unistd.h>

unsigned mistakes;
struct worker workers[WORKERS];

#define NOTE(worker)                                                                               \
    ((worker)->noted[(worker)->note_count++] = (uint64_t)(uintptr_t)__builtin_return_address(0))

__attribute__((noinline)) static void spin(struct worker *worker)
{
    NOTE(worker);
    worker->is_ready = 1;
    while (!worker->is_over) {
        worker->turns++;
    }
}

__attribute__((noinline)) static void wait_long(struct worker *worker)
{
    NOTE(worker);
    worker->is_ready = 1;
    usleep(1000000000);
    worker->turns++;
}

__attribute__((noinline)) static long descend(struct worker *worker, int left)
{
    NOTE(worker);
    if (left > 0) {
        return descend(worker, left - 1) + worker->is_over;
    }
    (worker < workers + SPINNERS ? spin : wait_long)(worker);
    return worker->is_over;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    NOTE(worker);
    (void)pthread_threadid_np(NULL, &worker->tid);
    descend(worker, DEPTH - 1);
    return argument;
}

static void start(struct worker *worker)
{
    CHECK(pthread_create(&worker->thread, NULL, work, worker) == 0);
    while (!worker->is_ready) {
        usleep(10);
    }
    while (worker >= workers + SPINNERS && !sim_is_waiting(worker->thread)) {
        usleep(10); /* it is on its way */
    }
}

void start_workers(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        start(&workers[i]);
    }
}

/* The innermost frames noted nothing: that of the loop, or those of usleep() and its caller. */
int is_right_at(unsigned index, const struct sonde_stack *stack)
{
    const struct worker *worker = &workers[index];
    unsigned inner = index < SPINNERS ? 1 : 2;
    unsigned wrong = stack->end != SONDE_END_ROOT || stack->count != worker->note_count + inner;
    for (unsigned i = inner; i < stack->count && wrong == 0; i++) {
        wrong = stack->pcs[i] != worker->noted[worker->note_count - 1 - (i - inner)];
    }
    return wrong == 0;
}

void check_nothing_is_left(void)
{
    CHECK(sim_port_references == 0 && sim_lists == 0 && sim_suspended == 0);
    CHECK(sim_maps_while_suspended == 0 && sim_allocations_while_suspended == 0);
    for (unsigned i = 0; i < SPINNERS; i++) {
        uint64_t before = workers[i].turns;
        while (workers[i].is_ready && !workers[i].is_over && workers[i].turns == before) {
            usleep(10);
        }
    }
}

void end_first_spinner(void)
{
    workers[0].is_over = 1;
    pthread_join(workers[0].thread, NULL);
}

char text[1 << 16];
size_t text_length;

int append(void *ctx, const void *part, size_t size)
{
    (void)ctx;
    if (size >= sizeof text - text_length) {
        return 1;
    }
    memcpy(text + text_length, part, size);
    text_length += size;
    text[text_length] = '\0';
    return 0;
}
