// SPDX-License-Identifier: Apache-2.0
/* Processes that only live, and that get a number which was in use before. */
#ifndef TEST_LIVE_H
#define TEST_LIVE_H

#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static inline void test_live(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        pause();
    }
}

/* Start a process. Ends with the test. */
static inline pid_t test_live_start(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        test_live();
    }
    return pid;
}

/* Start one with this number (clone3(2), set_tid). False: it is in use, or this user may not choose
 * numbers. */
static inline bool test_live_start_as(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    long got = syscall(SYS_clone3, &args, sizeof args);
    if (got == 0) {
        test_live();
    }
    return got == pid;
}

static inline void test_live_end(pid_t pid)
{
    CHECK_OK(kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* Skip the test if this user may not choose numbers. */
static inline void test_live_need_numbers(void)
{
    pid_t pid = test_live_start();
    test_live_end(pid);
    if (!test_live_start_as(pid)) {
        SKIP("this user may not choose a process' number");
    }
    test_live_end(pid);
}

#endif
