// SPDX-License-Identifier: Apache-2.0
/* An interpreter that is not read is named: `stacks`, `doctor`, `run --record` and stalls say of
 * what the functions are missing. Of a version only what its symbols prove is said. */
#include <stdio.h>
#include <string.h>

#include "test.h"

static void check_refused(const char *kind, const char *what)
{
    static const char script[] = "cd $FOLDER; $PROGRAM wait & P=$!\n"
                                 "for i in $(seq 100); do\n"
                                 "    $SONDE stacks --no-network $P >stacks\n"
                                 "    grep -q '^process .*/script_refused_' stacks && grep -q "
                                 "'blocked in pause' stacks && break\n"
                                 "    sleep 0.1\n"
                                 "done\n"
                                 "cat stacks; $SONDE doctor $P; kill -KILL $P\n"
                                 "echo getppid >list; $SONDE run --record list -- $PROGRAM 2>&1\n"
                                 "echo now stalls; $SONDE run -- $PROGRAM stall 2>&1\n";
    char sonde[4096], program[4096], folder[4096], note[256], finding[256], line[256];
    snprintf(sonde, sizeof sonde, "SONDE=%s/cli/sonde", test_build_dir());
    snprintf(program, sizeof program, "PROGRAM=%s/tests/integration/script/script_refused_%s",
             test_build_dir(), kind);
    snprintf(folder, sizeof folder, "FOLDER=%s", test_folder());
    const char *env[] = {sonde, program, folder, "PATH=/usr/bin:/bin", NULL};
    struct test_run run = test_run((const char *[]){"bash", "-c", script, NULL}, env, NULL, 50);
    snprintf(note, sizeof note, "\nnote: functions of scripts are not shown: %s\n", what);
    snprintf(finding, sizeof finding, "only native functions: %s\n", what);
    snprintf(line, sizeof line, "\nsonde run: functions of scripts are not shown: %s\n", what);
    CHECK_CONTAINS(run.out, note);
    CHECK_CONTAINS(run.out, finding);
    CHECK_CONTAINS(run.out, line);
    const char *stalls = strstr(run.out, "now stalls");
    CHECK(stalls != NULL);
    CHECK_CONTAINS(stalls, line);
    CHECK_CONTAINS(stalls, "\nstall 1: ");
    test_run_done(&run);
}

TEST_TIMEOUT(python_2, 60)
{
    check_refused("2", "Python 2 is not known");
}

TEST_TIMEOUT(python_3_6, 60)
{
    check_refused("3_6", "Python 3.6 and older are not known");
}

TEST_TIMEOUT(python_3_7, 60)
{
    check_refused("3_7", "Python 3.7 is not known");
}

TEST_TIMEOUT(a_version_that_no_symbol_tells, 60)
{
    check_refused("stripped", "the version of Python is unknown: no symbol tells it");
}

TEST_TIMEOUT(pypy, 60)
{
    check_refused("pypy", "PyPy is not known");
}

TEST_TIMEOUT(a_host_of_node_api_whose_engine_states_nothing, 60)
{
    check_refused("javascript", "no symbol tells the layout of its JavaScript engine");
}

TEST_TIMEOUT(bun, 60)
{
    check_refused("bun", "Bun is not known");
}
