// SPDX-License-Identifier: Apache-2.0
/* Indexes of Breakpad symbol files agree with llvm-symbolizer about the program, at every address
 * of every function (breakpad.py). */
#include <stdio.h>

#include "test.h"

enum { TIMEOUT_S = 240 };

static void compare(const char *compiler, const char *level)
{
    char script[4096], sonde[4096];
    snprintf(script, sizeof script, "%s/tests/integration/symindex/breakpad.py", test_source_dir());
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    const char *argv[] = {"/usr/bin/python3", script, "compare", sonde, test_folder(),
                          compiler,           "-g",   level,     NULL};
    struct test_run run = test_run(argv, NULL, NULL, TIMEOUT_S);
    if (run.status == 77) {
        SKIP("%s", run.out);
    }
    if (run.status != 0 || run.timed_out) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

TEST_TIMEOUT(breakpad_file_as_llvm_gcc, TIMEOUT_S + 10)
{
    compare("g++", "-O2");
}

TEST_TIMEOUT(breakpad_file_as_llvm_clang, TIMEOUT_S + 10)
{
    compare("clang++-19", "-O3");
}
