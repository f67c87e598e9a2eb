// SPDX-License-Identifier: Apache-2.0
#include "same.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The watched run has every line of the plain run, in order. Other lines are sonde's: it prints
 * stalls to stderr. */
static void compare_errors(const char *watched, const char *plain)
{
    while (*plain != '\0') {
        size_t size = strcspn(plain, "\n");
        size += plain[size] == '\n';
        while (strncmp(watched, plain, size) != 0) {
            if (*watched == '\0') {
                FAIL("stderr: watched has no line \"%.*s\"", (int)size, plain);
            }
            watched += strcspn(watched, "\n");
            watched += *watched == '\n';
        }
        watched += size;
        plain += size;
    }
}

/* Says the first line that differs. */
static void compare_lines(const char *watched, const char *plain)
{
    unsigned line = 1;
    while (*watched != '\0' || *plain != '\0') {
        size_t a = strcspn(watched, "\n");
        size_t b = strcspn(plain, "\n");
        a += watched[a] != '\0';
        b += plain[b] != '\0';
        if (a != b || memcmp(watched, plain, a) != 0) {
            FAIL("stdout, line %u: watched \"%.*s\", plain \"%.*s\"", line, (int)a, watched, (int)b,
                 plain);
        }
        watched += a;
        plain += b;
        line++;
    }
}

static void compare(struct test_run *plain, struct test_run *watched, int status)
{
    if (plain->timed_out || watched->timed_out) {
        FAIL("the %s run did not end: out %s err %s", plain->timed_out ? "plain" : "watched",
             plain->timed_out ? plain->out : watched->out,
             plain->timed_out ? plain->err : watched->err);
    }
    if (plain->status != status) {
        FAIL("the plain run ended with %d: %s%s", plain->status, plain->out, plain->err);
    }
    if (watched->status != plain->status) {
        FAIL("watched: status %d, plain: %d; watched out: %s err: %s", watched->status,
             plain->status, watched->out, watched->err);
    }
    compare_lines(watched->out, plain->out);
    compare_errors(watched->err, plain->err);
}

/* Also for programs that run as somebody else. */
static const char *report_path(void)
{
    static char path[128];
    static unsigned number;
    snprintf(path, sizeof path, "%s/report.%u", test_folder(), number++);
    chmod(test_folder(), 0711);
    test_write_file(path, "", 0);
    chmod(path, 0666);
    return path;
}

/* Names that look like ours and are the user's. */
static const char *const own_settings[] = {"LD_PRELOAD_OTHER=kept", "SONDE_OWN_SETTING=kept", NULL};

void check_same(const char *const argv[], const char *input, int status)
{
    const char *list[64] = {program_sonde(), "run", "--quiet", "--report", report_path(), "--"};
    for (size_t n = 6; *argv != NULL && n + 1 < 64; n++) {
        list[n] = argv[n - 6];
        if (argv[n - 6] == NULL) {
            break;
        }
    }
    struct test_run plain = test_run(argv, own_settings, input, SAME_TIMEOUT_S);
    struct test_run watched = test_run(list, own_settings, input, SAME_TIMEOUT_S);
    compare(&plain, &watched, status);
    test_run_done(&plain);
    test_run_done(&watched);
}

/* Both runs get a folder of the same name: the first one is moved away before the second. */
static struct test_run run_script(const char *const argv[], const char *input)
{
    char folder[128];
    char used[128];
    char programs[4200], scripts[4200], own[160];
    static unsigned number;
    snprintf(folder, sizeof folder, "%s/folder", test_folder());
    snprintf(used, sizeof used, "%s/used.%u", test_folder(), number++);
    (void)rename(folder, used);
    mkdir(folder, 0777);
    snprintf(programs, sizeof programs, "PROGRAMS=%s", program_built("compat"));
    snprintf(scripts, sizeof scripts, "SCRIPTS=%s", program_source("compat"));
    snprintf(own, sizeof own, "FOLDER=%s", folder);
    return test_run(argv, (const char *[]){programs, scripts, own, NULL}, input, SAME_TIMEOUT_S);
}

static void compare_scripts(const char *option, const char *script, const char *input, int status,
                            char **ret_out)
{
    const char *const plain_argv[] = {"bash", "-c", script, "script", NULL};
    const char *const watched_argv[] = {"bash",          "-c",   script,    "script",
                                        program_sonde(), "run",  "--quiet", "--report",
                                        report_path(),   option, "--",      NULL};
    struct test_run plain = run_script(plain_argv, input);
    struct test_run watched = run_script(watched_argv, input);
    compare(&plain, &watched, status);
    if (ret_out != NULL) {
        *ret_out = strdup(plain.out);
    }
    test_run_done(&plain);
    test_run_done(&watched);
}

void check_script(const char *script, const char *input, int status, char **ret_out)
{
    compare_scripts("--stall=250ms", script, input, status, ret_out);
}

void check_followed(const char *script, int status, char **ret_out)
{
    compare_scripts("--follow", script, NULL, status, ret_out);
}
