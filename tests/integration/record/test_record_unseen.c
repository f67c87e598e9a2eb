// SPDX-License-Identifier: Apache-2.0
/* By default the recorder reports what a record cannot hold: processes that the program makes,
 * programs that replace it, and for each function the calls that may be missing. */
#include <stdio.h>
#include <string.h>

#include "programs.h"

static struct test_run record(const char *list, const char *way)
{
    char script[1400];
    snprintf(script, sizeof script,
             "cd %s && printf '%s' >list && %s run --record list -- "
             "'%s/tests/integration/record/unseen' %s",
             test_folder(), list, program_sonde(), test_build_dir(), way);
    const char *argv[] = {"sh", "-c", script, NULL};
    return test_run(argv, NULL, NULL, 60);
}

static void check_says(const char *way, const char *text)
{
    struct test_run run = record("getppid\\n", way);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, text);
    CHECK_CONTAINS(run.err, "\ngetppid  1 call from 1 stack\n");
    test_run_done(&run);
}

TEST(processes_that_are_made)
{
    static const char *const ways[] = {"fork",  "vfork",       "clone-number", "clone3-number",
                                       "popen", "posix_spawn", "system",       "forkpty"};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        check_says(ways[i], "1 call made a process");
    }
}

/* Nobody sees the call: the recorder finds it in the code. */
TEST(processes_that_are_made_by_an_instruction)
{
    check_says("own-clone", "/unseen: system call clone of its own, at by_own_clone+0x");
    check_says("own-clone", ": a process that it makes is neither counted nor recorded");
    check_says("own-exec", "/unseen: system call execve of its own, at by_own_exec+0x");
    check_says("own-exec", ": a program that it executes is not recorded");
}

TEST(processes_that_are_made_while_blocks_are_recorded)
{
    const char *argv[] = {program_sonde(), "run", "--blocks", "--", program_built("record/unseen"),
                          "fork",          NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "1 call made a process");
    test_run_done(&run);
}

/* The program is the child then. */
TEST(a_program_that_becomes_a_daemon)
{
    check_says("daemon", "1 call made a process");
}

TEST(programs_that_take_its_place)
{
    check_says("exec", "1 call of exec");
    check_says("exec-number", "1 call of exec");
}

/* Where the calls went that are missing. The shell tries several paths. An executed program does
 * not wait for the supervisor, whose last lines may come later. */
TIMED_TEST(the_program_that_takes_its_place_is_named, 90)
{
    static const char text[] =
        "cd %s && printf 'getppid\\n' >list && s=$(readlink -f $(command -v sleep)); "
        "await() { for i in $(seq 100); do grep \"$1\" $2 && return; sleep 0.1; done; cat $2; }; "
        "%s run --record list -- sh -c 'sleep 1; exec sleep 2' 2>calls; "
        "await \"executed another one, whose calls are not recorded: $s\" calls; "
        "grep 'calls of exec, with failed ones: calls of the new program' calls; "
        "%s run --blocks -- sh -c 'sleep 1; exec sleep 2' 2>blocks; "
        "await \"executed another one, whose blocks are not recorded: $s\" blocks";
    char script[2000];
    snprintf(script, sizeof script, text, test_folder(), program_sonde(), program_sonde());
    struct test_run run = test_run((const char *[]){"sh", "-c", script, NULL}, NULL, NULL, 80);
    CHECK_CONTAINS(run.out, "calls are not recorded: /");
    CHECK_CONTAINS(run.out, "blocks are not recorded: /");
    CHECK_CONTAINS(run.out, " calls of exec, with failed ones: ");
    test_run_done(&run);
}

TEST(nothing_is_said_of_other_system_calls)
{
    struct test_run run = record("getppid\\n", "nothing");
    CHECK_EQ(run.status, 0);
    CHECK(strstr(run.err, "made a process") == NULL);
    CHECK(strstr(run.err, "of exec") == NULL);
    test_run_done(&run);
    const char *argv[] = {"sh", "-c", NULL, NULL};
    char script[900];
    snprintf(script, sizeof script, "cd %s && %s run --record list -- /bin/true", test_folder(),
             program_sonde());
    argv[2] = script;
    run = test_run(argv, NULL, NULL, 60);
    CHECK_CONTAINS(run.err, "0 calls of 1 function recorded");
    CHECK(strstr(run.err, "of its own") == NULL);
    test_run_done(&run);
}

/* Each count has a note on the calls that it may lack, and no note on other functions. */
TEST(possibly_missing_calls_of_each_function)
{
    struct test_run run = record("getppid\\nno_such_function\\nenviron\\n", "nothing");
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "\ngetppid  1 call from 1 stack\n"
                            "  may be missing: direct calls inside ");
    CHECK_CONTAINS(run.err, "\nno_such_function  0 calls\n"
                            "  may be missing: all, if the program has one: ");
    CHECK_CONTAINS(run.err, "\nenviron  0 calls\n"
                            "  may be missing: all, if there are any: it is a variable, ");
    test_run_done(&run);
}
