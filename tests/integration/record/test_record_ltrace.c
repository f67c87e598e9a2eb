// SPDX-License-Identifier: Apache-2.0
/* Counts of stock programs' own calls against ltrace's, which stops at their linkage tables. ltrace
 * misses calls by pointer, and calls of libraries: only stacks with frame 0 in the program
 * count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

static const char *const functions[] = {
    "getenv", "strlen",   "strchr",  "strrchr", "strncmp", "memcpy",    "memmove",    "memcmp",
    "strtol", "realpath", "qsort",   "fclose",  "opendir", "closedir",  "setlocale",  "textdomain",
    "isatty", "regcomp",  "regexec", "fnmatch", "close",   "sigaction", "localeconv",
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* "100.00    0.002053          41        50 strlen" */
static unsigned long long count_ltrace(const char *text, const char *function)
{
    char name[64];
    unsigned long long count = 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (sscanf(line, "%*f %*f %*u %llu %63s", &count, name) == 2 &&
            strcmp(name, function) == 0) {
            return count;
        }
    }
    return 0;
}

/* Of stacks whose frame 0 is in `image`. */
static unsigned long long count_sonde(const char *text, const char *function, const char *image)
{
    char head[64], place[64];
    unsigned long long sum = 0, count = 0;
    snprintf(head, sizeof head, "\n%s  ", function);
    snprintf(place, sizeof place, " %s+0x", image);
    const char *line = strstr(text, head);
    for (line = line != NULL ? strchr(line + 1, '\n') : NULL; line != NULL && line[1] == ' ';
         line = strchr(line + 1, '\n')) {
        const char *end = strchr(line + 1, '\n');
        const char *at = strstr(line, place);
        if (sscanf(line, " %llu call", &count) == 1 && line[3] != ' ') {
            continue;
        }
        if (strncmp(line, "\n    #0 ", 8) == 0 && at != NULL && (end == NULL || at < end)) {
            sum += count;
        }
    }
    return sum;
}

static void check_program(const char *const argv[])
{
    const char *traced[32] = {"ltrace", "-c", "-o", NULL, "-e", NULL};
    const char *recorded[32] = {program_sonde(), "run", "--record", NULL, "--top=all", "--"};
    char wanted[1024] = "", list[512], out[512];
    snprintf(list, sizeof list, "%s/list", test_folder());
    snprintf(out, sizeof out, "%s/ltrace", test_folder());
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        strcat(strcat(wanted, i > 0 ? "\n" : ""), functions[i]);
    }
    test_write_file(list, wanted, strlen(wanted));
    for (char *c = wanted; *c != '\0'; c++) {
        *c = *c == '\n' ? '+' : *c;
    }
    traced[3] = out;
    traced[5] = wanted;
    recorded[3] = list;
    for (unsigned i = 0; argv[i] != NULL; i++) {
        traced[6 + i] = recorded[6 + i] = argv[i];
    }
    const char *env[] = {"PERL_HASH_SEED=0", NULL}; /* the same calls each time */
    struct test_run plain = test_run(traced, env, "b\na\n", 120);
    struct test_run run = test_run(recorded, env, "b\na\n", 120);
    char *text = test_read_file(out, NULL);
    unsigned long long calls = 0;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        unsigned long long said = count_ltrace(text, functions[i]);
        unsigned long long seen = count_sonde(run.err, functions[i], strrchr(argv[0], '/') + 1);
        calls += seen;
        if (said != seen) {
            test_fail(__FILE__, __LINE__, "%s: %s: %llu calls of ltrace's, %llu recorded", argv[0],
                      functions[i], said, seen);
        }
    }
    CHECK(calls > 0);
    CHECK(run.status < 125);
    free(text);
    test_run_done(&plain);
    test_run_done(&run);
}

TEST(stock_programs_count_as_ltrace_counts)
{
    static const char *const programs[][8] = {
        {"/usr/bin/grep", "-r", "root", "/etc/passwd"},
        {"/usr/bin/sed", "s/a/b/", "/etc/passwd"},
        {"/usr/bin/date"},
        {"/usr/bin/wc", "/etc/passwd"},
        {"/usr/bin/perl", "-e", "print sort keys %ENV"},
        {"/usr/bin/gzip", "-c", "/etc/passwd"},
        {"/usr/bin/make", "--version"},
        {"/usr/bin/diff", "/etc/passwd", "/etc/group"},
        {"/usr/bin/sort", "/etc/passwd"},
        {"/usr/bin/tar", "cf", "/dev/null", "/etc/passwd"},
    };
    if (!program_on_path("ltrace")) {
        SKIP("ltrace is not installed");
    }
    unsigned count = test_long() ? sizeof programs / sizeof *programs : 3;
    for (unsigned i = 0; i < count; i++) {
        if (access(programs[i][0], X_OK) == 0) {
            check_program(programs[i]);
        }
    }
}
