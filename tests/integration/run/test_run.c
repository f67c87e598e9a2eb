// SPDX-License-Identifier: Apache-2.0
/* `sonde run` changes nothing: status, signals, output, environment, process. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "programs.h"
#include "test.h"

static const char *sonde(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/cli/sonde", test_build_dir());
    return path;
}

/* Run a shell command with and without sonde; both results must be equal. */
static void check_same(const char *command)
{
    const char *plain[] = {"/bin/sh", "-c", command, NULL};
    const char *watched[] = {sonde(), "run", "--quiet", "--", "/bin/sh", "-c", command, NULL};
    struct test_run a = test_run(plain, NULL, "input\n", 30);
    struct test_run b = test_run(watched, NULL, "input\n", 30);
    CHECK_STR(b.out, a.out);
    CHECK_STR(b.err, a.err);
    CHECK_EQ(b.status, a.status);
    test_run_done(&a);
    test_run_done(&b);
}

TEST(exit_status_and_signals)
{
    check_same("exit 0");
    check_same("exit 7");
    check_same("kill -TERM $$");
    check_same("kill -KILL $$");
    check_same("trap 'echo caught; exit 3' USR1; kill -USR1 $$");
}

TEST(output_and_input)
{
    check_same("cat; echo to-out; echo to-err >&2");
}

TEST(environment_is_the_same_and_in_the_same_order)
{
    const char *plain[] = {"/usr/bin/env", NULL};
    const char *watched[] = {sonde(), "run", "/usr/bin/env", NULL};
    struct test_run a = test_run(plain, NULL, NULL, 10);
    struct test_run b = test_run(watched, NULL, NULL, 10);
    CHECK_STR(b.out, a.out);
    test_run_done(&a);
    test_run_done(&b);
}

TEST(former_preload_stays_where_it_was)
{
    const char *env[] = {"LD_PRELOAD=libm.so.6", "SONDE_TEST_AFTER=1", NULL};
    const char *plain[] = {"/usr/bin/env", NULL};
    const char *watched[] = {sonde(), "run", "/usr/bin/env", NULL};
    struct test_run a = test_run(plain, env, NULL, 10);
    struct test_run b = test_run(watched, env, NULL, 10);
    CHECK_CONTAINS(a.out, "LD_PRELOAD=libm.so.6\n");
    CHECK_STR(b.out, a.out);
    test_run_done(&a);
    test_run_done(&b);
}

TEST(descriptors_signals_and_children_are_the_same)
{
    check_same("ls -1 /proc/self/fd");
    check_same("grep -E '^(Sig(Blk|Ign|Cgt|Pnd)|ShdPnd|Threads|TracerPid)' /proc/self/status");
    check_same("sleep 0.1 & wait; echo $?");
}

TEST(it_is_the_process_that_was_started)
{
    int fds[2];
    char text[32] = "";
    CHECK_EQ(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(fds[1], 1);
        execl(sonde(), "sonde", "run", "--", "/bin/sh", "-c", "echo $$ $PPID", NULL);
        _exit(99);
    }
    close(fds[1]);
    CHECK(read(fds[0], text, sizeof text - 1) > 0);
    close(fds[0]);
    waitpid(child, NULL, 0);
    CHECK_EQ(atoi(text), child);
    CHECK_EQ(atoi(strchr(text, ' ')), getpid());
}

TEST(exec_failures_end_as_in_a_shell)
{
    const char *absent[] = {sonde(), "run", "/nonexistent/program", NULL};
    struct test_run run = test_run(absent, NULL, NULL, 10);
    CHECK_EQ(run.status, 127);
    CHECK_CONTAINS(run.err, "/nonexistent/program");
    test_run_done(&run);
    const char *folder[] = {sonde(), "run", "/tmp", NULL};
    run = test_run(folder, NULL, NULL, 10);
    CHECK_EQ(run.status, 126);
    test_run_done(&run);
}

