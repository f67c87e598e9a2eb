// SPDX-License-Identifier: Apache-2.0
/* What a record cannot hold is said by default: processes that the program makes, programs that
 * take its place, and of each function the calls that may be missing. */
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

TEST(nothing_is_said_of_other_system_calls)
{
    struct test_run run = record("getppid\\n", "nothing");
    CHECK_EQ(run.status, 0);
    CHECK(strstr(run.err, "made a process") == NULL);
    CHECK(strstr(run.err, "of exec") == NULL);
    test_run_done(&run);
}

/* Beside each count stands what that function's may lack, and of no other. */
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
