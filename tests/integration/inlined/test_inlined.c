// SPDX-License-Identifier: Apache-2.0
/* Inlined calls in stacks are those that gdb and llvm-symbolizer see (inlined.py compares), and the
 * outermost calls of addresses have the names of their symbols (outermost.py), of both compilers,
 * from debug information of several kinds and from index files. */
#include <stdio.h>

#include "test.h"

enum { TIMEOUT_S = 120 };

/* mode: null for a script that has none */
static void compare(const char *name, const char *mode, const char *compiler, const char *flag,
                    const char *more)
{
    char script[4096], sonde[4096];
    const char *argv[10] = {"/usr/bin/python3", script, sonde, test_folder()};
    size_t count = 4;
    struct test_run run;
    if (mode != NULL) {
        argv[count++] = mode;
    }
    argv[count++] = compiler;
    argv[count++] = "-g";
    argv[count++] = flag;
    argv[count++] = more;
    snprintf(script, sizeof script, "%s/tests/integration/inlined/%s.py", test_source_dir(), name);
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    run = test_run(argv, NULL, NULL, TIMEOUT_S);
    if (run.status == 77) {
        SKIP("%s", run.out);
    }
    if (run.status != 0 || run.timed_out) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

#define INLINED(name, mode, compiler, flag, more)                                                  \
    TEST_TIMEOUT(inlined_##name, TIMEOUT_S + 10)                                                   \
    {                                                                                              \
        compare("inlined", mode, compiler, flag, more);                                            \
    }
INLINED(as_gdb_gcc, "gdb", "g++", "-O2", NULL)
INLINED(as_gdb_gcc_dwarf4, "gdb", "g++", "-O3", "-gdwarf-4")
INLINED(as_gdb_clang, "gdb", "clang++-19", "-O2", NULL)
INLINED(as_gdb_split, "gdb", "g++", "-O2", "-gsplit-dwarf")
INLINED(as_gdb_dwz, "dwz", "g++", "-O2", NULL)
INLINED(as_gdb_from_an_index, "index", "g++", "-O2", NULL)
INLINED(as_gdb_from_a_report, "report", "clang++-19", "-O2", NULL)
INLINED(as_gdb_with_debian_debug_files, "debian", "gcc", "-O2", NULL)
INLINED(as_llvm_gcc_compressed, "sample", "g++", "-O2", "-gz")
INLINED(as_llvm_clang, "sample", "clang++-19", "-O2", NULL)
INLINED(as_llvm_clang_dwarf4, "sample", "clang++-19", "-O3", "-gdwarf-4")

TEST_TIMEOUT(outermost_names_of_gcc, TIMEOUT_S + 10)
{
    compare("outermost", NULL, "g++", "-O2", NULL);
}

TEST_TIMEOUT(outermost_names_of_gcc_g1, TIMEOUT_S + 10)
{
    compare("outermost", NULL, "g++", "-O3", "-g1");
}

TEST_TIMEOUT(outermost_names_of_gcc_dwarf4, TIMEOUT_S + 10)
{
    compare("outermost", NULL, "g++", "-O2", "-gdwarf-4");
}

TEST_TIMEOUT(outermost_names_of_clang, TIMEOUT_S + 10)
{
    compare("outermost", NULL, "clang++-19", "-O1", "-g1");
}

TEST_TIMEOUT(outermost_names_of_clang_lines_only, TIMEOUT_S + 10)
{
    compare("outermost", NULL, "clang++-19", "-O2", "-gline-tables-only");
}
