// SPDX-License-Identifier: Apache-2.0
/* Stacks of other threads, which are stopped: in a loop of a leaf function, and in a system call.
 * Each function of a thread notes its return address by the compiler's builtin; the stack must end
 * with exactly these. Whatever fails, the threads run again, and every port and array is given
 * back. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <mach/kern_return.h>

#include "capture_stopped.h"

enum { SPINNERS = 2, SLEEPERS = 2, WORKERS = SPINNERS + SLEEPERS, FRAMES = 100, DEPTH = 20 };

/* of the simulated libSystem */
extern int64_t sim_port_references, sim_lists, sim_reads_left;
extern uint64_t sim_maps_while_suspended;
extern uint32_t sim_suspended;
extern kern_return_t sim_suspend_result, sim_state_result, sim_list_result;
extern void (*sim_after_list)(void), (*sim_on_read)(void);
void sim_tell_image(uint32_t index, int is_there);

static unsigned mistakes;

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : (void)(mistakes++, printf("line %d: %s\n", __LINE__, #condition)))

static struct worker {
    pthread_t thread;
    uint64_t tid;
    volatile int is_ready, is_over;
    volatile uint64_t turns;
    uint64_t noted[DEPTH + 3];
    unsigned note_count;
} workers[WORKERS];

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
    worker->tid = sonde__os_tid();
    descend(worker, DEPTH - 1);
    return argument;
}

static void start(struct worker *worker)
{
    CHECK(pthread_create(&worker->thread, NULL, work, worker) == 0);
    while (!worker->is_ready) {
        usleep(10);
    }
    usleep(1000); /* until it sleeps: it may be on its way */
}

/* --- captures --- */

static uint64_t pcs[WORKERS][FRAMES];
static uint8_t how[WORKERS][FRAMES];
static struct sonde__stopped stopped[WORKERS];

static void open_workers(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        CHECK(sonde__os_stop_open(workers[i].tid, &stopped[i].stop) == SONDE_OK);
        sonde_stack_init(&stopped[i].stack, pcs[i], how[i], FRAMES, 0);
    }
}

static void close_workers(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        sonde__os_stop_close(&stopped[i].stop);
    }
}

/* `inner`: frames that noted nothing: that of the loop, or usleep() and its caller. */
static int is_right(const struct worker *worker, const struct sonde__stopped *of, unsigned inner)
{
    const struct sonde_stack *stack = &of->stack;
    unsigned wrong = of->status != SONDE_OK || stack->end != SONDE_END_ROOT ||
                     stack->count != worker->note_count + inner;
    for (unsigned i = inner; i < stack->count && wrong == 0; i++) {
        wrong = stack->pcs[i] != worker->noted[worker->note_count - 1 - (i - inner)];
    }
    return wrong == 0;
}

static void check_nothing_is_left(void)
{
    CHECK(sim_port_references == 0 && sim_lists == 0 && sim_suspended == 0);
    CHECK(sim_maps_while_suspended == 0);
    for (unsigned i = 0; i < SPINNERS; i++) {
        uint64_t before = workers[i].turns;
        while (!workers[i].is_over && workers[i].turns == before) {
            usleep(10);
        }
    }
}

static void check_stacks(void)
{
    for (unsigned round = 0; round < 20; round++) {
        open_workers();
        CHECK(sim_port_references == WORKERS && sim_lists == 0);
        sonde__capture_stopped(stopped, WORKERS);
        for (unsigned i = 0; i < WORKERS; i++) {
            CHECK(is_right(&workers[i], &stopped[i], i < SPINNERS ? 1 : 2));
        }
        close_workers();
        check_nothing_is_left();
    }
}

/* --- the list --- */

