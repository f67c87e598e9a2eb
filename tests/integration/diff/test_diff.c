// SPDX-License-Identifier: Apache-2.0
/* Compares reports of several builds of one program (served.c). The program knows the causes in
 * each build, and those common to all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "programs.h"
#include "test.h"

enum { STALL_MS = 120, THRESHOLD_MS = 60 };

/* Run build number `build` with the stalls of each cause, once watched and once recorded, and keep
 * both reports in the test's folder, in `name`. Stripped: without names. Returns its path: static,
 * four at a time. */
static const char *run_build(unsigned build, unsigned count, const char *name, bool stripped)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4], command[4096];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(path, 512, "%s/%s", test_folder(), name);
    snprintf(
        command, sizeof command,
        "set -e; cd %s; mkdir -p bin%u %s; echo getenv > list; cp %s/served_%u bin%u/served; %s;"
        "%s run --stall=%ums --report %s/watched$$ -- bin%u/served %u %u;"
        "exec %s run --record list --report %s/recorded$$ -- bin%u/served %u 1",
        test_folder(), build, name, program_built("diff"), build, build,
        stripped ? "strip bin*/served" : "true", program_sonde(), THRESHOLD_MS * test_slack(), name,
        build, count, STALL_MS * test_slack(), program_sonde(), name, build, count);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    return path;
}

static struct test_run diff(const char *old_path, const char *new_path, const char *option)
{
    const char *const argv[] = {program_sonde(), "diff", old_path, new_path, option, NULL};
    return test_run(argv, NULL, NULL, 60);
}

/* The states of stalls, or of calls: "new 1, same 2". */
static const char *states(const struct json *json, const char *key)
{
    static char text[256];
    text[0] = '\0';
    JSON_EACH(state, json_need(json, key))
    {
        size_t used = strlen(text);
        if (strcmp(state->text, "0") != 0) {
            snprintf(text + used, sizeof text - used, "%s%s %s", used == 0 ? "" : ", ", state->key,
                     state->text);
        }
    }
    return text;
}

static struct json *diff_json(const char *old_path, const char *new_path)
{
    struct test_run run = diff(old_path, new_path, "--json");
    CHECK_EQ(run.status, 0);
    CHECK_STR(run.err, "");
    struct json *json = json_parse(run.out);
    test_run_done(&run);
    return json;
}

static void check_status(const char *old_path, const char *new_path, const char *option, int status)
{
    struct test_run run = diff(old_path, new_path, option);
    if (run.status != status) {
        FAIL("%s: ended with %d instead of %d\n%s%s", option, run.status, status, run.out, run.err);
    }
    test_run_done(&run);
}

TIMED_TEST(diff_of_two_builds_of_the_same_sources_is_empty, 60)
{
    const char *first = run_build(1, 2, "first", false);
    const char *second = run_build(2, 2, "second", false);
    struct json *json = diff_json(first, second);
    CHECK_STR(states(json, "stall_states"), "same 2");
    CHECK_STR(states(json, "call_states"), "same 1");
    /* they are two builds */
    CHECK(strcmp(json_text(json_need(json, "old")->first, "build"),
                 json_text(json_need(json, "new")->first, "build")) != 0);
    json_free(json);
    check_status(first, second, "--fail-on=worse", 0);
}

TIMED_TEST(diff_of_a_build_with_an_unrelated_function_is_empty, 60)
{
    const char *first = run_build(1, 2, "first", false);
    const char *third = run_build(3, 2, "third", false);
    struct json *json = diff_json(first, third);
    CHECK_STR(states(json, "stall_states"), "same 2");
    CHECK_STR(states(json, "call_states"), "same 1");
    json_free(json);
    check_status(first, third, "--fail-on=worse", 0);
}

TIMED_TEST(diff_has_a_new_cause_and_nothing_else, 60)
{
    const char *first = run_build(1, 2, "first", false);
    const char *fourth = run_build(4, 2, "fourth", false);
    struct json *json = diff_json(first, fourth);
    CHECK_STR(states(json, "stall_states"), "new 1, same 2");
    const struct json *stall = json_need(json, "stalls")->first; /* the worst one comes first */
    CHECK_STR(json_text(stall, "state"), "new");
    CHECK_EQ(json_int(json_need(stall, "old"), "count"), 0);
    CHECK_EQ(json_int(json_need(stall, "new"), "count"), 1);
    CHECK_CONTAINS(json_text(stall, "fingerprint_text"), "function migrate\nfunction write_all\n");
    CHECK_STR(states(json, "call_states"), "new 1, same 1");
    CHECK_STR(json_text(json_need(json, "calls")->first, "function"), "getenv");
    json_free(json);
    struct test_run run = diff(first, fourth, "--fail-on=new");
    CHECK_EQ(run.status, 8);
    CHECK_CONTAINS(run.out, "causes of stalls: 1 new, 2 same\n");
    CHECK_CONTAINS(run.out, "\nnew: 1 stall, ");
    CHECK_CONTAINS(run.out, " under write_all");
    CHECK_CONTAINS(run.out, "\nnew: 1 call of getenv\n");
    test_run_done(&run);
    json = diff_json(fourth, first);
    CHECK_STR(states(json, "stall_states"), "gone 1, same 2");
    CHECK_STR(states(json, "call_states"), "gone 1, same 1");
    json_free(json);
    check_status(fourth, first, "--fail-on=worse", 0);
}

