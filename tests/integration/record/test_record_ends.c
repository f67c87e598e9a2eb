// SPDX-License-Identifier: Apache-2.0
/* The rest of a record after its program, or its supervisor, was killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

static char list[512], report[512];

static void make_list(const char *text)
{
    if (!program_on_path("perl")) {
        SKIP("perl is not installed");
    }
    snprintf(list, sizeof list, "%s/list", test_folder());
    snprintf(report, sizeof report, "%s/report", test_folder());
    test_write_file(list, text, strlen(text));
}

static struct test_run run_shell(const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    return test_run(argv, NULL, NULL, 120);
}

/* The command returns when the program ends; the next command reads the report. */
TEST(report_is_whole_when_it_is_read)
{
    static const char *const ends[] = {"POSIX::_exit(3)", "POSIX::abort()", "kill 9, $$",
                                       "kill 15, $$",     "exec q(true)",   "syscall(231, 0)"};
    char script[2048];
    make_list("getppid\n");
    for (unsigned i = 0; i < 6 * 3; i++) {
        snprintf(script, sizeof script,
                 "(%s run --record %s --report %s -- perl -MPOSIX -e "
                 "'for (1..7) { getppid() } %s' 2>/dev/null) 2>/dev/null; %s show %s",
                 program_sonde(), list, report, ends[i % 6], program_sonde(), report);
        struct test_run run = run_shell(script);
        CHECK_EQ(run.status, 0);
        CHECK_CONTAINS(run.out, "\ngetppid  7 calls from 1 stack\n");
        test_run_done(&run);
    }
}

/* Kill the supervisor while the program waits, then let the program go on. `sed` gets the
 * supervisor's pid from the output of --verbose. */
static const char kill_supervisor[] =
    "cd %s; rm -f go err report; mkfifo go; "
    "%s run -v --record list --report report -- perl -e '"
    "for (1..3) { getppid() } open(F, q(<), q(go)); <F>; for (1..4) { getppid() } %s' 2>err & "
    "run=$!; "
    "while ! grep -q 'watches process' err; do sleep 0.02; done; "
    "kill -9 $(sed -n 's/.*supervisor \\([0-9]*\\) watches.*/\\1/p' err | head -1); "
    "echo > go; wait $run; "
    "%s show report";

/* The program goes on counting in the shared memory; a standby process reads it. */
TEST(counts_outlive_the_supervisor)
{
    static const char *const ends[] = {"", "kill 9, $$", "exit 3"};
    char script[2048];
    make_list("getppid\n");
    for (unsigned i = 0; i < 3; i++) {
        snprintf(script, sizeof script, kill_supervisor, test_folder(), program_sonde(), ends[i],
                 program_sonde());
        struct test_run run = run_shell(script);
        CHECK_EQ(run.status, 0);
        CHECK_CONTAINS(run.out, "\ngetppid  7 calls from ");
        CHECK_CONTAINS(run.out, "the supervisor was ended by signal 9; another one takes over");
        test_run_done(&run);
    }
}

/* The standby process begins the report anew, and the command may have returned by then. */
TEST(a_report_that_is_begun_anew_is_awaited)
{
    static const char text[] =
        "cd %s; rm -f locked; %s run --record list --report whole -- true 2>/dev/null; : > begun; "
        "flock begun sh -c 'echo > locked; sleep 0.5; cat whole > begun' & "
        "until [ -e locked ]; do sleep 0.02; done; %s show begun; status=$?; wait; exit $status";
    char script[2048];
    make_list("getppid\n");
    snprintf(script, sizeof script, text, test_folder(), program_sonde(), program_sonde());
    struct test_run run = run_shell(script);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

/* Counts are printed while the program runs; it goes on. */
TEST(counts_so_far_on_sigquit)
{
    static const char text[] =
        "cd %s; rm -f go err; mkfifo go; "
        "%s run -v --record list -- perl -e '"
        "for (1..3) { getppid() } open(F, q(<), q(go)); <F>; for (1..4) { getppid() }' 2>err & "
        "run=$!; "
        "while ! grep -q 'watches process' err; do sleep 0.02; done; "
        "until grep -q '^getppid  3 calls' err; do "
        "kill -QUIT $(sed -n 's/.*supervisor \\([0-9]*\\) watches.*/\\1/p' err | head -1); "
        "sleep 0.3; done; "
        "echo > go; wait $run; echo status $?; cat err";
    char script[2048];
    make_list("getppid\n");
    snprintf(script, sizeof script, text, test_folder(), program_sonde());
    struct test_run run = run_shell(script);
    CHECK_CONTAINS(run.out, "status 0\n");
    CHECK_CONTAINS(run.out, "\ngetppid  3 calls from 1 stack\n");
    CHECK_CONTAINS(run.out, "\ngetppid  7 calls from ");
    test_run_done(&run);
}

/* sonde starts a program under glibc's loader to list its libraries. A program of another loader,
 * or of none, would really run, so sonde does not do this then. */
TEST(a_static_program_runs_once)
{
    char script[1400];
    size_t size;
    snprintf(script, sizeof script,
             "cd %s && printf 'open*\\nread\\n' >list && ONCE_FILE=ran %s run --record list -- "
             "'%s/tests/integration/record/once'",
             test_folder(), program_sonde(), test_build_dir());
    struct test_run run = run_shell(script);
    CHECK_CONTAINS(run.err, "static");
    test_run_done(&run);
    snprintf(script, sizeof script, "%s/ran", test_folder());
    free(test_read_file(script, &size));
    CHECK_EQ(size, 1);
}

/* A thread may hold the loader's lock when the recorder interrupts it; the thread for which the
 * recorder waits may want that lock. */
TEST_TIMEOUT(no_lock_of_the_loader_is_waited_for_for_ever, 120)
{
    char script[1400];
    make_list("getppid\n");
    snprintf(script, sizeof script,
             "%s run --record %s -- '%s/tests/integration/record/loader_lock'", program_sonde(),
             list, test_build_dir());
    struct test_run run = run_shell(script);
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.out, "ended\n");
    CHECK_CONTAINS(run.err, "\ngetppid  3 calls from 1 stack\n");
    test_run_done(&run);
}