static void check_list(void)
{
    enum { ALL = WORKERS + 1 };
    uint64_t tids[ALL];
    size_t total = 0;
    CHECK(sonde__os_main_tid() == sonde__os_tid());
    CHECK(sonde__os_count_threads(&total) == SONDE_OK && total == ALL);
    total = 0;
    CHECK(sonde__os_list_threads(0, tids, ALL, &total, NULL) == SONDE_OK && total == ALL);
    CHECK(tids[0] == sonde__os_main_tid());
    for (unsigned i = 0; i < WORKERS; i++) {
        CHECK(tids[i + 1] == workers[i].tid);
    }
    tids[1] = 1;
    CHECK(sonde__os_list_threads(0, tids, 1, &total, NULL) == SONDE_OK && total == ALL);
    CHECK(tids[1] == 1);
    CHECK(sonde__os_list_threads(1, tids, ALL, &total, NULL) == SONDE_UNSUPPORTED);

    struct sonde__os_stop stops[ALL];
    CHECK(sonde__os_stop_open_all(stops, 2, &total) == SONDE_OK && total == ALL);
    CHECK(sim_port_references == 2 && stops[1].tid == workers[0].tid);
    sonde__os_stop_close(&stops[0]);
    sonde__os_stop_close(&stops[1]);
    CHECK(sonde__os_stop_open(1, &stops[0]) == SONDE_ABSENT);
    sim_list_result = KERN_FAILURE;
    CHECK(sonde__os_stop_open(workers[0].tid, &stops[0]) == SONDE_OS);
    CHECK(sonde__os_stop_open_all(stops, ALL, &total) == SONDE_OS);
    CHECK(sonde__os_count_threads(&total) == SONDE_OS);
    sim_list_result = KERN_SUCCESS;
    check_nothing_is_left();
}

static void end_first_spinner(void)
{
    workers[0].is_over = 1;
    pthread_join(workers[0].thread, NULL);
}

/* A thread ends after the kernel made the list, and after it was referred to. */
static void check_ended(void)
{
    size_t total = 0;
    open_workers();
    sim_after_list = end_first_spinner;
    CHECK(sonde__os_count_threads(&total) == SONDE_OK && total == WORKERS);
    sim_after_list = NULL;
    sonde__capture_stopped(stopped, WORKERS);
    CHECK(stopped[0].status == SONDE_ABSENT && stopped[0].stack.count == 0);
    CHECK(is_right(&workers[1], &stopped[1], 1));
    close_workers();
    check_nothing_is_left();
}

/* --- faults --- */

static void capture_all(void)
{
    open_workers();
    sonde__capture_stopped(stopped, WORKERS);
    close_workers();
}

static void remove_program(void)
{
    sim_on_read = NULL;
    sim_tell_image(1, 0);
}

static void check_faults(void)
{
    sim_suspend_result = KERN_FAILURE;
    capture_all();
    CHECK(stopped[0].status == SONDE_OS && stopped[0].stack.count == 0);
    sim_suspend_result = KERN_SUCCESS;
    check_nothing_is_left();

    sim_state_result = KERN_FAILURE;
    capture_all();
    CHECK(stopped[0].status == SONDE_OS && stopped[0].stack.count == 0);
    sim_state_result = KERN_SUCCESS;
    check_nothing_is_left();

    sim_reads_left = 0;
    capture_all();
    CHECK(stopped[0].status == SONDE_OK && stopped[0].stack.end != SONDE_END_ROOT);
    CHECK(stopped[0].stack.count > 0 && stopped[0].stack.count <= 2);
    sim_reads_left = -1;
    check_nothing_is_left();

    sim_on_read = remove_program;
    capture_all();
    /* no rule is left: the stack says so, or that it goes by frame pointers */
    CHECK(stopped[1].status == SONDE_OK && stopped[1].stack.count > 0 && sim_on_read == NULL);
    for (unsigned i = 1; i < stopped[1].stack.count; i++) {
        CHECK((how[1][i] & SONDE_HOW_FOUND_MASK) != SONDE_FOUND_CFI);
    }
    CHECK(stopped[1].stack.count > 1 || stopped[1].stack.end != SONDE_END_ROOT);
    sim_tell_image(1, 1);
    check_nothing_is_left();
    capture_all();
    CHECK(is_right(&workers[0], &stopped[0], 1));

    CHECK(sonde__os_stop_open(sonde__os_tid(), &stopped[0].stop) == SONDE_OK);
    sonde__capture_stopped(stopped, 1);
    sonde__os_stop_close(&stopped[0].stop);
    CHECK(stopped[0].status == SONDE_USAGE);
    check_nothing_is_left();
}

int main(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        start(&workers[i]);
    }
    check_list();
    check_stacks();
    check_faults();
    check_ended();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