TIMED_TEST(diff_of_more_stalls_is_worse, 60)
{
    const char *few = run_build(1, 1, "few", false);
    const char *many = run_build(1, 3, "many", false);
    struct json *json = diff_json(few, many);
    CHECK_STR(states(json, "stall_states"), "worse 2");
    CHECK_STR(states(json, "call_states"), "worse 1");
    json_free(json);
    json = diff_json(many, few);
    CHECK_STR(states(json, "stall_states"), "better 2");
    json_free(json);
    check_status(few, many, "--fail-on=new", 0);
    check_status(few, many, "--fail-on=worse", 8);
    check_status(few, many, "--fail-on=worse:10", 0);
    check_status(many, few, "--fail-on=worse", 0);
}

/* Counts are per report: three reports with one stall of each cause equal one such report. */
TIMED_TEST(diff_of_folders_is_per_report, 60)
{
    char path[512];
    const char *many = run_build(1, 1, "many", false);
    run_build(1, 1, "many", false);
    run_build(1, 1, "many", false);
    const char *one = run_build(2, 1, "one", false);
    snprintf(path, sizeof path, "%s/notes.txt", many);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs("no report\n", file);
    fclose(file);
    struct json *json = diff_json(many, one);
    CHECK_EQ(json_need(json, "old")->count, 6);
    CHECK_STR(states(json, "stall_states"), "same 2");
    CHECK_STR(states(json, "call_states"), "same 1");
    CHECK_EQ(json_int(json_need(json_need(json, "stalls")->first, "old"), "count"), 3);
    json_free(json);
    check_status(many, one, "--fail-on=worse", 0);
}

/* Without names, functions are identified by their start: equal in one build, not in another. */
TIMED_TEST(diff_says_what_it_cannot_compare, 60)
{
    const char *first = run_build(1, 1, "first", true);
    const char *again = run_build(1, 1, "again", true);
    const char *third = run_build(3, 1, "third", true);
    struct json *json = diff_json(first, again);
    CHECK_STR(states(json, "stall_states"), "same 2");
    CHECK_STR(states(json, "call_states"), "same 1");
    json_free(json);
    struct test_run run = diff(first, third, "--fail-on=new");
    CHECK_EQ(run.status, 7);
    CHECK_CONTAINS(run.out, "causes of stalls: 4 not comparable\n");
    CHECK_CONTAINS(run.out, "note: 4 causes of stalls cannot be compared: in a library or program "
                            "of another build, functions have no names");
    test_run_done(&run);
    /* the unstripped binaries have the same build-ids */
    char command[2048];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command,
             "cd %s; mkdir s1 s3; cp %s/served_1 s1/served; cp %s/served_3 s3/served;"
             "exec %s diff %s %s --symbols s1 --symbols s3 --no-cache --fail-on=new",
             test_folder(), program_built("diff"), program_built("diff"), program_sonde(), first,
             third);
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "causes of stalls: 2 same\n");
    test_run_done(&run);
}

TEST(diff_refuses_what_it_cannot_read)
{
    char report[512], cut[512], command[2048];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(report, sizeof report, "%s/stacks", test_folder());
    snprintf(cut, sizeof cut, "%s/cut", test_folder());
    snprintf(command, sizeof command, "sleep 60 & %s stacks --report %s $! >/dev/null; kill $!",
             program_sonde(), report);
    struct test_run run = test_run(argv, NULL, NULL, 60);
    test_run_done(&run);
    run = diff(report, report, "--fail-on=new");
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.err, "nothing can be compared");
    test_run_done(&run);
    check_status(report, "/nowhere/report", "--json", 3);
    check_status(report, test_source_dir(), "--json", 3); /* a folder without reports */
    check_status("/bin/sh", report, "--json", 5);
    run = diff(report, report, "--fail-on=worse:1");
    CHECK_EQ(run.status, 2);
    CHECK_CONTAINS(run.err, "--fail-on: not a factor from 1.01 to 10000 after worse:: worse:1");
    test_run_done(&run);
    check_status(report, report, "--fail-on=gone", 2);
    check_status(report, report, "--factor=1e9", 2);
    check_status(report, report, "--factor=nan", 2);
}
