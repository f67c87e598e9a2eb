// SPDX-License-Identifier: Apache-2.0
/* Stacks of other threads, which are stopped: in a loop of a leaf function, and in a system call.
 * Whatever fails, the threads run again, and every port and array is given back. */
#include <stdint.h>
#include <stdio.h>

#include "capture_stopped.h"
#include "workers.h"

enum { FRAMES = 100 };

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

static int is_right(unsigned index)
{
    return stopped[index].status == SONDE_OK && is_right_at(index, &stopped[index].stack);
}

static void check_stacks(void)
{
    for (unsigned round = 0; round < 20; round++) {
        open_workers();
        CHECK(sim_port_references == WORKERS && sim_lists == 0);
        sonde__capture_stopped(stopped, WORKERS);
        for (unsigned i = 0; i < WORKERS; i++) {
            CHECK(is_right(i));
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
    CHECK(is_right(1));
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
    CHECK(is_right(0));

    CHECK(sonde__os_stop_open(sonde__os_tid(), &stopped[0].stop) == SONDE_OK);
    sonde__capture_stopped(stopped, 1);
    sonde__os_stop_close(&stopped[0].stop);
    CHECK(stopped[0].status == SONDE_USAGE);
    check_nothing_is_left();
}

int main(void)
{
    start_workers();
    check_list();
    check_stacks();
    check_faults();
    check_ended();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