TEST(script_without_interpreter_line)
{
    char path[512];
    snprintf(path, sizeof path, "%s/script", test_folder());
    test_write_file(path, "echo from-script $1\n", 20);
    chmod(path, 0755);
    const char *argv[] = {sonde(), "run", "--", path, "one", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 10);
    CHECK_STR(run.out, "from-script one\n");
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}

TEST(script_by_env)
{
    static const char script[] = "#!/usr/bin/env python3\n"
                                 "import sys, os, select\n"
                                 "print(sys.argv[1:], os.path.basename(sys.argv[0]))\n"
                                 "maps = open('/proc/self/maps').read()\n"
                                 "print('libsonde-preload' in maps, 'LD_PRELOAD' in os.environ)\n";
    char path[512];
    snprintf(path, sizeof path, "%s/by_env", test_folder());
    test_write_file(path, script, sizeof script - 1);
    chmod(path, 0755);
    const char *env[] = {"PATH=/usr/bin:/bin", NULL};
    const char *argv[] = {sonde(), "run", "--", path, "one", "two", NULL};
    struct test_run run = test_run(argv, env, NULL, 20);
    CHECK_STR(run.out, "['one', 'two'] by_env\nTrue False\n");
    test_run_done(&run);
}

TEST(usage)
{
    const char *none[] = {sonde(), "run", NULL};
    const char *bad[] = {sonde(), "run", "--stall", "soon", "true", NULL};
    struct test_run run = test_run(none, NULL, NULL, 10);
    CHECK_EQ(run.status, 2);
    test_run_done(&run);
    run = test_run(bad, NULL, NULL, 10);
    CHECK_EQ(run.status, 2);
    CHECK_CONTAINS(run.err, "soon");
    test_run_done(&run);
}

TEST(unwritable_report_is_an_error_before_the_program_starts)
{
    const char *argv[] = {sonde(), "run", "--report", "/nonexistent/x", "echo", "ran", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 10);
    CHECK_EQ(run.status, 125);
    CHECK_STR(run.out, "");
    CHECK_CONTAINS(run.err, "/nonexistent/x");
    test_run_done(&run);
}

TEST(timeout_aborts_what_hangs)
{
    const char *argv[] = {sonde(), "run",   "--timeout", "300ms", "--timeout-action",
                          "abort", "sleep", "60",        NULL};
    struct test_run run = test_run(argv, NULL, NULL, 50);
    CHECK_EQ(run.status, 128 + SIGABRT);
    CHECK_CONTAINS(run.err, "still runs after 300 ms");
    CHECK_CONTAINS(run.err, "nanosleep");
    test_run_done(&run);
}

/* Without pidfds sonde signals the program by its pid, as long as that pid is the program's, and
 * says so. */
TEST(timeout_aborts_where_pidfds_are_refused)
{
    static const char *const refused[][2] = {{"pidfd", "pidfd_open is refused"},
                                             {"pidfd-signal", "pidfd_send_signal is refused"}};
    char refuse[512];
    snprintf(refuse, sizeof refuse, "%s/tests/integration/support/refuse", test_build_dir());
    for (unsigned i = 0; i < 2; i++) {
        const char *argv[] = {refuse,  refused[i][0],      sonde(), "run",   "--timeout",
                              "300ms", "--timeout-action", "abort", "sleep", "60",
                              NULL};
        struct test_run run = test_run(argv, NULL, NULL, 50);
        CHECK_EQ(run.status, 128 + SIGABRT);
        CHECK_CONTAINS(run.err, "still runs after 300 ms");
        CHECK_CONTAINS(run.err, refused[i][1]);
        test_run_done(&run);
    }
}

/* Children, their children, one of another session, a stopped one; each has its own heading, in the
 * report too. */
