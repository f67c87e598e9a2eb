// SPDX-License-Identifier: Apache-2.0
/* --help is part of the interface: what it says is kept under tests/golden/cli, one file a verb.
 * SONDE_UPDATE_GOLDEN=1 in the environment writes them anew. The man pages must name every option
 * that --help names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"
#include "test.h"

static const char *const verbs[] = {"help", "version", "stacks",    "show",  "export", "doctor",
                                    "run",  "index",   "symbolize", "types", "blocks", "holders"};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static void compare_golden(const char *name, const char *text)
{
    char path[512];
    char *expected;
    snprintf(path, sizeof path, "%s/tests/golden/cli/%s.txt", test_source_dir(), name);
    if (getenv("SONDE_UPDATE_GOLDEN") != NULL) {
        test_write_file(path, text, strlen(text));
        return;
    }
    expected = test_read_file(path, NULL);
    CHECK_STR(text, expected);
    free(expected);
}

TEST(help_says_what_the_golden_files_say)
{
    for (unsigned i = 0; i < VERBS; i++) {
        const char *const argv[] = {sonde_program(), verbs[i], "--help", NULL};
        struct test_run run = test_run(argv, NULL, NULL, 30);
        CHECK_EQ(run.status, 0);
        CHECK_STR(run.err, "");
        compare_golden(verbs[i], run.out);
        test_run_done(&run);
    }
}

TEST(help_of_a_verb_and_verb_help_are_one)
{
    for (unsigned i = 0; i < VERBS; i++) {
        const char *const one[] = {sonde_program(), verbs[i], "-h", NULL};
        const char *const other[] = {sonde_program(), "help", verbs[i], NULL};
        struct test_run a = test_run(one, NULL, NULL, 30);
        struct test_run b = test_run(other, NULL, NULL, 30);
        CHECK_EQ(b.status, 0);
        CHECK_STR(a.out, b.out);
        test_run_done(&a);
        test_run_done(&b);
    }
}

TEST(no_line_of_help_is_wider_than_80_columns)
{
    for (unsigned i = 0; i < VERBS; i++) {
        const char *const argv[] = {sonde_program(), verbs[i], "--help", NULL};
        struct test_run run = test_run(argv, NULL, NULL, 30);
        for (const char *line = run.out; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            if (length > 80) {
                FAIL("%s --help: %.*s", verbs[i], (int)length, line);
            }
            line += length + (line[length] != '\0');
        }
        test_run_done(&run);
    }
}

/* mdoc writes --name=FILE as "Fl Fl name" or "Fl -name". */
TEST(man_pages_name_every_option)
{
    for (unsigned i = 2; i < VERBS; i++) {
        const char *const argv[] = {sonde_program(), verbs[i], "--help", NULL};
        struct test_run run = test_run(argv, NULL, NULL, 30);
        char path[512];
        char *page;
        snprintf(path, sizeof path, "%s/docs/man/sonde-%s.1", test_source_dir(), verbs[i]);
        page = test_read_file(path, NULL);
        CHECK_CONTAINS(run.out, "Options:");
        for (char *at = strstr(run.out, "Options:"); (at = strstr(at, "--")) != NULL; at += 2) {
            char wanted[64];
            char same[64];
            size_t length = strcspn(at + 2, "= \n,.:)");
            if (at[-1] != ' ' || length == 0 || strncmp(at, "--help", 6) == 0) {
                continue;
            }
            snprintf(wanted, sizeof wanted, "Fl Fl %.*s", (int)length, at + 2);
            snprintf(same, sizeof same, "Fl -%.*s", (int)length, at + 2);
            if (strstr(page, wanted) == NULL && strstr(page, same) == NULL) {
                FAIL("sonde-%s(1) does not name --%.*s", verbs[i], (int)length, at + 2);
            }
        }
        free(page);
        test_run_done(&run);
    }
}

TEST(man_pages_render_without_warnings)
{
    static const char *const pages[] = {
        "sonde",       "sonde-stacks", "sonde-show",      "sonde-doctor", "sonde-run",
        "sonde-index", "sonde-export", "sonde-symbolize", "sonde-types",  "sonde-blocks"};
    for (unsigned i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        char path[512];
        const char *const argv[] = {"groff", "-ww", "-mdoc", "-Tutf8", "-P-cbou", path, NULL};
        struct test_run run;
        snprintf(path, sizeof path, "%s/docs/man/%s.1", test_source_dir(), pages[i]);
        run = test_run(argv, NULL, NULL, 30);
        if (run.status == 127) {
            SKIP("no groff");
        }
        CHECK_EQ(run.status, 0);
        CHECK_STR(run.err, "");
        CHECK_CONTAINS(run.out, "EXIT STATUS");
        test_run_done(&run);
    }
}
