// SPDX-License-Identifier: Apache-2.0
/* A compiled file of rules is used as its source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "ruled.h"
#include "test.h"

static char source[512], compiled[512];

static const char rules[] = "[pack]\nuse = linux-process, linux-secrets\n"
                            "[rule \"files\"]\napi = open\nclass = files\nseverity = high\n"
                            "message = opens a file\n"
                            "[rule \"own\"]\napi = getenv\nwhen = name ~ OWN\nlimit = 2/10h\n"
                            "[rule \"library\"]\napi = getenv\nfrom = module:libruled*.so\n"
                            "[rule \"ever\"]\napi = getenv\nphase = before consent\n"
                            "[sdk \"lib\"]\nmatch = module:libruled*, !symbol:ask_otherwise\n";

static struct test_run compile(const char *path, const char *output)
{
    const char *const argv[] = {
        program_sonde(), "audit", "compile", path, output != NULL ? "-o" : NULL, output, NULL};
    return test_run(argv, NULL, NULL, 60);
}

static void prepare(void)
{
    snprintf(source, sizeof source, "%s/team.ini", test_folder());
    snprintf(compiled, sizeof compiled, "%s/team.audit", test_folder());
    test_write_file(source, rules, strlen(rules));
    struct test_run run = compile(source, compiled);
    CHECK_STR(run.err, "");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

/* What is printed of the rules, without what the run itself took. */
static char *findings(const char *path)
{
    const char *const argv[] = {
        program_sonde(), "run", "--audit", path, "--", program_built("audit/ruled"), NULL};
    struct test_run run = test_run(argv, NULL, NULL, 60);
    char line[100], *all = strdup("");
    CHECK_EQ(run.status, 3);
    CHECK_STR(run.out, "output\n");
    for (char *at = run.err, *next; at != NULL && *at != '\0'; at = next) {
        next = strchr(at, '\n');
        next = next != NULL ? next + 1 : NULL;
        size_t size = next != NULL ? (size_t)(next - at) : strlen(at);
        snprintf(line, sizeof line, "%.*s", (int)size, at);
        char *times = strstr(line, ", exceeded from ");
        if (times != NULL) {
            strcpy(times + 10, "\n");
        }
        /* times, addresses of frames, and other names come from the run */
        if (strstr(line, "calls from") != NULL || strstr(line, " pack ") != NULL ||
            strstr(line, "no calls") != NULL) {
            all = realloc(all, strlen(all) + strlen(line) + 1);
            strcat(all, line);
        }
    }
    test_run_done(&run);
    return all;
}

TEST(a_compiled_file_prints_as_its_source)
{
    prepare();
    struct test_run of_source = compile(source, NULL);
    CHECK_EQ(remove(source), 0); /* with the packs in it, it needs no other file */
    struct test_run run = compile(compiled, NULL);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "pack linux-process");
    CHECK_STR(run.out, of_source.out);
    test_run_done(&run);
    test_run_done(&of_source);
}

TEST(a_run_under_compiled_rules_finds_the_same)
{
    char calls[100];
    prepare();
    char *of_source = findings(source), *of_compiled = findings(compiled);
    snprintf(calls, sizeof calls, "  %d calls from 2 stacks\n", OPENS + OPENS_64);
    CHECK_CONTAINS(of_compiled, calls);
    CHECK_STR(of_compiled, of_source);
    free(of_source);
    free(of_compiled);
}

TEST(a_damaged_file_is_refused)
{
    size_t size;
    prepare();
    char *bytes = test_read_file(compiled, &size);
    const struct {
        size_t at;
        int status;
        const char *what;
    } cases[] = {{size / 2, 5, "their checksum is another one"},
                 {8, 6, "compiled by another version of sonde: compile them again"},
                 {12, 6, "for an architecture that is not known"},
                 {16, 5, "the rules are cut"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes[cases[i].at] ^= 2;
        test_write_file(compiled, bytes, size);
        bytes[cases[i].at] ^= 2;
        struct test_run run = compile(compiled, NULL);
        CHECK_EQ(run.status, cases[i].status);
        CHECK_CONTAINS(run.err, compiled);
        CHECK_CONTAINS(run.err, cases[i].what);
        test_run_done(&run);
        const char *const argv[] = {program_sonde(), "run", "--audit", compiled, "--",
                                    "true",          NULL};
        run = test_run(argv, NULL, NULL, 60);
        CHECK_EQ(run.status, 125);
        CHECK_CONTAINS(run.err, cases[i].what);
        test_run_done(&run);
    }
    free(bytes);
}

TEST(rules_with_errors_are_not_written)
{
    prepare();
    CHECK_EQ(remove(compiled), 0);
    test_write_file(source, "[rule \"x\"]\napi = 1x\n", 20);
    struct test_run run = compile(source, compiled);
    CHECK_EQ(run.status, 5);
    CHECK(fopen(compiled, "r") == NULL);
    test_run_done(&run);
}
