// SPDX-License-Identifier: Apache-2.0
/* Only stalls are reported: not idle loops, a stopped or debugged process, main loops inside
 * callbacks, or the time before the loop turns. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "zoo.h"

static void silent(const char *const argv[], unsigned turns)
{
    struct zoo zoo;
    zoo_run(&zoo, argv, 60);
    zoo_check_silent(&zoo, turns);
    zoo_done(&zoo);
}

/* All at the same time, for ten minutes under --long. */
TIMED_TEST(idle_programs, 700)
{
    enum { PROGRAMS = 9 };
    static const char *const names[PROGRAMS] = {
        "zoo_glib",        "zoo_uv",           "zoo_event",    "zoo_poll",    "zoo_fork",
        "asyncio_loop.py", "select_server.py", "node_loop.js", "tcl_loop.tcl"};
    struct program programs[PROGRAMS];
    char reports[PROGRAMS][128];
    const char *duration = test_long() ? zoo_ms(600000) : zoo_ms(8000);
    bool node = program_on_path("node");
    for (int i = 0; i < PROGRAMS; i++) {
        char path[128];
        const char *interpreter = i < 5   ? NULL
                                  : i < 7 ? "/usr/bin/python3"
                                  : i < 8 ? "node"
                                          : "tclsh";
        const char *argv[5] = {interpreter, NULL, duration, "idle", NULL};
        snprintf(path, sizeof path, "zoo/%s", names[i]);
        snprintf(reports[i], sizeof reports[i], "%s/report.%d", test_folder(), i);
        argv[1] = interpreter == NULL ? program_built(path) : program_source(path);
        if (i != 7 || node) {
            programs[i] =
                program_start_watched(NULL, reports[i], interpreter != NULL ? argv : argv + 1);
        }
    }
    for (int i = 0; i < PROGRAMS; i++) {
        struct zoo zoo = {0};
        if (i == 7 && !node) {
            continue;
        }
        CHECK_EQ(program_end(&programs[i], test_long() ? 660 : 50), 0);
        char *output = program_output(&programs[i]);
        zoo_read(&zoo, output, reports[i]);
        zoo_check_silent(&zoo, 50);
        zoo_done(&zoo);
        free(output);
    }
}

/* Other waits than the loop's own are for the user, in read(), select() and poll(). A read of a
 * pipe is a stall. */
static void check_shown(const char *text)
{
    char report[128];
    snprintf(report, sizeof report, "%s/report", test_folder());
    struct test_run show =
        test_run((const char *[]){program_sonde(), "show", report, NULL}, NULL, NULL, 60);
    CHECK_CONTAINS(show.out, text);
    test_run_done(&show);
}

TIMED_TEST(dialogue_with_a_user, 60)
{
    const char *const terminal[] = {program_built("zoo/zoo_terminal"), "700", NULL};
    const char *const pipe[] = {program_built("zoo/zoo_terminal"), "700", "pipe", NULL};
    struct zoo zoo;
    silent(terminal, 30);
    check_shown("input of a terminal, away from their own wait, for ");
    zoo_run(&zoo, pipe, 60);
    check_shown("in read (fd ");
    check_shown("under dialogue");
    zoo_done(&zoo);
}

TIMED_TEST(nested_main_loops, 60)
{
    silent((const char *[]){program_built("zoo/zoo_glib"), "3000", "idle", "nested", NULL}, 50);
    silent((const char *[]){"/usr/bin/python3", program_source("zoo/asyncio_loop.py"), "400",
                            "nested", NULL},
           30);
}

TIMED_TEST(time_before_the_loop, 60)
{
    silent((const char *[]){program_built("zoo/zoo_glib"), "700", "late", NULL}, 20);
    silent((const char *[]){"/usr/bin/python3", program_source("zoo/asyncio_loop.py"), "700",
                            "late", NULL},
           10);
}

/* The main thread waits for the interpreter's lock, which is no loop, then for its threads. */
TIMED_TEST(lock_of_an_interpreter, 60)
{
    silent((const char *[]){"/usr/bin/python3", "-c",
                            "import threading, time\n"
                            "def burn():\n"
                            "    end = time.monotonic() + 0.6\n"
                            "    while time.monotonic() < end: pass\n"
                            "threads = [threading.Thread(target=burn) for _ in range(2)]\n"
                            "for t in threads: t.start()\n"
                            "for i in range(300000): pass\n"
                            "for t in threads: t.join()\n"
                            "time.sleep(0.5)\n",
                            NULL},
           0);
}