TIMED_TEST(timeout_shows_all_that_the_program_started, 60)
{
    char command[2048];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(
        command, sizeof command,
        "cd %s; cat >s.sh <<'END'\n"
        "sleep 6001 & a=$!\n"
        "sh -c 'sleep 6002; :' & b=$!\n"
        "setsid sleep 6003 & c=$!\n"
        "sleep 6004 & d=$!\n"
        "sleep 0.3; kill -STOP $d; echo $a $b $c $d >pids; wait\n"
        "END\n"
        "%s run --report r --timeout %ums --timeout-action abort -- sh s.sh 2>err; echo $? >status;"
        "b=$(cut -d' ' -f2 pids); kill -KILL $(cat pids) $(cat /proc/$b/task/*/children); %s show "
        "r",
        test_folder(), sonde(), 1000 * test_slack(), sonde());
    struct test_run run = test_run(argv, NULL, NULL, 60);
    snprintf(command, sizeof command, "%s/err", test_folder());
    char *err = test_read_file(command, NULL);
    unsigned headings = 0;
    for (const char *at = err; (at = strstr(at, "\nprocess ")) != NULL; at++) {
        headings += strstr(at, "/sleep  ") != NULL && strstr(at, "/sleep  ") < strchr(at + 1, '\n');
    }
    if (headings != 4) {
        FAIL("%u processes are sleep:\n%s", headings, err);
    }
    CHECK_CONTAINS(err, "clock_nanosleep");
    CHECK_CONTAINS(err, "stopped");
    CHECK(strstr(err, "could not be read") == NULL);
    CHECK_CONTAINS(run.out, "\"sleep\" (main)  stopped in clock_nanosleep  process ");
    free(err);
    test_run_done(&run);
}

/* A thread whose wait the system does not show, and a process of which nothing may be read: both
 * are named in the dump, with the reason. */
TIMED_TEST(timeout_names_what_it_cannot_read, 60)
{
    static const char shell[] =
        "/usr/bin/python3 -c 'import ctypes, time; "
        "ctypes.CDLL(None).prctl(4, 0); time.sleep(1000)' >/dev/null 2>&1 & wait";
    char limit[32]; /* prctl(PR_SET_DUMPABLE, 0) */
    snprintf(limit, sizeof limit, "%ums", 1000 * test_slack());
    const char *refused[] = {program_built("support/refuse"),
                             "waits",
                             sonde(),
                             "run",
                             "--timeout",
                             limit,
                             "--timeout-action",
                             "abort",
                             "sleep",
                             "1000",
                             NULL};
    struct test_run run = test_run(refused, NULL, NULL, 60);
    CHECK_EQ(run.status, 128 + SIGABRT);
    CHECK_CONTAINS(run.err, " \"sleep\" (main)  blocked\n  note: /proc/");
    CHECK_CONTAINS(run.err, "/syscall may not be read");
    test_run_done(&run);
    const char *other[] = {
        "setpriv", "--reuid=65534",    "--clear-groups", sonde(), "run", "--timeout",
        limit,     "--timeout-action", "abort",          "sh",    "-c",  shell,
        NULL};
    run = test_run(other, NULL, NULL, 60);
    if (strstr(run.err, "setpriv:") != NULL) {
        SKIP("setpriv does not work here");
    }
    const char *at = strstr(run.err, "sonde run: process ");
    if (at == NULL) {
        FAIL("no process is named that cannot be read:\n%s", run.err);
    }
    kill(atoi(at + strlen("sonde run: process ")), SIGKILL);
    CHECK_EQ(run.status, 128 + SIGABRT);
    CHECK_CONTAINS(at, "python3");
    CHECK_CONTAINS(at, " could not be read: process ");
    CHECK_CONTAINS(at, " is not dumpable ");
    test_run_done(&run);
}

TEST(timeout_only_shows_when_asked_to)
{
    const char *argv[] = {sonde(), "run", "--timeout", "200ms", "sleep", "1", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 30);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.err, "still runs after 200 ms");
    test_run_done(&run);
}
