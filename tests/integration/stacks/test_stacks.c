// SPDX-License-Identifier: Apache-2.0
/* Stacks of stock programs equal gdb's (equals_gdb.py compares). Processes and files that cannot be
 * read give one line. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { NOBODY = 65534, GDB_TIMEOUT_S = 240 };

static const char *probe(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/integration/stacks/stacks_probe", test_build_dir());
    return path;
}

static void compare(const char *program, const char *debug)
{
    char script[4096];
    const char *argv[] = {"/usr/bin/python3", script, probe(), program, test_folder(), debug, NULL};
    struct test_run run;
    snprintf(script, sizeof script, "%s/tests/integration/stacks/equals_gdb.py", test_source_dir());
    run = test_run(argv, NULL, NULL, GDB_TIMEOUT_S);
    if (run.status == 77) {
        SKIP("%s", run.out);
    }
    if (run.status != 0 || run.timed_out) {
        FAIL("status %d: %s%s", run.status, run.out, run.err);
    }
    test_run_done(&run);
}

#define EQUALS_GDB(program)                                                                        \
    TEST_TIMEOUT(equals_gdb_##program, GDB_TIMEOUT_S + 10)                                         \
    {                                                                                              \
        compare(#program, NULL);                                                                   \
    }
EQUALS_GDB(python_blocked)
EQUALS_GDB(python_running)
EQUALS_GDB(node_blocked)
EQUALS_GDB(node_running)
EQUALS_GDB(perl)
EQUALS_GDB(sqlite3)
EQUALS_GDB(git)
EQUALS_GDB(xz)
EQUALS_GDB(bash)
EQUALS_GDB(gdb)
EQUALS_GDB(redis)
EQUALS_GDB(nginx)
EQUALS_GDB(postgres)

/* gdb without libc6-dbg has no more data than sonde */
TEST_TIMEOUT(equals_gdb_without_debug_files, GDB_TIMEOUT_S + 10)
{
    compare("python_blocked", "/nonexistent");
}

TEST_TIMEOUT(equals_gdb_without_debug_files_redis, GDB_TIMEOUT_S + 10)
{
    compare("redis", "/nonexistent");
}

/* without a stop: blocked threads are read passively */
TEST_TIMEOUT(equals_gdb_passively, GDB_TIMEOUT_S + 10)
{
    compare("python_blocked", "LIVE");
}

TEST_TIMEOUT(equals_gdb_passively_redis, GDB_TIMEOUT_S + 10)
{
    compare("redis", "LIVE");
}

TEST_TIMEOUT(equals_gdb_passively_postgres, GDB_TIMEOUT_S + 10)
{
    compare("postgres", "LIVE");
}

/* recursion and calls through pointers, of a program that keeps frame pointers */
TEST_TIMEOUT(equals_gdb_passively_with_frame_pointers, GDB_TIMEOUT_S + 10)
{
    compare("frame_pointers-O0", "LIVE");
    compare("frame_pointers-O1", "LIVE");
    compare("frame_pointers-O2", "LIVE");
}

/* --- what cannot be read --- */

/* Run the probe as `user` (0: the current user). */
static struct test_run probe_as(unsigned user, const char *arg, const char *file)
{
    char copy[4096], uid[32], gid[32];
    const char *as_other[] = {"setpriv", uid, gid, "--clear-groups", copy, arg, file, NULL};
    const char *as_self[] = {probe(), arg, file, NULL};
    size_t size;
    char *bytes;
    if (user == 0) {
        return test_run(as_self, NULL, NULL, 60);
    }
    /* in a place where that user may execute it */
    snprintf(copy, sizeof copy, "%s/probe", test_folder());
    snprintf(uid, sizeof uid, "--reuid=%u", user);
    snprintf(gid, sizeof gid, "--regid=%u", user);
    bytes = test_read_file(probe(), &size);
    test_write_file(copy, bytes, size);
    free(bytes);
    CHECK_OK(chmod(test_folder(), 0755));
    CHECK_OK(chmod(copy, 0755));
    return test_run(as_other, NULL, NULL, 60);
}

