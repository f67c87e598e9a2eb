// SPDX-License-Identifier: Apache-2.0
/* `sonde run` of a loop that stalls on command. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static char sonde_path[512], loop_path[512], report_path[512];

static void set_paths(void)
{
    snprintf(sonde_path, sizeof sonde_path, "%s/cli/sonde", test_build_dir());
    snprintf(loop_path, sizeof loop_path, "%s/tests/integration/run/run_loop", test_build_dir());
    snprintf(report_path, sizeof report_path, "%s/report", test_folder());
}

/* "sleep:600" with the test's slack. */
static const char *turn_with_slack(const char *turn)
{
    static char texts[4][64];
    static unsigned next;
    char *text = texts[next++ % 4];
    const char *number = turn != NULL ? strchr(turn, ':') : NULL;
    if (number == NULL) {
        return turn;
    }
    snprintf(text, sizeof texts[0], "%.*s:%lu", (int)(number - turn), turn,
             strtoul(number + 1, NULL, 10) * test_slack());
    return text;
}

/* The stall limit: 250 ms, the default, with the test's slack. */
static const char *stall_option(void)
{
    static char text[32];
    snprintf(text, sizeof text, "--stall=%ums", 250 * test_slack());
    return text;
}

/* Run the loop under sonde with one or two turns. */
static struct test_run run_turns(const char *first, const char *second)
{
    set_paths();
    const char *argv[] = {
        sonde_path,  "run", "-v",      stall_option(),         "--report",
        report_path, "--",  loop_path, turn_with_slack(first), turn_with_slack(second),
        NULL};
    return test_run(argv, NULL, NULL, test_long() ? 680 : 60);
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        n++;
    }
    return n;
}

/* Decode the report by the published schema: "protoc --decode". Skips without protoc. */
static char *decode_report(void)
{
    char command[2048];
    snprintf(command, sizeof command,
             "protoc --decode=sonde.v1.Report -I%s/proto %s/proto/sonde/v1/report.proto < %s",
             test_source_dir(), test_source_dir(), report_path);
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    if (run.status == 127) {
        SKIP("no protoc");
    }
    CHECK_EQ(run.status, 0);
    free(run.err);
    return run.out;
}

static double field(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtod(at + strlen(name), NULL) : 0;
}

/* Sum of a field's values between two places. */
static double sum(const char *at, const char *end, const char *name)
{
    double total = 0;
    while ((at = strstr(at, name)) != NULL && at < end) {
        at += strlen(name);
        total += strtod(at, NULL);
    }
    return total;
}

/* Samples and listed parts without one are all of the stall. */
static void check_no_time_is_missing(const char *report)
{
    const char *stall = strstr(report, "  stalls {"), *end = strstr(stall, "\n  }");
    double ns = field(stall, " duration_ns: ");
    double covered = sum(stall, end, " weight_ns: ");
    double uncovered = sum(stall, end, " duration_ns: ") - ns;
    if (fabs(covered + uncovered - ns) > 1000) {
        FAIL("%.0f ns covered, %.0f not, of %.0f", covered, uncovered, ns);
    }
}

