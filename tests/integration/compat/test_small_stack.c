// SPDX-License-Identifier: Apache-2.0
/* The probe runs on the waiting stack, which may be small: a coroutine's, a handler's, a thread's.
 * A loop that fits into it without sonde must fit with it. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

/* The probe's limit for the deepest frame of a loop (preload/level.c keeps to it). */
enum { ADDED_MAX = 1792 };

static long used(const struct test_run *run)
{
    CHECK_EQ(run->status, 0);
    CHECK(strncmp(run->out, "used ", 5) == 0);
    return strtol(run->out + 5, NULL, 10);
}

static void run_both(const char *way, size_t bytes)
{
    char size[32], report[160];
    snprintf(size, sizeof size, "%zu", bytes);
    snprintf(report, sizeof report, "%s/report", test_folder());
    const char *argv[] = {program_built("compat/compat_small_stack"), way, size, NULL};
    struct test_run plain = test_run(argv, NULL, NULL, 60);
    struct test_run watched = program_watch((const char *[]){"--quiet", NULL}, report, argv, 60);
    long before = used(&plain), after = used(&watched);
    if (after - before > ADDED_MAX) {
        FAIL("%s: %ld bytes of stack watched, %ld plain", way, after, before);
    }
    test_run_done(&plain);
    test_run_done(&watched);
}

TEST(coroutine_of_8_kb)
{
    run_both("coroutine", 8192);
}

TEST(coroutine_of_the_least_stack_of_a_thread)
{
    run_both("coroutine", (size_t)PTHREAD_STACK_MIN);
}

TEST(thread_with_the_least_stack)
{
    run_both("thread", (size_t)PTHREAD_STACK_MIN);
}

TEST(handler_on_a_stack_of_its_own)
{
    run_both("handler", 16384);
}