static void check_refused(unsigned user, pid_t pid, const char *status, const char *text)
{
    char number[32];
    struct test_run run;
    snprintf(number, sizeof number, "%d", pid);
    run = probe_as(user, number, NULL);
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.out, status);
    CHECK_CONTAINS(run.out, text);
    CHECK(strchr(run.out, '\n') == run.out + run.out_size - 1); /* one line */
    test_run_done(&run);
}

/* Start a child that calls `prepare` and waits until it is killed. */
static pid_t start_child(void (*prepare)(void))
{
    int ready[2];
    char c;
    pid_t child;
    CHECK_OK(pipe(ready));
    child = fork();
    if (child == 0) {
        prepare();
        (void)!write(ready[1], "x", 1);
        for (;;) {
            pause();
        }
    }
    CHECK_EQ(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void do_nothing(void) {}

static void become_nobody_and_hide(void)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0) {
        _exit(1);
    }
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

TEST(another_users_process)
{
    pid_t child;
    if (geteuid() != 0) {
        check_refused(0, 1, "DENIED", "belongs to user 0");
        return;
    }
    child = start_child(do_nothing);
    check_refused(NOBODY, child, "DENIED", "belongs to user 0");
    end_child(child);
}

TEST(a_process_that_is_not_dumpable)
{
    pid_t child;
    if (geteuid() != 0) {
        SKIP("needs root, to become another user");
    }
    child = start_child(become_nobody_and_hide);
    check_refused(NOBODY, child, "DENIED", "not dumpable");
    end_child(child);
}

TEST(no_such_process)
{
    check_refused(0, 0x7ffffff0, "ABSENT", "no such process");
}

TEST(a_zombie)
{
    siginfo_t info;
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    CHECK_OK(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
    check_refused(0, child, "ABSENT", "zombie");
    waitpid(child, NULL, 0);
}

TEST(files_that_are_not_cores_are_refused)
{
    char path[4096];
    struct test_run run = probe_as(0, "--core", "/nonexistent");
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.out, "ABSENT");
    test_run_done(&run);
    run = probe_as(0, "--core", "/bin/sh");
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.out, "not a core");
    test_run_done(&run);
    snprintf(path, sizeof path, "%s/text", test_folder());
    test_write_file(path, "this is no core\n", 16);
    run = probe_as(0, "--core", path);
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.out, "UNSUPPORTED");
    test_run_done(&run);
}

/* A core cut at any length gives its readable part, or one clear line; never a crash. */
TEST_TIMEOUT(a_core_that_is_cut_short, 120)
{
    char pid[32], prefix[4096], core[4200], cut[4200];
    const char *gcore[] = {"gcore", "-o", prefix, pid, NULL};
    pid_t child = start_child(do_nothing);
    struct test_run run;
    size_t size, whole = 0;
    char *bytes;
    snprintf(pid, sizeof pid, "%d", child);
    snprintf(prefix, sizeof prefix, "%s/core", test_folder());
    snprintf(core, sizeof core, "%s.%s", prefix, pid);
    snprintf(cut, sizeof cut, "%s/cut", test_folder());
    run = test_run(gcore, NULL, NULL, 60);
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
    end_child(child);
    bytes = test_read_file(core, &size);
    for (unsigned i = 0; i <= 40; i++) {
        size_t at = i < 20 ? i * 200 : size / 20 * (i - 20);
        test_write_file(cut, bytes, i == 40 ? size : at);
        run = probe_as(0, "--core", cut);
        CHECK(run.status == 0 || run.status == 1);
        CHECK(run.out_size > 0);
        CHECK(run.status == 1 || strncmp(run.out, "thread ", 7) == 0);
        whole += strstr(run.out, "OK root") != NULL;
        test_run_done(&run);
    }
    CHECK(whole >= 1); /* the uncut one */
    free(bytes);
}