static void check_stall(const char *turn, const char *phase, const char *function)
{
    struct test_run run = run_turns(turn, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(count(run.err, "\nstall "), 1);
    char *report = decode_report();
    CHECK_EQ(count(report, "  stalls {"), 1);
    CHECK_EQ(count(report, "  end {"), 1);
    CHECK_CONTAINS(report, "loop: LOOP_POLL");
    CHECK_CONTAINS(report, phase);
    /* with a stack from the called function to the program's entry */
    CHECK_CONTAINS(run.err, "dominant path");
    CHECK_CONTAINS(strstr(run.err, "dominant path"), function);
    CHECK_CONTAINS(strstr(run.err, "heaviest app function"), function);
    CHECK_CONTAINS(strstr(run.err, function), "_start");
    CHECK(strstr(run.err, "libsonde-preload") == NULL);
    /* a begin without samples is listed with the thread's CPU time in it; where the thread is known
     * to have done the same all that time, there is none */
    bool listed = strstr(run.err, "before sampling began (") != NULL;
    CHECK_EQ(listed, strstr(report, "reason: UNCOVERED_BEFORE") != NULL);
    check_no_time_is_missing(report);
    double ms = field(report, "duration_ns: ") / 1e6;
    CHECK(ms > 550 * test_slack() && ms < 2000 * test_slack()); /* 600 asked for */
    free(report);
    test_run_done(&run);
}

TIMED_TEST(sleeping_stall, 60)
{
    check_stall("sleep:600", "PHASE_BLOCKED", "stall_sleep");
}

TIMED_TEST(burning_stall, 60)
{
    check_stall("burn:600", "PHASE_RUNNING", "stall_burn");
}

TIMED_TEST(running_threads_are_left_alone, 60)
{
    set_paths();
    const char *argv[] = {
        sonde_path, "run", stall_option(), "--sampler=none", loop_path, turn_with_slack("burn:600"),
        NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(count(run.err, "\nstall "), 1);
    CHECK_CONTAINS(run.err, "(passive, running threads not at all)");
    test_run_done(&run);
}

TIMED_TEST(wait_on_something_else_is_a_stall, 60)
{
    check_stall("poll:600", "PHASE_BLOCKED", "stall_poll");
}

/* The child's waits do not count for the parent's thread. */
TIMED_TEST(stall_in_vfork, 60)
{
    static const char *const ways[] = {"once", "often", "sleeps"};
    char program[600], ms[32];
    set_paths();
    snprintf(program, sizeof program, "%s/tests/integration/run/run_vforks", test_build_dir());
    snprintf(ms, sizeof ms, "%u", 700 * test_slack());
    for (unsigned i = 0; i < 3; i++) {
        const char *argv[] = {sonde_path, "run", "-v", stall_option(), "--", program,
                              ways[i],    ms,    NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 0);
        CHECK_EQ(count(run.err, "\nstall "), 1);
        CHECK_CONTAINS(run.err, "vfork");
        CHECK(strstr(run.err, "libsonde-preload") == NULL);
        test_run_done(&run);
    }
}

TIMED_TEST(idle_loop_is_no_stall, 700)
{
    struct test_run run = run_turns(test_long() ? "idle:600000" : "idle:4000", NULL);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}

TIMED_TEST(short_turns_are_none, 60)
{
    struct test_run run = run_turns("sleep:100", "burn:100");
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}

TIMED_TEST(busy_thread_beside_an_idle_loop_is_no_stall, 60)
{
    struct test_run run = run_turns("thread:700", NULL);
    CHECK_EQ(count(run.err, "\nstall "), 0);
    test_run_done(&run);
}

TIMED_TEST(stall_after_a_long_sleep_is_found, 60)
{
    struct test_run run = run_turns("idle:3500", "sleep:600");
    CHECK_EQ(count(run.err, "\nstall "), 1);
    test_run_done(&run);
}

/* Pauses that are no poll get the test's slack, as the turns do. */
static void pause_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* The program stops itself inside a turn; stopped time does not count. */
TIMED_TEST(being_stopped_is_no_stall, 60)
{
    set_paths();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen(report_path, "w", stderr) == NULL) {
            _exit(99);
        }
        (void)!freopen("/dev/null", "w", stdout);
        execl(sonde_path, "sonde", "run", "--quiet", stall_option(), "--", loop_path, "stop",
              "stop", "stop", NULL);
        _exit(99);
    }
    int status = 0;
    for (int stops = 0; stops < 3; stops++) {
        CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
        CHECK(WIFSTOPPED(status));
        pause_ms(700 * test_slack());
        kill(child, SIGCONT);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pause_ms(200 * test_slack());
    char *text = test_read_file(report_path, NULL);
    CHECK_STR(text, "");
    free(text);
}

TIMED_TEST(report_of_a_killed_program_is_kept, 60)
{
    set_paths();
    char command[2048];
    snprintf(command, sizeof command,
             "%s run --report %s -- %s burn:%u & p=$!; sleep %u.5; "
             "kill -KILL $p; wait $p; echo $?; sleep %u",
             sonde_path, report_path, loop_path, 30000 * test_slack(), test_slack(), test_slack());
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    CHECK_CONTAINS(run.out, "137");
    char *report = decode_report();
    CHECK_EQ(count(report, "  stalls {"), 1);
    CHECK_CONTAINS(report, test_kernel_is(6, 15) ? "fatal: true" : "stalls {");
    free(report);
    test_run_done(&run);
}

/* The supervisor's pid, from the output of --verbose: "supervisor N watches". */
static pid_t supervisor_of(const char *path)
{
    for (int i = 0; i < 1000; i++) {
        char *text = test_read_file(path, NULL);
        const char *at = strstr(text, "supervisor ");
        pid_t pid = at != NULL && strchr(at, '\n') != NULL ? atoi(at + 11) : 0;
        free(text);
        if (pid > 0) {
            return pid;
        }
        pause_ms(20);
    }
    FAIL("no supervisor in %s", path);
}

static pid_t start_watched(const char *turn)
{
    set_paths();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen(report_path, "w", stderr) == NULL ||
            freopen("/dev/null", "w", stdout) == NULL) {
            _exit(99);
        }
        execl(sonde_path, "sonde", "run", "-v", "--", loop_path, turn_with_slack(turn), NULL);
        _exit(99);
    }
    for (int i = 0; i < 1000 && access(report_path, R_OK) != 0; i++) {
        pause_ms(20);
    }
    return child;
}

