// SPDX-License-Identifier: Apache-2.0
/* Loops without descriptors, and loops of runtimes: sonde distinguishes them from other waits of
 * their thread. Each is idle for seconds without a report; injected stalls are found. */
#include <stdio.h>
#include <stdlib.h>

#include "display.h"
#include "zoo_expect.h"

/* --- without descriptors --- */

TIMED_TEST(sdl_without_a_display, 120)
{
    const char *program = program_built("zoo/zoo_sdl");
    environment_add("SDL_VIDEODRIVER=dummy");
    zoo_silent((const char *[]){program, "wait", ZOO_IDLE, "idle", NULL}, 50);
    zoo_silent((const char *[]){program, "poll", ZOO_IDLE, "idle", NULL}, 50);
    zoo_find((const char *[]){program, "wait", "400", "burn", "sleep", "mutex", NULL}, "pause");
    zoo_find((const char *[]){program, "poll", "400", "burn", "sleep", "mutex", NULL}, "pause");
}

static void find_waits(const char *how, const char *loop)
{
    const char *program = program_built("zoo/zoo_waits");
    zoo_find((const char *[]){program, how, "400", "burn", "sleep", "poll", "mutex", "cond",
                              "child", NULL},
             loop);
}

TIMED_TEST(idle_loops_without_descriptors, 90)
{
    static const char *const names[] = {"cond",      "cond_timed", "sem",
                                        "sem_timed", "nanosleep",  "clock_nanosleep",
                                        "usleep",    "pselect",    "timerfd"};
    enum { COUNT = sizeof names / sizeof names[0] };
    struct program programs[COUNT];
    char reports[COUNT][128];
    for (int i = 0; i < COUNT; i++) {
        snprintf(reports[i], sizeof reports[i], "%s/report.%d", test_folder(), i);
        programs[i] = program_start_watched(
            (const char *[]){"--stall", zoo_stall(), NULL}, reports[i],
            (const char *[]){program_built("zoo/zoo_waits"), names[i], zoo_ms(5000), "idle", NULL});
    }
    for (int i = 0; i < COUNT; i++) {
        struct zoo zoo = {0};
        CHECK_EQ(program_end(&programs[i], 60), 0);
        char *output = program_output(&programs[i]);
        zoo_read(&zoo, output, reports[i]);
        zoo_check_silent(&zoo, 50);
        zoo_done(&zoo);
        free(output);
    }
}

TIMED_TEST(condition_variable, 90)
{
    find_waits("cond", "condition");
    find_waits("cond_timed", "condition");
}

TIMED_TEST(condition_variable_of_the_cxx_library, 60)
{
    zoo_find(
        (const char *[]){program_built("zoo/zoo_stdcond"), "400", "burn", "sleep", "mutex", NULL},
        "condition");
}

TIMED_TEST(semaphore, 90)
{
    find_waits("sem", "semaphore");
    find_waits("sem_timed", "semaphore");
}

TIMED_TEST(sleeps, 90)
{
    find_waits("nanosleep", "pause");
    find_waits("clock_nanosleep", "pause");
}

TIMED_TEST(sleeps_by_other_calls, 90)
{
    find_waits("usleep", "pause");
    find_waits("pselect", "pause");
}

TIMED_TEST(timer_that_is_read, 60)
{
    find_waits("timerfd", "timer");
}

/* --- of runtimes --- */

TIMED_TEST(emacs_batch, 90)
{
    const char *script = program_source("zoo/emacs_loop.el");
    if (!program_on_path("emacs")) {
        SKIP("no emacs on PATH");
    }
    zoo_silent((const char *[]){"emacs", "--batch", "-Q", "-l", script, ZOO_IDLE, "idle", NULL},
               50);
    zoo_find((const char *[]){"emacs", "--batch", "-Q", "-l", script, "400", "burn", "child", NULL},
             "pause");
}

/* An interpreter's lock is a semaphore, too; one thread needs none. */
TIMED_TEST(python_queue_with_a_timeout, 90)
{
    const char *script = program_source("zoo/queue_loop.py");
    zoo_silent((const char *[]){"/usr/bin/python3", script, ZOO_IDLE, "idle", NULL}, 50);
    zoo_find((const char *[]){"/usr/bin/python3", script, "400", "sleep", "burn", "child", NULL},
             "semaphore");
}

/* --- what the end says --- */

static void check_end(const char *const options[], const char *const argv[], const char *text,
                      const char *other)
{
    char report[128];
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct test_run run = program_watch(options, report, argv, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, text);
    if (other != NULL) {
        CHECK_CONTAINS(run.err, other);
    }
    test_run_done(&run);
}

TIMED_TEST(end_says_what_was_watched, 60)
{
    const char *program = program_built("zoo/zoo_poll");
    const char *const options[] = {"--stall", zoo_stall(), NULL};
    check_end(options, (const char *[]){program, zoo_ms(1000), "idle", NULL},
              "sonde run: watched 1 loop, ", " 0 stalls\n");
    check_end(options, (const char *[]){program, zoo_ms(400), "sleep", NULL},
              "sonde run: watched 1 loop, ", " 1 stall\n");
}

TEST(end_says_why_nothing_was_watched)
{
    check_end(NULL, (const char *[]){"true", NULL}, "no event loop was found: no thread waited",
              NULL);
    check_end(
        NULL, (const char *[]){"sh", "-c", "sleep 0.1; true", NULL},
        "no event loop was found in 1 thread: it waited 1 time, mostly for children or threads "
        "to end; threads that wait only for work",
        NULL);
    check_end(
        NULL,
        (const char *[]){"/usr/bin/python3", "-c",
                         "import queue, threading, time\n"
                         "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
                         "for _ in range(30):\n"
                         "  try: queue.Queue().get(timeout=0.01)\n"
                         "  except queue.Empty: pass",
                         NULL},
        "mostly for locks of its language's runtime, which show no loop", NULL);
    check_end(NULL, (const char *[]){"sh", "-c", "exec sleep 0.1", NULL},
              "the program executed another one, which is watched too", NULL);
    check_end((const char *[]){"--no-follow", NULL},
              (const char *[]){"sh", "-c", "exec sleep 0.1", NULL},
              "the program executed another one, which is not watched (--no-follow)", NULL);
    check_end((const char *[]){"--follow", NULL},
              (const char *[]){"sh", "-c", "exec sleep 0.1", NULL},
              "the program executed another one, which is watched too", NULL);
}
