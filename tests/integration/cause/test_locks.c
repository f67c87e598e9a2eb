// SPDX-License-Identifier: Apache-2.0
/* `sonde stacks` of threads that wait for locks: each line agrees with the program's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "start.h"
#include "test.h"

static char truth_path[512];

static pid_t start_locks(const char *program, const char *what)
{
    snprintf(truth_path, sizeof truth_path, "%s/truth", test_folder());
    const char *const argv[] = {program, what, truth_path, NULL};
    pid_t pid = start_program(argv);
    wait_blocked(pid);
    return pid;
}

static struct test_run stacks_of(pid_t pid)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    const char *const argv[] = {sonde_program(), "stacks", "--unfolded", "--no-names", text, NULL};
    return test_run(argv, NULL, NULL, 60);
}

/* The line that begins with "thread TID ". */
static void line_of(const char *text, const char *tid, char *ret_line, size_t capacity)
{
    char head[64];
    snprintf(head, sizeof head, "\nthread %s ", tid);
    const char *at = strstr(text, head);
    if (at == NULL) {
        FAIL("thread %s is not in: %s", tid, text);
    }
    snprintf(ret_line, capacity, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
}

/* Check each line of the program's file: "TID what it waits for". Returns the number of lines. */
static unsigned check_truth(const char *text)
{
    char *truth = test_read_file(truth_path, NULL), *rest = truth;
    unsigned count = 0;
    for (char *line = strsep(&rest, "\n"); line != NULL && line[0] != '\0'; count++) {
        char shown[1024];
        char *expected = strchr(line, ' ');
        *expected++ = '\0';
        line_of(text, line, shown, sizeof shown);
        CHECK_CONTAINS(shown, expected);
        line = strsep(&rest, "\n");
    }
    free(truth);
    return count;
}

static void check_all(const char *program, unsigned count)
{
    pid_t pid = start_locks(program, "all");
    struct test_run run = stacks_of(pid);
    CHECK_EQ(run.status, 0);
    CHECK_EQ(check_truth(run.out), count);
    CHECK(strstr(run.out, "deadlock") == NULL);
    CHECK(strstr(run.out, "circle") == NULL);
    test_run_done(&run);
    stop_program(pid);
}

TEST(locks_of_glibc)
{
    check_all(test_program("cause", "cause_locks"), 19);
}

TEST(locks_of_a_static_program)
{
    check_all(test_program("cause", "cause_locks_static"), 19);
}

/* musl does not record owners, and sonde invents none. */
TEST(locks_of_musl)
{
    char command[2048], path[1024];
    if (system("command -v musl-gcc >/dev/null 2>&1") != 0) {
        SKIP("no musl-gcc");
    }
    for (unsigned is_static = 0; is_static < 2; is_static++) {
        snprintf(path, sizeof path, "%s/locks_musl", test_folder());
        snprintf(command, sizeof command,
                 "musl-gcc %s -O1 -o '%s' '%s/tests/integration/cause/locks.c'",
                 is_static ? "-static" : "", path, test_source_dir());
        CHECK_EQ(system(command), 0);
        check_all(path, 18);
    }
}

static void check_circle(unsigned size)
{
    char what[16];
    snprintf(what, sizeof what, "circle %u", size);
    pid_t pid = start_locks(test_program("cause", "cause_locks"), what);
    struct test_run run = stacks_of(pid);
    CHECK_EQ(check_truth(run.out), size);
    /* below the heading, with each of its threads and the program's own line of it */
    const char *top = strchr(run.out, '\n') + 1;
    CHECK(strncmp(top, "deadlock: ", 10) == 0);
    char *line = strndup(top, strcspn(top, "\n"));
    char *truth = test_read_file(truth_path, NULL), *rest = truth;
    for (char *wait = strsep(&rest, "\n"); wait != NULL && wait[0] != '\0';
         wait = strsep(&rest, "\n")) {
        char expected[300], *resource = strchr(wait, ' ');
        *resource++ = '\0';
        snprintf(expected, sizeof expected, "thread %s (ring-", wait);
        CHECK_CONTAINS(line, expected);
        CHECK_CONTAINS(line, resource);
    }
    CHECK(strstr(top + strlen(line), "deadlock") == NULL); /* printed once */
    free(truth);
    free(line);
    test_run_done(&run);
    stop_program(pid);
}

TEST(deadlocks)
{
    check_circle(2);
    check_circle(3);
    check_circle(8);
}

TEST(a_thread_that_waits_for_itself)
{
    pid_t pid = start_locks(test_program("cause", "cause_locks"), "itself");
    struct test_run run = stacks_of(pid);
    CHECK_EQ(check_truth(run.out), 1);
    CHECK_CONTAINS(run.out, "\ndeadlock: ");
    test_run_done(&run);
    stop_program(pid);
}

TEST(a_thread_that_waits_for_the_end_of_its_waiter)
{
    pid_t pid = start_locks(test_program("cause", "cause_locks"), "join");
    struct test_run run = stacks_of(pid);
    char expected[64];
    CHECK_EQ(check_truth(run.out), 2);
    snprintf(expected, sizeof expected, "\ndeadlock: thread %d (holder) waits for the end of ",
             (int)pid);
    CHECK_CONTAINS(run.out, expected);
    test_run_done(&run);
    stop_program(pid);
}

/* A mutex in shared memory: the waiting thread belongs to another process. */
TEST(a_mutex_that_another_process_holds)
{
    char waiter[16], shown[1024];
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t pid = start_locks(test_program("cause", "cause_locks"), "shared");
    char *truth = NULL;
    for (unsigned i = 0; i < 1000 && (truth == NULL || strchr(truth, '\n') == NULL); i++) {
        free(truth);
        usleep(10000);
        truth = test_read_file(truth_path, NULL);
    }
    snprintf(waiter, sizeof waiter, "%d", atoi(truth));
    wait_blocked(atoi(waiter));
    struct test_run run = stacks_of(atoi(waiter));
    line_of(run.out, waiter, shown, sizeof shown);
    truth[strcspn(truth, "\n")] = '\0';
    CHECK_CONTAINS(shown, strchr(truth, ' ') + 1);
    free(truth);
    test_run_done(&run);
    stop_program(pid);
    CHECK_EQ(waitpid(atoi(waiter), NULL, 0), atoi(waiter));
}
