// SPDX-License-Identifier: Apache-2.0
/* `sonde run --follow`: programs that the program executes are watched, and nothing else changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define TURNS "idle:20 idle:20 idle:20 idle:20 idle:20 idle:20 idle:20 idle:20 burn:600 idle:20"

static char sonde_path[512];

static struct test_run run_shell(const char *option, const char *command)
{
    snprintf(sonde_path, sizeof sonde_path, "%s/cli/sonde", test_build_dir());
    const char *plain[] = {"/bin/sh", "-c", command, NULL};
    const char *watched[] = {sonde_path, "run", "--quiet", option, "--",
                             "/bin/sh",  "-c",  command,   NULL};
    return test_run(option != NULL ? watched : plain, NULL, "input\n", 60);
}

static void check_same(const char *command)
{
    struct test_run a = run_shell(NULL, command);
    struct test_run b = run_shell("--follow", command);
    CHECK_STR(b.out, a.out);
    CHECK_STR(b.err, a.err);
    CHECK_EQ(b.status, a.status);
    test_run_done(&a);
    test_run_done(&b);
}

TEST(a_child_that_stalls_is_found_with_follow_only)
{
    char command[1024];
    snprintf(command, sizeof command,
             "sh -c '%s/tests/integration/run/run_loop %s >/dev/null 2>&1; true'; true",
             test_build_dir(), TURNS);
    struct test_run run = run_shell("--follow", command);
    CHECK_CONTAINS(run.err, "run_loop[");
    CHECK_CONTAINS(run.err, "\nstall 1: ");
    CHECK_CONTAINS(run.err, "stall_burn");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    run = run_shell("--verbose", command);
    CHECK(strstr(run.err, "\nstall 1: ") == NULL);
    test_run_done(&run);
}

TEST(nothing_else_changes)
{
    check_same("env; env -i A=1 /usr/bin/env; env");
    check_same("sh -c 'exit 7'; echo $?; sh -c 'kill -TERM $$'; echo $?");
    check_same("/nonexistent/x; echo $?; /tmp; echo $?; nosuchcommand; echo $?");
    check_same("ls -1 /proc/self/fd; cat; ls /nonexistent");
    check_same("grep -E '^(Sig(Blk|Ign|Cgt|Pnd)|ShdPnd|Threads|TracerPid)' /proc/self/status");
    check_same("bash -c 'exec -a -odd cat /proc/self/cmdline' | tr '\\0' ' '");
}

TEST(variables_for_the_loader_are_for_the_program)
{
    struct test_run a = run_shell(NULL, "ldd /bin/true | sed 's/(.*//'");
    struct test_run b = run_shell("--follow", "ldd /bin/true | sed 's/(.*//'");
    CHECK_STR(b.out, a.out);
    test_run_done(&a);
    test_run_done(&b);
}

TEST(a_script_without_interpreter_line_and_one_with_env)
{
    char path[512], command[1200];
    snprintf(path, sizeof path, "%s/plain", test_folder());
    test_write_file(path, "echo plain $0 $1\n", 17);
    snprintf(command, sizeof command,
             "cd %s; chmod 755 plain; ./plain one; "
             "printf '#!/usr/bin/env sh\\necho by-env $0 $1\\n' >by; chmod 755 by; ./by two; "
             "printf '#!/nonexistent/sh\\n' >no; chmod 755 no; env ./no; echo $?",
             test_folder());
    check_same(command);
}

TEST(a_static_child_is_reported_as_not_watched)
{
    char command[1200];
    snprintf(
        command, sizeof command,
        "cd %s; echo 'int puts(const char *); int main(void) { puts(\"hi\"); return 3; }' >s.c; "
        "cc -static s.c -o s && ./s 2>captured; echo $?; cat captured",
        test_folder());
    struct test_run run = run_shell("--follow", command);
    CHECK_STR(run.out, "hi\n3\n"); /* nothing captured: messages go to our stderr */
    CHECK_CONTAINS(run.err, "it is statically linked");
    test_run_done(&run);
}

TEST(a_program_for_which_no_supervisor_starts_is_reported)
{
    /* it depends on the descriptors that are open which limit leaves too few */
    struct test_run run = run_shell(
        "--follow", "for n in 16 14 12 10 9 8 7 6 5 4; do (ulimit -n $n; /bin/echo hi); done");
    CHECK_CONTAINS(run.out, "hi\n");
    CHECK_CONTAINS(run.err, "sonde run: echo[");
    CHECK_CONTAINS(run.err, "]: it is not watched: ");
    test_run_done(&run);
}

TEST(a_child_of_another_libc_runs)
{
    char command[1200];
    snprintf(
        command, sizeof command,
        "cd %s; echo 'int puts(const char *); int main(void) { puts(\"hi\"); return 3; }' >m.c; "
        "command -v musl-gcc >/dev/null || exit 99; musl-gcc m.c -o m && ./m; echo $?",
        test_folder());
    struct test_run run = run_shell("--follow", command);
    if (run.status == 99) {
        SKIP("no musl-gcc");
    }
    CHECK_CONTAINS(run.out, "hi\n3\n");
    CHECK_CONTAINS(run.err, "its C library is not glibc");
    test_run_done(&run);
}

/* Each sonde would be followed by the probe of the other one, for ever. */
static void check_within(const char *outer, const char *inner)
{
    char list[512], command[4096];
    snprintf(list, sizeof list, "%s/list", test_folder());
    FILE *file = fopen(list, "w");
    CHECK(file != NULL && fputs("getppid\n", file) >= 0 && fclose(file) == 0);
    snprintf(command, sizeof command,
             "%s/cli/sonde run --quiet %s -- %s/cli/sonde run --quiet %s -- sh -c 'cat; exit 7'",
             test_build_dir(), outer, test_build_dir(), inner);
    char *argv[] = {"/bin/sh", "-c", command, NULL};
    struct test_run run = test_run((const char *const *)argv,
                                   (const char *[]){"PATH=/usr/bin:/bin", NULL}, "in\n", 40);
    CHECK_STR(run.out, "in\n");
    CHECK_EQ(run.status, 7);
    test_run_done(&run);
}

TEST_TIMEOUT(a_watch_within_a_watch, 180)
{
    char record[600];
    snprintf(record, sizeof record, "--follow --record=%s/list", test_folder());
    check_within("", "");
    check_within("--follow", "--follow");
    check_within(record, "");
    check_within("", record);
}
