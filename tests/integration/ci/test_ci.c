// SPDX-License-Identifier: Apache-2.0
/* The recipes of docs/guide/ci.md, with Debian's ctest and pytest: a hanging test shows its stacks;
 * another one passes. */
#include <stdio.h>
#include <string.h>

#include "programs.h"
#include "test.h"

/* Run a line of shell in the test's folder, with $SONDE and $CI, the folder of the recipes. */
static struct test_run run_line(const char *line)
{
    static char command[8192];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command, "cd %s; SONDE=%s; CI=%s/docs/guide/ci; export SONDE; %s",
             test_folder(), program_sonde(), test_source_dir(), line);
    return test_run(argv, NULL, NULL, 100);
}

TEST(ci_ctest_says_where_a_test_hangs)
{
    struct test_run run =
        run_line("cp $CI/SondeTest.cmake .; cat >CMakeLists.txt <<'END'\n"
                 "cmake_minimum_required(VERSION 3.18)\n"
                 "project(p C)\n"
                 "enable_testing()\n"
                 "include(SondeTest.cmake)\n"
                 "add_executable(t t.c)\n"
                 "sonde_add_test(NAME hangs COMMAND t forever)\n"
                 "sonde_add_test(NAME passes COMMAND t)\n"
                 "END\n"
                 "cat >t.c <<'END'\n"
                 "#include <unistd.h>\n"
                 "__attribute__((noinline)) static int wait_for_ever(void) { return pause(); }\n"
                 "int main(int argc, char **argv) { (void)argv; return argc > 1 ? wait_for_ever() "
                 "+ 1 : 0; }\n"
                 "END\n"
                 "cmake -S . -B b -DSONDE_PROGRAM=$SONDE -DSONDE_TEST_TIMEOUT=1 "
                 "-DCMAKE_C_FLAGS=-O0 >log 2>&1 && "
                 "cmake --build b >>log 2>&1 || { cat log; exit 99; }\n"
                 "ctest --test-dir b --output-on-failure 2>&1; s=$?; $SONDE show "
                 "b/sonde/hangs.sonde; exit $s");
    CHECK_EQ(run.status, 8); /* ctest's, for tests that failed */
    CHECK_CONTAINS(run.out, "the program still runs after 1000 ms");
    CHECK_CONTAINS(run.out, "wait_for_ever");
    CHECK_CONTAINS(run.out, "50% tests passed, 1 tests failed out of 2");
    CHECK_CONTAINS(run.out, "tags test=hangs");
    test_run_done(&run);
}

TEST(ci_pytest_says_where_a_test_hangs)
{
    struct test_run run =
        run_line("/usr/bin/python3 -c 'import pytest' 2>/dev/null || exit 77\n"
                 "cp $CI/conftest.py .; cat >test_it.py <<'END'\n"
                 "import subprocess\n"
                 "def test_passes(): pass\n"
                 "def test_hangs(): subprocess.call(['sleep', '7001'])\n"
                 "END\n"
                 "SONDE_TEST_TIMEOUT=1 /usr/bin/python3 -m pytest -p no:cacheprovider 2>&1; s=$?;"
                 "kill $(pgrep -x sleep -a | awk '$3 == 7001 { print $1 }');"
                 "$SONDE show sonde-*.sonde; exit $s");
    if (run.status == 77) {
        SKIP("no pytest");
    }
    CHECK_EQ(run.status, 134);
    CHECK_CONTAINS(run.out, "test_it.py::test_hangs still runs after 1 s");
    CHECK_CONTAINS(run.out, "child process ");
    CHECK_CONTAINS(run.out, "(sleep 7001)");
    CHECK_CONTAINS(run.out, "tags test=test_it.py::test_hangs");
    test_run_done(&run);
}

/* One limit for all tests; the child of the child is shown. */
TEST(ci_pytest_under_sonde_shows_what_it_waits_for)
{
    struct test_run run =
        run_line("/usr/bin/python3 -c 'import pytest' 2>/dev/null || exit 77\n"
                 "cat >test_it.py <<'END'\n"
                 "import subprocess\n"
                 "def test_hangs(): subprocess.call(['sh', '-c', 'sleep 7002; :'])\n"
                 "END\n"
                 "for t in 2 8 32; do\n" /* a loaded machine begins the test later */
                 "$SONDE run --timeout ${t}s --timeout-action abort --report hang.sonde --quiet -- "
                 "/usr/bin/python3 -m pytest -p no:cacheprovider >out 2>&1; s=$?\n"
                 "kill $(pgrep -x sleep -a | awk '$3 == 7002 { print $1 }') && break\n"
                 "done; cat out; exit $s");
    if (run.status == 77) {
        SKIP("no pytest");
    }
    CHECK_EQ(run.status, 134);
    CHECK_CONTAINS(run.out, "the program still runs after ");
    CHECK_CONTAINS(run.out, "/sleep  ");
    CHECK_CONTAINS(run.out, "clock_nanosleep");
    test_run_done(&run);
}

/* Checks possible without GitHub: the file is YAML, and each step does something. */
TEST(ci_workflow_is_yaml)
{
    struct test_run run = run_line(
        "/usr/bin/python3 -c 'import yaml' 2>/dev/null || exit 77\n"
        "/usr/bin/python3 - $CI/workflow.yml <<'END'\n"
        "import subprocess, sys, yaml\n"
        "w = yaml.safe_load(open(sys.argv[1]))\n"
        "assert w[True]['pull_request'] is None and w[True]['push']['branches'] == ['main']\n"
        "steps = w['jobs']['test']['steps']\n"
        "assert len(steps) == 7\n"
        "for s in steps:\n"
        "    assert ('run' in s) != ('uses' in s), s\n"
        "    if 'run' in s:\n"
        "        subprocess.run(['sh', '-n', '-c', s['run'].replace('${{', '$').replace('}}', "
        "'')],\n"
        "                       check=True)\n"
        "END\n");
    if (run.status == 77) {
        SKIP("no yaml for python3");
    }
    if (run.status != 0) {
        FAIL("%s%s", run.out, run.err);
    }
    test_run_done(&run);
}