static long switches_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    char *text = test_read_file(path, NULL);
    const char *at = strstr(text, "\nvoluntary_ctxt_switches:");
    long n = at != NULL ? strtol(at + 25, NULL, 10) : -1;
    free(text);
    return n;
}

TIMED_TEST(idle_program_costs_the_supervisor_no_wake_up, 60)
{
    int status;
    pid_t child = start_watched("idle:8000");
    pid_t supervisor = supervisor_of(report_path);
    pause_ms(3500 * test_slack()); /* the supervisor sleeps after two idle seconds */
    long before = switches_of(supervisor);
    pause_ms(2000 * test_slack());
    CHECK_EQ(switches_of(supervisor), before);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

TIMED_TEST(quit_to_the_supervisor_prints_all_stacks_now, 60)
{
    int status;
    pid_t child = start_watched("idle:3000");
    pid_t supervisor = supervisor_of(report_path);
    pause_ms(500 * test_slack());
    kill(supervisor, SIGQUIT);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pause_ms(300 * test_slack());
    char *text = test_read_file(report_path, NULL);
    CHECK_CONTAINS(text, "main+");
    CHECK(strstr(text, "[inferred]") == NULL); /* the probe keeps stacks readable by CFI alone */
    CHECK_CONTAINS(text, "_start");
    free(text);
}

/* Nine equal stalls of which two are reported, and a last one that is twice as long. */
TIMED_TEST(equal_stalls_are_counted, 200)
{
    set_paths();
    const char *argv[32] = {sonde_path, "run",       stall_option(), "--equal=2",
                            "--report", report_path, "--",           loop_path};
    unsigned n = 8;
    char sleep[32], last[32];
    snprintf(sleep, sizeof sleep, "sleep:%u", 400 * test_slack());
    snprintf(last, sizeof last, "sleep:%u", 1000 * test_slack());
    for (unsigned i = 0; i < 9; i++) {
        argv[n++] = sleep;
        argv[n++] = "idle:20";
    }
    argv[n++] = last;
    struct test_run run = test_run(argv, NULL, NULL, 190);
    CHECK_EQ(count(run.err, "\nstall "), 3);
    CHECK_EQ(count(run.err, " again: "), 7);
    CHECK_CONTAINS(run.err, "9 times by now");
    CHECK_CONTAINS(run.err, ", 10 stalls\n");
    test_run_done(&run);
    const char *const show[] = {sonde_path, "show", report_path, NULL};
    run = test_run(show, NULL, NULL, 60);
    CHECK_CONTAINS(run.out, "\n7 more stalls equal to stall 3, only counted: all 10 lasted ");
    CHECK_CONTAINS(run.out, "\n10 stalls (7 only counted) in ");
    test_run_done(&run);
}

/* Turns below the stall limit, and the frames that they miss. The machine may lengthen turns. */
TIMED_TEST(long_turns_are_counted, 100)
{
    set_paths();
    char turn[32];
    unsigned long frames = 0, ms = 120ul * test_slack();
    snprintf(turn, sizeof turn, "sleep:%lu", ms);
    const char *const argv[] = {sonde_path,  "run",     stall_option(), "--fps=60", "--report",
                                report_path, "--",      loop_path,      turn,       "idle:20",
                                turn,        "idle:20", turn,           "idle:20",  NULL};
    struct test_run run = test_run(argv, NULL, NULL, 90);
    const char *line = strstr(run.err, "long turns: ");
    CHECK(line != NULL);
    char *said = strndup(line, strcspn(line, "\n"));
    const char *at = strstr(said, "; ");
    CHECK(at != NULL && sscanf(at, "; %lu frames dropped at 60 a second", &frames) == 1);
    CHECK(frames >= 3 * (ms * 60 / 1000 - 1)); /* the probe's clock has steps of 10 ms at most */
    test_run_done(&run);
    const char *const show[] = {sonde_path, "show", report_path, NULL};
    run = test_run(show, NULL, NULL, 60);
    CHECK_CONTAINS(run.out, said);
    free(said);
    test_run_done(&run);
}

static struct test_run run_launch(const char *limit, const char *first, const char *second)
{
    set_paths();
    const char *const argv[] = {sonde_path, "run",     limit, "--json", report_path,
                                "--",       loop_path, first, second,   NULL};
    return test_run(argv, NULL, NULL, 90);
}

/* The launch report has the program's work before its loop, and nothing of the loop. */
TIMED_TEST(a_slow_launch_is_reported, 100)
{
    char start[32], limit[32];
    snprintf(start, sizeof start, "start:%u", 900 * test_slack());
    snprintf(limit, sizeof limit, "--launch=%ums", 600 * test_slack());
    struct test_run run = run_launch(limit, start, "idle:100");
    CHECK_CONTAINS(run.err, "\nlaunch stall 1: ");
    CHECK_CONTAINS(run.err, "\n  at launch, main blocked ");
    CHECK_CONTAINS(run.err, " in clock_nanosleep under stall_sleep");
    test_run_done(&run);
    char *json = test_read_file(report_path, NULL);
    const char *at = strstr(json, "\"duration_ns\": ");
    CHECK(at != NULL);
    unsigned long long ns = strtoull(at + strlen("\"duration_ns\": "), NULL, 10);
    CHECK(ns >= 890000000ull * test_slack()); /* the true time, less one step of the clock */
    CHECK_CONTAINS(json, "\"kind\": \"launch\"");
    free(json);
}

/* The launch ends at the loop's first wait, not when the loop is learned: here after three idle
 * waits. */
TIMED_TEST(a_quick_launch_is_not_reported, 100)
{
    char program[256], limit[32];
    set_paths();
    snprintf(limit, sizeof limit, "--launch=%ums", 1000 * test_slack());
    snprintf(program, sizeof program,
             "import os, select\n"
             "r, w = os.pipe()\n"
             "for i in range(6): select.select([r], [], [], 0.5 * %u)\n",
             test_slack());
    const char *const idle[] = {sonde_path,         "run", limit,   "--",
                                "/usr/bin/python3", "-c",  program, NULL};
    struct test_run run = test_run(idle, NULL, NULL, 90);
    CHECK(strstr(run.err, "launch stall") == NULL);
    CHECK_CONTAINS(run.err, "watched 1 loop, ");
    CHECK_CONTAINS(run.err, ", 0 stalls\n");
    test_run_done(&run);
    const char *const none[] = {sonde_path, "run", "--launch=50ms", "--", "sleep", "0.3", NULL};
    run = test_run(none, NULL, NULL, 60); /* no loop, no launch */
    CHECK(strstr(run.err, "launch stall") == NULL);
    test_run_done(&run);
}

/* After main returned, a handler of exit() takes time. */
TIMED_TEST(a_slow_exit_is_reported, 60)
{
    struct test_run run = run_turns("exit:600", "idle:20");
    CHECK_CONTAINS(run.err, "\nexit stall 1: ");
    CHECK_CONTAINS(run.err, ", until the program ended  thread ");
    CHECK_CONTAINS(run.err, "\n  at exit, main blocked ");
    CHECK_CONTAINS(run.err, " under stall_sleep");
    CHECK_CONTAINS(run.err, ", 1 stall\n");
    test_run_done(&run);
    run = run_turns("sleep:600", "idle:20"); /* not every stall */
    CHECK_CONTAINS(run.err, "\nstall 1: ");
    CHECK(strstr(run.err, "exit stall") == NULL);
    test_run_done(&run);
}

/* A stall is named after the script's function, with file and line, its task and the tasks that
 * await that. The interpreter's own functions are hidden. */
TIMED_TEST(a_stall_of_python_names_its_function, 60)
{
    char path[512], stall[32], script[1024], line[640];
    if (access("/usr/bin/python3", X_OK) != 0) {
        SKIP("no python3");
    }
    set_paths();
    snprintf(path, sizeof path, "%s/orders.py", test_folder());
    snprintf(script, sizeof script,
             "import asyncio, time\n"
             "class Orders:\n"
             "    def commit(self):\n"
             "        time.sleep(0.6 * %u)\n"
             "async def take_order(orders):\n"
             "    for i in range(10): await asyncio.sleep(0.02)\n"
             "    orders.commit()\n"
             "async def serve():\n"
             "    await asyncio.create_task(take_order(Orders()), name='order 7')\n"
             "asyncio.run(serve())\n",
             test_slack());
    test_write_file(path, script, strlen(script));
    snprintf(stall, sizeof stall, "--stall=%ums", 300 * test_slack());
    const char *const argv[] = {sonde_path, "run", stall, "--", "/usr/bin/python3", path, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 50);
    CHECK_CONTAINS(run.err, " in clock_nanosleep under Orders.commit (orders.py:4)\n");
    CHECK_CONTAINS(run.err, "\n  heaviest app function  Orders.commit orders.py:4  ");
    CHECK_CONTAINS(run.err, "← Orders.commit orders.py:4 ← take_order orders.py:7 ← ");
    snprintf(line, sizeof line, "%s:4  [Python]\n", path);
    CHECK_CONTAINS(run.err, line);
    snprintf(line, sizeof line, "%s:7  [Python]  [task order 7]\n", path);
    CHECK_CONTAINS(run.err, line);
    snprintf(line, sizeof line, "\n    awaited by\n    #0  serve   %s:9  [Python]  [task Task-1]\n",
             path);
    CHECK_CONTAINS(run.err, line);
    CHECK(strstr(run.err, "_PyEval_EvalFrameDefault") == NULL);
    test_run_done(&run);
}

/* Frames of a function with a name of a hundred characters: whole in a pipe, cut on a terminal. */
TIMED_TEST(stalls_are_fitted_to_a_terminal, 120)
{
    static const char script[] =
        "cd $FOLDER && name=stall_$(printf %0100d 7) && "
        "sed \"s/stall_sleep/$name/g\" $SOURCE/loop.c >long.c && cc -O1 long.c -o long -pthread && "
        "run=\"$SONDE run $STALL -- ./long idle:100 $SLEEP idle:100\" && "
        "script -qc \"stty cols 80; $run\" /dev/null </dev/null | sed 's/\\r//; "
        "s/\\x1b\\[[0-9;]*m//g' >fitted; "
        "$run 2>piped >/dev/null; echo whole: $(grep -c \"^ *#.* $name+0x\" piped); "
        "grep '^ *#[0-9]' fitted | while IFS= read -r line; do "
        "echo \"frame: $line\"; [ ${#line} -le 80 ] || echo \"too wide: $line\"; done; "
        "grep '[^ ] [^ ]' fitted | while IFS= read -r line; do "
        "[ ${#line} -le 80 ] || echo \"too wide: $line\"; done";
    char command[2048];
    set_paths();
    snprintf(command, sizeof command,
             "export LC_ALL=C.UTF-8 FOLDER='%s' SOURCE='%s/tests/integration/run' SONDE='%s' "
             "STALL=%s SLEEP=%s; %s",
             test_folder(), test_source_dir(), sonde_path, stall_option(),
             turn_with_slack("sleep:900"), script);
    struct test_run run = test_run((const char *[]){"bash", "-c", command, NULL}, NULL, NULL, 100);
    CHECK_CONTAINS(run.out, "whole: ");
    CHECK(strstr(run.out, "whole: 0") == NULL);
    CHECK_CONTAINS(run.out, "  stall_0");
    CHECK_CONTAINS(run.out, "0\xe2\x80\xa6");
    CHECK(count(run.out, "frame: ") >= 4);
    if (strstr(run.out, "too wide: ") != NULL) {
        FAIL("wider than 80 columns: %s", run.out);
    }
    test_run_done(&run);
}

/* libfaketime gives libc's clocks another time, also those of sonde. */
TEST(clocks_that_a_library_changed)
{
    char library[600];
#ifdef SONDE_SANITIZED
    SKIP("a sanitizer's runtime must be the first library");
#endif
    set_paths();
    snprintf(library, sizeof library, "LD_PRELOAD=%s/tests/integration/run/librun_other_clock.so",
             test_build_dir());
    const char *argv[] = {sonde_path, "run",     stall_option(), "--",
                          loop_path,  "idle:20", "idle:20",      "idle:20",
                          "idle:20",  "idle:20", "idle:20",      turn_with_slack("sleep:600"),
                          "idle:20",  NULL};
    const char *env[] = {library, NULL};
    struct test_run run = test_run(argv, env, NULL, 60);
    CHECK_EQ(count(run.err, "\nstall "), 1);
    CHECK_CONTAINS(run.err,
                   test_slack() == 1 ? "long turns: 1 of 500 ms to 1.00 s\n" : ", 1 stall");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    const char *inside[] = {sonde_path,
                            "run",
                            stall_option(),
                            "--",
                            "env",
                            library,
                            loop_path,
                            "idle:20",
                            "idle:20",
                            "idle:20",
                            "idle:20",
                            "idle:20",
                            "idle:20",
                            turn_with_slack("exit:600"),
                            NULL};
    run = test_run(inside, NULL, NULL, 60);
    CHECK_CONTAINS(run.err, ", 1 stall");
    CHECK_CONTAINS(run.err, "until the program ended");
    test_run_done(&run);
}
