// SPDX-License-Identifier: Apache-2.0
/* The same sources (optimized.c), compiled by the compilers of this machine in several ways: with
 * debug information no way makes a difference, and without it none makes a false one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

/* Compile to FOLDER/app of the test's folder and record getenv() to FOLDER.sonde. */
static void record(const char *compiler, const char *options, const char *folder)
{
    char command[4096];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command,
             "set -e; cd %s; mkdir -p %s; echo getenv > list; %s %s %s -o %s/app;"
             "exec %s run --record list --report %s.sonde --quiet -- %s/app",
             test_folder(), folder, compiler, options, program_source("diff/optimized.c"), folder,
             program_sonde(), folder, folder);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    if (run.status != 0) {
        FAIL("%s %s: %s%s", compiler, options, run.out, run.err);
    }
    test_run_done(&run);
}

/* "new 1, same 7" of the calls. */
static const char *compare(const char *old_folder, const char *new_folder)
{
    static char text[256];
    char old_path[512], new_path[512];
    const char *const argv[] = {program_sonde(), "audit",  "diff",   "--json", "--no-cache",
                                "--no-network",  old_path, new_path, NULL};
    snprintf(old_path, sizeof old_path, "%s/%s.sonde", test_folder(), old_folder);
    snprintf(new_path, sizeof new_path, "%s/%s.sonde", test_folder(), new_folder);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    struct json *json = json_parse(run.out);
    text[0] = '\0';
    JSON_EACH(state, json_need(json, "call_states"))
    {
        size_t used = strlen(text);
        if (strcmp(state->text, "0") != 0) {
            snprintf(text + used, sizeof text - used, "%s%s %s", used == 0 ? "" : ", ", state->key,
                     state->text);
        }
    }
    json_free(json);
    test_run_done(&run);
    return text;
}

static const struct way {
    const char *name, *compiler, *options;
} ways[] = {
    {"plain", "gcc", "-g -O0"},
    {"second", "gcc", "-g -O2"},
    {"third", "gcc", "-g -O3 -flto -fuse-ld=bfd"},
    {"small", "gcc", "-g -Os"},
    {"apart", "gcc", "-g -O2 -fno-inline -ffunction-sections -freorder-functions"},
    {"unrelated", "gcc", "-g -O2 -DUNRELATED"},
    {"clang", "clang", "-g -O2"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static bool is_there(const struct way *way)
{
    return program_on_path(way->compiler);
}

/* Nothing is on one side only. How often a function is called may change: LLVM knows that getenv()
 * only reads. */
static bool has_same_calls(const char *text)
{
    return strstr(text, "new") == NULL && strstr(text, "gone") == NULL &&
           strstr(text, "not comparable") == NULL && *text != '\0';
}

TEST_TIMEOUT(optimizations_make_no_difference, 120)
{
    for (unsigned i = 0; i < WAYS; i++) {
        if (is_there(&ways[i])) {
            record(ways[i].compiler, ways[i].options, ways[i].name);
        }
    }
    for (unsigned i = 1; i < WAYS; i++) {
        if (is_there(&ways[i]) && !has_same_calls(compare(ways[0].name, ways[i].name))) {
            FAIL("%s %s: %s", ways[i].compiler, ways[i].options,
                 compare(ways[0].name, ways[i].name));
        }
    }
    CHECK_STR(compare("plain", "second"), "same 7");
    CHECK_STR(compare("second", "unrelated"), "same 7");
    /* an added caller is found whatever the compiler does */
    record("gcc", "-g -O2 -DADDED", "added");
    CHECK_STR(compare("plain", "added"), "new 1, same 7");
    CHECK_STR(compare("added", "plain"), "gone 1, same 7");
}

/* The builds are what this test is about only if the compiler did what it is said to do. */
TEST(optimizations_are_made)
{
    char command[2048];
    const char *const argv[] = {"sh", "-c", command, NULL};
    record("gcc", "-g -O2", "second");
    snprintf(command, sizeof command, "nm %s/second/app", test_folder());
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, " split.part.0");
    CHECK_CONTAINS(run.out, " cloned.constprop.0");
    CHECK_CONTAINS(run.out, " has_cold_branch.cold");
    CHECK(strstr(run.out, " inlined") == NULL);
    test_run_done(&run);
}

TEST_TIMEOUT(without_debug_information_nothing_is_claimed, 120)
{
    record("gcc", "-O0", "plain");
    record("gcc", "-O2", "second");
    record("gcc", "-O2", "again");
    record("gcc", "-O2 -DUNRELATED", "unrelated");
    CHECK_STR(compare("second", "again"), "same 7");
    const char *text = compare("second", "unrelated");
    CHECK(strstr(text, "new") == NULL && strstr(text, "gone") == NULL);
    text = compare("plain", "second");
    CHECK(strstr(text, "new") == NULL && strstr(text, "gone") == NULL);
    CHECK_CONTAINS(text, "not comparable");
}
