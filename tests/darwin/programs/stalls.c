// SPDX-License-Identifier: Apache-2.0
/* The watch inside a program, by marks: a loop that spins and one that waits for too long, on two
 * threads, are told with the stacks of the stalled threads. Other stalls, of a loaded machine, are
 * not looked at. */
#include <string.h>
#include <unistd.h>

#include <sonde/thread.h>
#include <sonde/watch.h>

#include "told.h"
#include "workers.h"

#define THRESHOLD_NS 100000000u
#define STALL_NS     400000000u

static void on_begin(void *ctx, const struct sonde_stall *stall)
{
    CHECK(stall->open == 1);
    take_begin(ctx, stall);
}

static volatile uint64_t sum;
__attribute__((noinline)) static void spinning_handler(uint64_t for_ns)
{
    struct stalling stalling = begin_stalling();
    while (is_stalling(&stalling, for_ns)) {
        for (unsigned i = 0; i < 10000; i++) {
            sum += i;
        }
    }
}

__attribute__((noinline)) static void waiting_handler(uint64_t for_ns)
{
    struct stalling stalling = begin_stalling();
    do {
        usleep((useconds_t)(for_ns / 1000));
        sum++;
    } while (is_stalling(&stalling, for_ns));
}

__attribute__((noinline)) static void short_handler(uint64_t for_ns)
{
    usleep((useconds_t)(for_ns / 1000));
    sum++;
}

__attribute__((noinline)) static void wait_for_events(uint64_t for_ns)
{
    usleep((useconds_t)(for_ns / 1000));
    sum++;
}

static void turn(void (*handler)(uint64_t for_ns), uint64_t for_ns)
{
    sonde_idle_leave();
    handler(for_ns);
    sonde_idle_enter();
    wait_for_events(5000000);
}

static void *loop(void *handler)
{
    turn(short_handler, 1000);
    turn((void (*)(uint64_t))handler, STALL_NS);
    turn(short_handler, 1000);
    return (void *)sonde_thread_self();
}

static struct sonde_watch *start(void)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = THRESHOLD_NS,
                                                .on_stall = take_stall,
                                                .on_begin = on_begin};
    struct sonde_watch *watch = NULL;
    struct sonde_error error = {0};
    CHECK(sonde_watch_start(&options, &watch, &error) == SONDE_OK);
    return watch;
}

static void check_told(const struct told *stall, const char *way)
{
    CHECK(stall != NULL);
    if (stall != NULL) {
        CHECK(stall->duration_ns >= THRESHOLD_NS);
        CHECK(strstr(stall->text, way) != NULL);
        CHECK(strstr(stall->text, "the thread stopped for each sample") != NULL);
    } else {
        for (unsigned i = 0; i < told_count; i++) {
            printf("%s\n", told[i].text);
        }
    }
}

int main(void)
{
    struct sonde_watch *watch = start(), *second = NULL;
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .on_stall = take_stall};
    CHECK(sonde_watch_start(&options, &second, NULL) == SONDE_BUSY);
    void *tid = NULL;
    /* again: a watch that had no processor for long does not know what it missed */
    while (!is_too_late() &&
           (find_stall(sonde_thread_self(), "spinning_handler", NULL) == NULL ||
            find_stall((uint64_t)(uintptr_t)tid, "waiting_handler", NULL) == NULL)) {
        pthread_t other;
        CHECK(pthread_create(&other, NULL, loop, (void *)waiting_handler) == 0);
        (void)loop((void *)spinning_handler);
        pthread_join(other, &tid);
        usleep(STALL_NS / 1000);
    }
    sonde_watch_stop(watch);
    check_told(find_stall(sonde_thread_self(), "spinning_handler", NULL),
               "    running  spinning_handler");
    check_told(find_stall((uint64_t)(uintptr_t)tid, "waiting_handler", NULL), "blocked  usleep");
    CHECK(find_stall(sonde_thread_self(), "waiting_handler", NULL) == NULL);
    CHECK(begun_count >= 2 && sonde_watch_stalled() == 0);
    CHECK(sim_handlers == 0);
    CHECK(sim_port_references == 0 && sim_lists == 0 && sim_suspended == 0);

    told_count = 0;
    watch = start(); /* again: a wait for events is no stall */
    turn(short_handler, 1000);
    wait_for_events(3 * STALL_NS);
    turn(short_handler, 1000);
    sonde_watch_stop(watch);
    CHECK(find_stall(sonde_thread_self(), "wait_for_events", NULL) == NULL);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