/* bash executes its last command in its own process: then no program owns its page of turns. */
TIMED_TEST(loop_that_executes_another_program, 60)
{
    silent((const char *[]){"bash", "-c",
                            "for i in $(seq 9); do read -t 0.02 x </dev/zero; done; sleep 0.8",
                            NULL},
           3);
}

/* The learned loop only read children's output, or was an event loop that is closed: its descriptor
 * is gone, and the thread keeps nobody waiting. */
TIMED_TEST(loop_that_is_over, 60)
{
    silent((const char *[]){"/usr/bin/python3", "-c",
                            "import subprocess, time\n"
                            "for i in range(5):\n"
                            "    subprocess.run('echo a; sleep 0.01; echo b >&2; sleep 0.01', "
                            "shell=True, capture_output=True)\n"
                            "time.sleep(1)\n"
                            "with open('/etc/passwd') as f, open('/etc/group') as g:\n"
                            "    time.sleep(1)\n",
                            NULL},
           3);
    silent((const char *[]){"/usr/bin/python3", "-c",
                            "import asyncio, time\n"
                            "async def main():\n"
                            "    for i in range(20): await asyncio.sleep(0.01)\n"
                            "asyncio.run(main())\n"
                            "time.sleep(1)\n",
                            NULL},
           10);
}

TIMED_TEST(children_of_a_shell, 60)
{
    struct zoo zoo;
    CHECK(!zoo_run_followed(&zoo,
                            (const char *[]){"/usr/bin/python3",
                                             program_source("zoo/asyncio_loop.py"), "600", "idle",
                                             "nested", NULL},
                            60));
    CHECK(!zoo_run_followed(
        &zoo, (const char *[]){program_built("zoo/zoo_glib"), "600", "idle", "nested", NULL}, 60));
}

static void start(struct program *program, const char *const argv[], char *report)
{
    snprintf(report, 128, "%s/report", test_folder());
    *program = program_start_watched((const char *[]){"--stall", zoo_stall(), NULL}, report, argv);
    program_await(program, "started", 20);
    program_pause_ms(500);
}

static void end(struct program *program, struct zoo *zoo, const char *report)
{
    *zoo = (struct zoo){0};
    CHECK_EQ(program_end(program, 40), 0);
    char *output = program_output(program);
    zoo_read(zoo, output, report);
    free(output);
}

static void stop_often(struct program *program, int times)
{
    for (int i = 0; i < times; i++) {
        kill(program->pid, SIGSTOP);
        program_pause_ms(400 * test_slack());
        kill(program->pid, SIGCONT);
        program_pause_ms(200 * test_slack());
    }
}

TIMED_TEST(stopped_and_continued, 60)
{
    struct program program;
    struct zoo zoo;
    char report[128];
    start(&program, (const char *[]){program_built("zoo/zoo_glib"), zoo_ms(9000), "work", NULL},
          report);
    stop_often(&program, 12);
    end(&program, &zoo, report);
    zoo_check_silent(&zoo, 50);
    zoo_done(&zoo);
}

/* One true stall in between is still found. */
TIMED_TEST(stopped_and_continued_around_a_stall, 60)
{
    struct program program;
    struct zoo zoo;
    char report[128];
    start(&program,
          (const char *[]){program_built("zoo/zoo_glib"), zoo_ms(3000), "idle", "sleep", NULL},
          report);
    stop_often(&program, 4);
    program_await(&program, "injected inject_sleep", 30);
    end(&program, &zoo, report);
    zoo_check_stalls(&zoo, NULL);
    zoo_done(&zoo);
}

TIMED_TEST(debugger, 60)
{
    struct program program;
    struct zoo zoo;
    char report[128];
    char pid[16];
    start(&program, (const char *[]){program_built("zoo/zoo_glib"), zoo_ms(8000), "work", NULL},
          report);
    snprintf(pid, sizeof pid, "%d", (int)program.pid);
    struct test_run gdb = test_run((const char *[]){"gdb", "-nx", "-batch", "-p", pid, "-ex", "bt",
                                                    "-ex", "shell sleep 1", NULL},
                                   NULL, NULL, 60);
    CHECK_CONTAINS(gdb.out, "main");
    test_run_done(&gdb);
    end(&program, &zoo, report);
    zoo_check_silent(&zoo, 50);
    zoo_done(&zoo);
}
