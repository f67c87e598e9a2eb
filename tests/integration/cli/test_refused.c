// SPDX-License-Identifier: Apache-2.0
/* Refusals of a container's profile, one at a time (support/refuse.c): sonde gets the same result
 * another way, or one line says what is missing and what to do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"
#include "test.h"

static struct test_run refused(const char *what, const char *verb, const char *option, pid_t pid)
{
    static char refuse[512];
    char pid_text[16];
    /* (a sanitizer looks for leaks by tracing) */
    const char *argv[] = {
        "env", "ASAN_OPTIONS=detect_leaks=0", refuse, what, sonde_program(), verb, pid_text, option,
        NULL};
    snprintf(refuse, sizeof refuse, "%s", test_program("support", "refuse"));
    snprintf(pid_text, sizeof pid_text, "%d", (int)pid);
    return test_run(what != NULL ? argv : argv + 4, NULL, NULL, 60);
}

static pid_t start_waiter(void)
{
    const char *const program[] = {test_program("support", "waiter"), "3", NULL};
    pid_t pid = start_program(program);
    wait_blocked(pid);
    return pid;
}

static pid_t start_running(void)
{
    const char *const program[] = {"sh", "-c", "echo ready; while :; do :; done", NULL};
    return start_program(program);
}

/* The text from the first thread on: the lines before it contain the stop's duration. */
static const char *threads_of(const struct test_run *run)
{
    const char *at = strstr(run->out, "\nthread ");
    if (at == NULL) {
        FAIL("no thread in: %s%s", run->out, run->err);
    }
    return at;
}

/* If the kernel does not show waits, sonde cannot know that a thread still waits as before, and
 * leaves out owners. Cut each thread's heading after its call. */
static void cut_owners(const char *text)
{
    char *at = (char *)(uintptr_t)text;
    while ((at = strstr(at, "blocked in ")) != NULL) {
        char *detail = strstr(at, "  "), *end = strchr(at, '\n');
        if (detail != NULL && end != NULL && detail < end) {
            memmove(detail, end, strlen(end) + 1);
        }
        at++;
    }
}

/* Nor can it know which call was resumed after an earlier stop: put its name where plain.out has
 * that of the waiter's sleep. */
static void put_resumed(const char *text)
{
    static const char sleep[] = "blocked in clock_nanosleep", name[] = "blocked in restart_syscall";
    char *at = strstr(text, sleep);
    CHECK_EQ(sizeof sleep, sizeof name);
    if (at != NULL) {
        memcpy(at, name, sizeof name - 1);
    }
}

/* As when nothing is refused: the same threads, frames, names, and owners. After a stop, a thread
 * that does not wait again yet has no owner: look again until both looks have all of them. */
static void check_same(pid_t pid, const char *what, const char *option)
{
    struct test_run plain, run;
    bool no_waits = strstr(what, "waits") != NULL, is_same = false;
    for (int i = 0; !is_same && i < (option != NULL ? 20 : 1); i++) {
        if (i > 0) {
            test_run_done(&run);
            test_run_done(&plain);
            wait_blocked(pid);
        }
        plain = refused(NULL, "stacks", option, pid);
        run = refused(what, "stacks", option, pid);
        if (plain.status != 0) {
            FAIL("with nothing refused: ended with %d, said %s%s", plain.status, plain.out,
                 plain.err);
        }
        if (no_waits) {
            CHECK_CONTAINS(run.out, "blocked in read  fd ");
            CHECK_CONTAINS(run.out, "blocked in futex  futex 0x");
            cut_owners(run.out);
            cut_owners(plain.out);
            put_resumed(plain.out);
        }
        is_same = run.status == 0 && strcmp(threads_of(&run), threads_of(&plain)) == 0 &&
                  (option == NULL || no_waits || strstr(run.out, ", held by thread ") != NULL);
    }
    if (!is_same) {
        FAIL("without %s: ended with %d, said %s%s, not %s", what, run.status, run.out, run.err,
             plain.out);
    }
    CHECK_CONTAINS(run.out, "wait_in_main+");
    test_run_done(&run);
    test_run_done(&plain);
}

/* An interrupted sleep continues as another call (restart_syscall). */
static void stop_once(pid_t pid)
{
    struct test_run run = refused(NULL, "stacks", "--stop", pid);
    test_run_done(&run);
    wait_blocked(pid);
}

TEST(memory_by_its_file_gives_the_same_stacks)
{
    pid_t pid = start_waiter();
    check_same(pid, "memory", NULL);
    check_same(pid, "no-memory", NULL);
    stop_once(pid);
    check_same(pid, "memory", "--stop");
    stop_program(pid);
}

/* A busy machine may leave the thread without a CPU for so long that it is not read: look again. */
static struct test_run refused_while_it_runs(const char *what, pid_t pid)
{
    struct test_run run = refused(what, "stacks", NULL, pid);
    for (int i = 0; i < 20 && strstr(run.err, "it could run, and had no CPU") != NULL; i++) {
        test_run_done(&run);
        run = refused(what, "stacks", NULL, pid);
    }
    return run;
}

TEST(a_running_thread_is_stopped_without_perf_and_the_report_says_so)
{
    pid_t pid = start_running();
    struct test_run run = refused_while_it_runs("perf,memory", pid);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "__libc_start");
    CHECK_CONTAINS(run.out, "perf events are refused");
    CHECK_CONTAINS(run.out, "[stopped for ");
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_running_thread_without_perf_and_ptrace)
{
    pid_t pid = start_running();
    struct test_run run = refused_while_it_runs("perf,ptrace", pid);
    CHECK_EQ(run.status, 4);
    check_one_line(run.err, "1 of 1 threads could not be read");
    CHECK_CONTAINS(run.err, "perf events");
    CHECK_CONTAINS(run.err, "ptrace");
    test_run_done(&run);
    stop_program(pid);
}

TEST(blocked_threads_whose_call_is_not_shown)
{
    pid_t pid = start_waiter();
    struct test_run run = refused("waits", "stacks", NULL, pid);
    CHECK_EQ(run.status, 4);
    check_one_line(run.err, "3 of 3 threads could not be read");
    CHECK_CONTAINS(run.err, "/syscall may not be read");
    CHECK_CONTAINS(run.err, "--stop");
    test_run_done(&run);
    stop_once(pid);
    check_same(pid, "waits", "--stop");
    check_same(pid, "waits,no-memory,perf", "--stop");
    stop_program(pid);
}

TEST(stop_without_ptrace)
{
    pid_t pid = start_waiter();
    struct test_run run = refused("ptrace", "stacks", "--stop", pid);
    CHECK_EQ(run.status, 4);
    CHECK_STR(run.out, "");
    check_one_line(run.err, "cannot stop the threads");
    test_run_done(&run);
    check_same(pid, "ptrace", NULL);
    stop_program(pid);
}

/* The doctor finds each refusal, and knows which has a substitute. */
TEST(the_doctor_says_what_is_refused)
{
    pid_t pid = start_waiter();
    struct test_run run = refused("memory,perf,ptrace", "doctor", NULL, pid);
    CHECK_EQ(run.status, 0);
    CHECK_CONTAINS(run.out, "limited process memory    process_vm_readv: Operation not permitted");
    CHECK_CONTAINS(run.out, "limited perf events       Operation not permitted");
    CHECK_CONTAINS(run.out, "limited ptrace ");
    test_run_done(&run);
    run = refused("waits", "doctor", NULL, pid);
    CHECK_EQ(run.status, 1);
    CHECK_CONTAINS(run.out, "no      blocked threads ");
    test_run_done(&run);
    stop_program(pid);
}
