// SPDX-License-Identifier: Apache-2.0
/* `sonde doctor PID` of processes that are hard to read, each for another reason. */
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static struct test_run doctor(pid_t pid)
{
    char pid_text[16];
    const char *const argv[] = {sonde_program(), "doctor", pid_text, NULL};
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    return test_run(argv, NULL, NULL, 60);
}

/* The line of `what` has `says` in it. */
static void check_finding(const char *out, const char *state, const char *what, const char *says)
{
    char head[64];
    char line[512];
    const char *at;
    snprintf(head, sizeof head, "%-8s%-17s ", state, what);
    at = strstr(out, head);
    if (at == NULL) {
        FAIL("no \"%s\" in: %s", head, out);
    }
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    CHECK_CONTAINS(line, says);
}

/* Build the waiter with another compiler or other options; false: no such compiler. */
static bool build(const char *compiler, const char *option, const char *path)
{
    char source[512];
    const char *const argv[] = {compiler,   source,          "-o",   path,
                                "-pthread", "-D_GNU_SOURCE", option, NULL};
    struct test_run run;
    snprintf(source, sizeof source, "%s/tests/integration/support/waiter.c", test_source_dir());
    run = test_run(argv, NULL, NULL, 60);
    test_run_done(&run);
    return access(path, X_OK) == 0;
}

/* The sonde program without its other files: doctor reports it, with a remedy. */
TEST(a_missing_probe_is_reported)
{
    char sonde[512], alone[512];
    size_t size;
    snprintf(sonde, sizeof sonde, "%s/cli/sonde", test_build_dir());
    snprintf(alone, sizeof alone, "%s/sonde", test_folder());
    char *bytes = test_read_file(sonde, &size);
    test_write_file(alone, bytes, size);
    free(bytes);
    CHECK_OK(chmod(alone, 0755));
    const char *there[] = {sonde, "doctor", NULL};
    struct test_run run = test_run(there, NULL, NULL, 30);
    CHECK_CONTAINS(run.out, "libsonde-preload.so can be loaded");
    test_run_done(&run);
    const char *missing[] = {alone, "doctor", NULL};
    run = test_run(missing, NULL, NULL, 30);
    CHECK_CONTAINS(run.out, "libsonde-preload.so is not beside this program");
    test_run_done(&run);
}

