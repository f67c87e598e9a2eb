// SPDX-License-Identifier: Apache-2.0
/* Proves that the harness catches every kind of failure of a test. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "test_machine.h"

static void *volatile null_pointer;
static void *volatile kept;

TEST(passes)
{
    CHECK(true);
}

FAIL_TEST(catches_check, "not true: 1 == 2")
{
    CHECK(1 == 2);
}

FAIL_TEST(catches_check_eq, "3 (0x3) against 4 (0x4)")
{
    CHECK_EQ(3, 4);
}

FAIL_TEST(catches_check_str, "expected \"b\"")
{
    CHECK_STR("a", "b");
}

FAIL_TEST(catches_exit, "exited with 0 inside the test")
{
    exit(0);
}

FAIL_TEST(catches_early_exit_code, "exited with 3 inside the test")
{
    _exit(3);
}

FAIL_TEST(catches_abort, "signal 6")
{
    abort();
}

FAIL_TEST(catches_segv, "signal 11")
{
    signal(SIGSEGV, SIG_DFL); /* sanitizers install a handler of their own */
    *(volatile int *)null_pointer = 1;
}

TEST_ENTRY_(catches_timeout, TEST_EXPECT_FAIL, "timeout", 1, false)
{
    for (;;) {
        pause();
    }
}

FAIL_TEST(catches_fd_leak, "fd leak")
{
    int fd = dup(0);
    CHECK(fd >= 0);
}

static void *wait_forever(void *unused)
{
    (void)unused;
    for (;;) {
        pause();
    }
    return NULL;
}

static void start_thread(void)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, wait_forever, NULL), 0);
    CHECK_EQ(pthread_detach(thread), 0);
}

FAIL_TEST(catches_thread_leak, "leak")
{
    start_thread();
}

FAIL_TEST(catches_heap_leak, "heap leak")
{
    size_t before = test_heap_in_use();
    kept = malloc(100);
    if (test_heap_in_use() == before) {
        FAIL("heap leak: not checked here (sanitizer or emulator); the native run does");
    }
}

FAIL_TEST(catches_child_leak, "child process leak")
{
    if (fork() == 0) {
        wait_forever(NULL);
    }
}

TEST(runs_programs)
{
    const char *argv[] = {"sh", "-c", "cat; echo err >&2; echo $SONDE_X; exit 7", NULL};
    const char *env[] = {"SONDE_X=env", NULL};
    struct test_run run = test_run(argv, env, "in\n", 10);
    CHECK_EQ(run.status, 7);
    CHECK_STR(run.out, "in\nenv\n");
    CHECK_STR(run.err, "err\n");
    test_run_done(&run);
}

TEST(stops_programs_that_hang)
{
    const char *argv[] = {"sleep", "100", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 1);
    CHECK(run.timed_out);
    test_run_done(&run);
}

static void *burn(void *unused)
{
    for (volatile bool *ended = unused; !*ended;) {
    }
    return NULL;
}

/* Too many threads for the processors, for half a second. */
static void overload(void)
{
    enum { THREADS = 64 };
    static volatile bool ended;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_create(&threads[i], NULL, burn, (void *)(uintptr_t)&ended));
    }
    for (int i = 0; i < 80; i++) { /* longer if the harness, too, gets too little CPU */
        usleep(10000);
    }
    ended = true;
    for (int i = 0; i < THREADS; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
    }
}

TIMED_TEST(repeats_timed_tests_where_processors_lack, 30)
{
    overload();
    CHECK_EQ(test_slack(), 4);
}

TEST_ENTRY_(repeats_no_more_than_twice, TEST_EXPECT_FAIL, "slack is 4", 30, true)
{
    overload();
    FAIL("slack is %u", test_slack());
}

TEST_ENTRY_(repeats_no_check_that_nothing_excuses, TEST_EXPECT_FAIL, "not true: test_slack() > 1",
            30, true)
{
    overload();
    CHECK_ALWAYS(test_slack() > 1);
}

FAIL_TEST(repeats_no_other_tests, "slack is 1")
{
    overload();
    FAIL("slack is %u", test_slack());
}

/* Without waiting threads limits do not change, and no failure is excused. */
TEST(machine_that_is_quiet)
{
    struct test_machine machine = {0};
    CHECK(test_machine_slowdown(&machine) == 1);
    machine = (struct test_machine){.looks = 10, .sum = 5};
    CHECK(test_machine_slowdown(&machine) == 1);
    machine.sum = 40;
    CHECK(test_machine_slowdown(&machine) == 4);
    machine.sum = 4000;
    CHECK(test_machine_slowdown(&machine) == TEST_MACHINE_SLOWDOWN_MAX);
}

TEST(gives_a_folder)
{
    char path[256];
    size_t size;
    CHECK(strncmp(test_folder(), "/tmp/sonde-test-", 16) == 0);
    snprintf(path, sizeof path, "%s/file", test_folder());
    test_write_file(path, "text", 4);
    char *text = test_read_file(path, &size);
    CHECK_STR(text, "text");
    CHECK_EQ(size, 4);
    free(text);
}

TEST(gives_a_folder_without_a_child)
{
    const char *argv[] = {"/proc/self/exe", "--no-fork", "gives_a_folder", NULL};
    struct test_run run = test_run(argv, NULL, NULL, 10);
    if (strstr(run.err, argv[0]) != NULL) { /* a shell's message */
        SKIP("an emulator may not execute itself: %s", run.err);
    }
    CHECK_EQ(run.status, 0);
    test_run_done(&run);
}
