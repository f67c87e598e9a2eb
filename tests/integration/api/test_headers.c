// SPDX-License-Identifier: Apache-2.0
/* Each public header compiles alone, as C99, C11 and C++11, with gcc and clang, and
 * defines no macro that is not its own. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

static void each_header(void (*check)(const char *path))
{
    char folder[4096];
    unsigned seen = 0;
    snprintf(folder, sizeof folder, "%s/include/sonde", test_source_dir());
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 2 && strcmp(entry->d_name + length - 2, ".h") == 0) {
            char path[8192];
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            check(path);
            seen++;
        }
    }
    closedir(dir);
    CHECK(seen >= 14);
}

static struct test_run compile(const char *path, const char *compiler, const char *language,
                               const char *standard, const char *mode)
{
    char include[4096];
    snprintf(include, sizeof include, "-I%s/include", test_source_dir());
    const char *const argv[] = {compiler,   "-x",      language,    standard, "-pedantic-errors",
                                "-Wall",    "-Wextra", "-Werror",   include,  mode,
                                "-include", path,      "/dev/null", NULL};
    return test_run(argv, NULL, NULL, 60);
}

static void check_compiles(const char *path)
{
    static const struct {
        const char *compiler, *language, *standard;
    } ways[] = {{"gcc", "c", "-std=c99"},
                {"gcc", "c", "-std=c11"},
                {"g++", "c++", "-std=c++11"},
                {"clang", "c", "-std=c99"},
                {"clang", "c++", "-std=c++11"}};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct test_run run =
            compile(path, ways[i].compiler, ways[i].language, ways[i].standard, "-fsyntax-only");
        if (run.status != 0) {
            FAIL("%s %s: %s", ways[i].compiler, ways[i].standard, run.err);
        }
        test_run_done(&run);
    }
}

TEST_TIMEOUT(headers_compile_alone, 120)
{
    each_header(check_compiles);
}

/* `cc -E -dD` prints each #define where it stands, after a marker of its file. */
static void check_macros(const char *path)
{
    struct test_run run = compile(path, "cc", "c", "-std=c99", "-E");
    test_run_done(&run);
    char include[4096];
    snprintf(include, sizeof include, "-I%s/include", test_source_dir());
    const char *const argv[] = {"cc", "-x", "c", "-std=c99", include, "-E", "-dD", path, NULL};
    run = test_run(argv, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    bool is_ours = false;
    unsigned defined = 0;
    for (char *line = strtok(run.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] == '#' && line[1] == ' ') {
            is_ours = strstr(line, "include/sonde/") != NULL;
        } else if (is_ours && strncmp(line, "#define ", 8) == 0) {
            defined++;
            if (strncmp(line + 8, "SONDE_", 6) != 0 && strncmp(line + 8, "sonde_", 6) != 0) {
                FAIL("%s leaks: %s", path, line);
            }
        }
    }
    CHECK(defined > 0);
    test_run_done(&run);
}

TEST_TIMEOUT(headers_leak_no_macro, 120)
{
    each_header(check_macros);
}
