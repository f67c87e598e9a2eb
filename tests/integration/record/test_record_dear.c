// SPDX-License-Identifier: Apache-2.0
/* Programs with stacks that are expensive to walk: they go on, every call is counted, and the
 * report marks short stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

enum { CALLS = 20000, LIMIT_MS = 1000 };

static char list[512], report[512];

static struct test_run record(const char *functions, const char *const program[])
{
    const char *argv[16] = {program_sonde(), "run", "--record", list, "--report", report, "--"};
    size_t n = 7;
    snprintf(list, sizeof list, "%s/list", test_folder());
    snprintf(report, sizeof report, "%s/report", test_folder());
    test_write_file(list, functions, strlen(functions));
    while (*program != NULL) {
        argv[n++] = *program++;
    }
    return test_run(argv, NULL, NULL, 150);
}

static unsigned long number_before(const char *text, const char *what)
{
    const char *at = strstr(text, what);
    while (at != NULL && at > text && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return at != NULL ? strtoul(at, NULL, 10) : 0;
}

static unsigned long cut_calls(const char *text)
{
    return number_before(text, " calls end at code without CFI") +
           number_before(text, " call ends at code without CFI");
}

/* In JSON the entries add up to the totals: calls, and calls that were cut. */
static void check_report(unsigned long calls, unsigned long cut)
{
    const char *argv[] = {program_sonde(), "show", "--json", report, NULL};
    struct test_run run = test_run(argv, NULL, NULL, 100);
    unsigned long all = 0, costly = 0;
    CHECK_EQ(run.status, 0);
    for (const char *at = run.out; (at = strstr(at, "\"count\": ")) != NULL;) {
        unsigned long count = strtoul(at += 9, NULL, 10);
        const char *end = strstr(at, "\"end\": \"");
        all += count;
        costly += end != NULL && strncmp(end, "\"end\": \"costly\"", 15) == 0 ? count : 0;
    }
    CHECK_EQ(all, calls);
    CHECK_EQ(costly, cut);
    test_run_done(&run);
}

/* 0.1 s of CPU time; with a new search for each stack 1.4 s, and more on a machine with slow
 * memory. */
TEST(made_program_without_cfi)
{
    char calls[16];
    snprintf(calls, sizeof calls, "%d", CALLS);
    const char *program[] = {program_built("record/no_cfi"), calls, NULL};
    struct test_run run = record("getppid\n", program);
    CHECK_EQ(run.status, 0);
    CHECK(number_before(run.out, " ms") < LIMIT_MS);
    CHECK_EQ(number_before(run.err, " calls of 1 function recorded"), CALLS);
    check_report(CALLS, cut_calls(run.err));
    test_run_done(&run);
}

/* The text shows those of some thousand stacks with the most calls; --top=all shows all. */
TEST(text_of_many_stacks)
{
    const char *program[] = {program_built("record/no_cfi"), "20000", NULL};
    struct test_run run = record("getppid\n", program);
    unsigned long stacks = number_before(run.err, " different stacks");
    CHECK(stacks > 100);
    CHECK_EQ(number_before(run.err, " more stacks (--top=all)"), stacks - 20);
    CHECK(run.err_size < 400000);
    const char *three[] = {program_sonde(), "show", "--top", "3", report, NULL};
    const char *all[] = {program_sonde(), "show", "--top=all", report, NULL};
    const char *wrong[] = {program_sonde(), "show", "--top", "0", report, NULL};
    struct test_run shown = test_run(three, NULL, NULL, 60);
    CHECK_EQ(number_before(shown.out, " more stacks (--top=all)"), stacks - 3);
    test_run_done(&shown);
    shown = test_run(all, NULL, NULL, 60);
    CHECK(strstr(shown.out, " more stack") == NULL);
    CHECK(shown.out_size > 20 * run.err_size);
    test_run_done(&shown);
    shown = test_run(wrong, NULL, NULL, 60);
    CHECK_EQ(shown.status, 2);
    test_run_done(&shown);
    test_run_done(&run);
}

/* Stacks without room are counted, and an option gives more room. */
TEST(room_for_frames)
{
    static const char *const frames[] = {"1024", "1000000"};
    snprintf(list, sizeof list, "%s/list", test_folder());
    test_write_file(list, "getppid\n", 8);
    for (unsigned i = 0; i < 2; i++) {
        const char *argv[] = {
            program_sonde(), "run",     "--record", list,
            "--frames",      frames[i], "--",       program_built("record/no_cfi"),
            "20000",         NULL};
        struct test_run run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 0);
        CHECK_EQ(number_before(run.err, " calls of 1 function recorded"), 20000);
        CHECK_EQ(strstr(run.err, " had no room (the calls are counted; --frames") != NULL, i == 0);
        test_run_done(&run);
    }
}

/* The interpreter of Java has no CFI. */
TEST(java_interpreted)
{
    static const char source[] =
        "public class Stats { public static void main(String[] a) throws Exception { long n = 0;"
        " for (int i = 0; i < 2000; i++)"
        " n += new java.io.File(\"/etc/passwd\" + i % 3).exists() ? 1 : 0;"
        " long ms = Long.parseLong(java.nio.file.Files.readString("
        "java.nio.file.Path.of(\"/proc/self/stat\")).split(\" \")[13]) * 10;"
        " System.out.println(n + \" files, \" + ms + \" ms\"); } }";
    char path[512];
    if (!test_long()) {
        SKIP("long");
    }
    if (!program_on_path("java") || !program_on_path("javac")) {
        SKIP("java is not installed");
    }
    snprintf(path, sizeof path, "%s/Stats.java", test_folder());
    test_write_file(path, source, strlen(source));
    const char *program[] = {"java", "-Xint", path, NULL};
    struct test_run run = record("stat\nstat64\n", program);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "0 files, ");
    unsigned long calls = number_before(run.err, " calls of 2 functions recorded");
    CHECK(calls >= 2000);
    check_report(calls, cut_calls(run.err));
    test_run_done(&run);
}