TEST(a_usual_process)
{
    const char *const program[] = {test_program("support", "waiter"), NULL};
    pid_t pid = start_program(program);
    struct test_run run = doctor(pid);
    check_finding(run.out, "ok", "process", "waiter");
    check_finding(run.out, "ok", "process", "3 threads");
    check_finding(run.out, "ok", "program", "64-bit");
    check_finding(run.out, "ok", "libc", "glibc");
    check_finding(run.out, "ok", "rights", "can be read");
    check_finding(run.out, "ok", "tracer", "none");
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_traced_process)
{
    const char *const program[] = {test_program("support", "waiter"), NULL};
    pid_t pid = start_program(program);
    char says[64];
    struct test_run run;
    CHECK_EQ(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    run = doctor(pid);
    snprintf(says, sizeof says, "process %d ", (int)getpid());
    check_finding(run.out, "limited", "tracer", says);
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_process_that_has_ended)
{
    siginfo_t info;
    struct test_run run;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    run = doctor(pid);
    CHECK_EQ(run.status, 1);
    check_finding(run.out, "no", "process", "has ended");
    test_run_done(&run);
    waitpid(pid, NULL, 0);
    run = doctor(pid);
    CHECK_EQ(run.status, 3);
    check_one_line(run.err, "no such process");
    test_run_done(&run);
}

TEST(a_static_program)
{
    char path[256];
    const char *const program[] = {path, NULL};
    struct test_run run;
    pid_t pid;
    snprintf(path, sizeof path, "%s/static", test_folder());
    if (!build("cc", "-static", path)) {
        SKIP("no static libc");
    }
    pid = start_program(program);
    run = doctor(pid);
    check_finding(run.out, "limited", "libc", "static");
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_program_of_another_libc)
{
    char path[256];
    const char *const program[] = {path, NULL};
    struct test_run run;
    pid_t pid;
    snprintf(path, sizeof path, "%s/musl", test_folder());
    if (!build("musl-gcc", "-O1", path)) {
        SKIP("no musl-gcc");
    }
    pid = start_program(program);
    run = doctor(pid);
    check_finding(run.out, "limited", "libc", "musl");
    test_run_done(&run);
    stop_program(pid);
}

enum { NOBODY = 65534 };

/* Run `sonde doctor` as nobody, from a copy that nobody can reach; `before` is the command that
 * starts it. */
static struct test_run doctor_as_nobody(const char *before, pid_t pid)
{
    char command[1024];
    const char *const argv[] = {"sh", "-c", command, NULL};
    snprintf(command, sizeof command,
             "chmod 755 %s && cp -n %s %s/sonde && exec setpriv --reuid %d --regid %d "
             "--clear-groups --inh-caps=-all %s %s/sonde doctor %d",
             test_folder(), sonde_program(), test_folder(), NOBODY, NOBODY, before, test_folder(),
             (int)pid);
    return test_run(argv, NULL, NULL, 60);
}

/* Start a child with these ids that calls `change` and waits. */
static pid_t start_child(unsigned user, unsigned group, bool is_dumpable, void (*change)(void))
{
    int ends[2];
    char ready;
    CHECK_EQ(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool is_changed = setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 &&
                          prctl(PR_SET_KEEPCAPS, change != NULL) == 0 &&
                          setresuid(user, user, user) == 0;
        if (change != NULL) {
            change();
        }
        (void)prctl(PR_SET_DUMPABLE, is_dumpable);
        _exit(!is_changed || write(ends[1], "", 1) != 1 || pause());
    }
    close(ends[1]);
    CHECK_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    return pid;
}

static void check_refused(pid_t pid, const char *before, const char *says, const char *advice)
{
    struct test_run run = doctor_as_nobody(before, pid);
    CHECK_EQ(run.status, 1);
    check_finding(run.out, "no", "rights", says);
    CHECK_CONTAINS(run.out, advice);
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_process_of_another_user)
{
    if (geteuid() != 0) {
        struct test_run run = doctor(1);
        CHECK_EQ(run.status, 1);
        check_finding(run.out, "no", "rights", "it belongs to user 0");
        test_run_done(&run);
        return;
    }
    const char *const program[] = {test_program("support", "waiter"), NULL};
    check_refused(start_program(program), "", "it belongs to user 0", "-> run as root");
}

static void take_setuid_ids(void)
{
    (void)!setresuid(NOBODY, 1, 1);
}

/* The child keeps its capabilities when it changes the user. */
static void keep_capabilities(void) {}

TEST(reasons_for_the_same_user)
{
    if (geteuid() != 0) {
        SKIP("needs root, to be somebody else");
    }
    check_refused(start_child(NOBODY, NOBODY, false, NULL), "", "it is not dumpable",
                  "-> run as root");
    check_refused(start_child(NOBODY, 1, true, NULL), "", "it runs with group 1, which is not ours",
                  "-> run as root");
    check_refused(start_child(NOBODY, NOBODY, true, keep_capabilities), "",
                  "it has capabilities that sonde lacks (0x", "-> run as root");
    check_refused(start_child(0, NOBODY, true, take_setuid_ids), "",
                  "it is setuid: user 65534 runs it as user 1", "-> run as root");
    struct test_run run = doctor_as_nobody("", 1);
    check_finding(run.out, "no", "rights", "it belongs to user 0");
    test_run_done(&run);
    pid_t pid = start_child(NOBODY, NOBODY, true, NULL);
    run = doctor_as_nobody("", pid);
    check_finding(run.out, "ok", "rights", "can be read");
    check_finding(run.out, "ok", "namespaces", "those of sonde");
    test_run_done(&run);
    stop_program(pid);
}

/* sonde in a user namespace of its own, the process outside. */
TEST(a_process_outside_of_the_user_namespace)
{
    const char *const probe[] = {"unshare", "-U", "true", NULL};
    struct test_run run = test_run(probe, NULL, NULL, 30);
    int refused = run.status;
    test_run_done(&run);
    if (geteuid() != 0 || refused != 0) {
        SKIP("needs root, and user namespaces");
    }
    check_refused(start_child(NOBODY, NOBODY, true, NULL), "unshare -Ur",
                  "it is in another user namespace", "outside of this container");
}

/* The process is in namespaces of its own, sonde outside: it can be read. */
TEST(a_process_in_namespaces_of_its_own)
{
    const char *const program[] = {
        "unshare", "-Urpm", "--fork", "--kill-child", test_program("support", "waiter"), NULL};
    const char *const probe[] = {"unshare", "-Urpm", "--fork", "true", NULL};
    struct test_run run = test_run(probe, NULL, NULL, 30);
    int refused = run.status;
    char path[64];
    test_run_done(&run);
    if (refused != 0) {
        SKIP("no user namespaces");
    }
    pid_t pid = start_program(program);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    char *children = test_read_file(path, NULL);
    pid_t inner = (pid_t)atoi(children);
    run = doctor(inner);
    check_finding(run.out, "ok", "rights", "can be read");
    check_finding(run.out, "ok", "namespaces", "its own (a container?): user, pid, mnt");
    test_run_done(&run);
    free(children);
    kill(inner, SIGKILL);
    waitpid(pid, NULL, 0); /* unshare waits for its child */
}
