// SPDX-License-Identifier: Apache-2.0
/* --help is part of the interface: tests/golden/cli has its text, one file per verb.
 * SONDE_UPDATE_GOLDEN=1 in the environment writes the files. The man pages and the guide have the
 * options that --help has, and no others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"
#include "test.h"

static const char *const verbs[] = {"help",      "version", "audit",  "mark",    "stacks",
                                    "show",      "export",  "doctor", "run",     "index",
                                    "symbolize", "types",   "blocks", "holders", "spool",
                                    "upload",    "diff",    "watch",  "privacy"};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

TEST(help_says_what_the_golden_files_say)
{
    for (unsigned i = 0; i < VERBS; i++) {
        const char *const argv[] = {sonde_program(), verbs[i], "--help", NULL};
        struct test_run run = test_run(argv, NULL, NULL, 30);
        CHECK_EQ(run.status, 0);
        CHECK_STR(run.err, "");
        char golden[64];
        snprintf(golden, sizeof golden, "cli/%s.txt", verbs[i]);
        test_check_golden(golden, run.out);
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

/* --- options: in --help, the man page and the guide --- */

enum { OPTIONS_MAX = 64, OPTION_BYTES = 48 };

/* Each as "-j, --json" or "--core=", with "=" where it takes a value. */
struct options {
    char list[OPTIONS_MAX][OPTION_BYTES];
    unsigned count;
};

static void add_option(struct options *options, char letter, const char *name, size_t length,
                       bool takes_value)
{
    char *text = options->list[options->count];
    CHECK(options->count < OPTIONS_MAX && length > 0 && length < OPTION_BYTES / 2);
    options->count++;
    snprintf(text, OPTION_BYTES, "%s--%.*s%s", letter != '\0' ? "-?, " : "", (int)length, name,
             takes_value ? "=" : "");
    if (letter != '\0') {
        text[1] = letter;
    }
}

/* The next line, cut at its newline; null: there is none. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    *text = end + 1;
    return line;
}

/* "  -c, --core=FILE  read a core file", "      --no-cache  neither use". */
static void read_help(const char *verb, struct options *ret_options)
{
    const char *const argv[] = {sonde_program(), verb, "--help", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    char *text = strstr(run.out, "Options:"), *line;
    CHECK(text != NULL);
    while ((line = next_line(&text)) != NULL) {
        bool has_letter = strncmp(line, "  -", 3) == 0 && strncmp(line + 4, ", --", 4) == 0;
        if (has_letter || strncmp(line, "      --", 8) == 0) {
            size_t length = strcspn(line + 8, "= ");
            if (strncmp(line + 8, "help", length) != 0 && strncmp(line + 8, "wide", length) != 0) {
                add_option(ret_options, has_letter ? line[3] : '\0', line + 8, length,
                           line[8 + length] == '=');
            }
        }
    }
    test_run_done(&run);
}

/* ".It Fl c , Fl Fl core Ns = Ns Ar file", ".It Fl -top Ns = Ns Ar n". */
static void read_man(const char *verb, struct options *ret_options)
{
    char path[512];
    snprintf(path, sizeof path, "%s/docs/man/sonde-%s.1", test_source_dir(), verb);
    char *page = test_read_file(path, NULL), *text = page, *line;
    while ((line = next_line(&text)) != NULL) {
        char letter = '\0';
        if (strncmp(line, ".It Fl ", 7) != 0) {
            continue;
        }
        line += 7;
        if (strncmp(line + 1, " , Fl ", 6) == 0) {
            letter = line[0];
            line += 7;
        }
        CHECK(line[0] == '-' || strncmp(line, "Fl ", 3) == 0);
        line += line[0] == '-' ? 1 : 3;
        size_t length = strcspn(line, " ");
        add_option(ret_options, letter, line, length, strncmp(line + length, " Ns =", 5) == 0);
    }
    free(page);
}

/* "| `doctor` | `-j, --json`, `--color` |", which does not mention values. */
static void read_guide(const char *verb, struct options *ret_options)
{
    char path[512], begin[32];
    snprintf(path, sizeof path, "%s/docs/guide/cli.md", test_source_dir());
    snprintf(begin, sizeof begin, "| `%s` | `-", verb);
    char *page = test_read_file(path, NULL), *text = page, *line;
    while ((line = next_line(&text)) != NULL) {
        if (strncmp(line, begin, strlen(begin)) != 0) {
            continue;
        }
        line += strlen(begin) - 2;
        while ((line = strchr(line, '`')) != NULL) {
            bool has_letter = line[2] != '-';
            char *name = line + (has_letter ? 7 : 3);
            size_t length = strcspn(name, "`");
            add_option(ret_options, has_letter ? line[2] : '\0', name, length, false);
            line = name + length + 1;
        }
    }
    free(page);
}

static bool has_option(const struct options *options, const char *option, bool with_value)
{
    size_t length = strcspn(option, "=");
    for (unsigned i = 0; i < options->count; i++) {
        const char *other = options->list[i];
        if (with_value ? strcmp(other, option) == 0
                       : strcspn(other, "=") == length && strncmp(other, option, length) == 0) {
            return true;
        }
    }
    return false;
}

static void need_all(const char *verb, const struct options *wanted, const char *where,
                     const struct options *there, bool with_value)
{
    for (unsigned i = 0; i < wanted->count; i++) {
        if (!has_option(there, wanted->list[i], with_value)) {
            FAIL("%s: %s is not in %s", verb, wanted->list[i], where);
        }
    }
}

TEST(help_man_page_and_guide_have_the_same_options)
{
    static struct options help[VERBS], man[VERBS], guide[VERBS];
    for (unsigned i = 4; i < VERBS; i++) { /* the first ones have no options */
        read_help(verbs[i], &help[i]);
        read_man(verbs[i], &man[i]);
        read_guide(verbs[i], &guide[i]);
        CHECK(help[i].count != 0);
        need_all(verbs[i], &help[i], "the man page", &man[i], true);
        need_all(verbs[i], &man[i], "--help", &help[i], true);
        need_all(verbs[i], &help[i], "docs/guide/cli.md", &guide[i], false);
        need_all(verbs[i], &guide[i], "--help", &help[i], false);
    }
}

TEST(man_pages_render_without_warnings)
{
    static const char *const pages[] = {
        "sonde",         "sonde-stacks",  "sonde-show",      "sonde-doctor", "sonde-run",
        "sonde-index",   "sonde-export",  "sonde-symbolize", "sonde-types",  "sonde-blocks",
        "sonde-holders", "sonde-spool",   "sonde-upload",    "sonde-diff",   "sonde-watch",
        "sonde-audit",   "sonde-privacy", "sonde-mark"};
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
