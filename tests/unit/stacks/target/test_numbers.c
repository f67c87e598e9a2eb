// SPDX-License-Identifier: Apache-2.0
/* Another process gets the number of a thread or process right before that is seized (traced.h): it
 * is released, and none of its threads stays stopped. */
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counted.h"
#include "host_process.h"
#include "test.h"
#include "traced.h"

static pid_t stranger;

/* The tracer's thread starts it, so it does not end with the thread that started it as a process of
 * test_live.h does. */
static bool start_as(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    long got = syscall(SYS_clone3, &args, sizeof args);
    while (got == 0) {
        pause();
    }
    return got == pid;
}

static void need_numbers(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    if (!start_as(pid)) {
        SKIP("this user may not choose a process' number");
    }
    kill(pid, SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* The system frees the number a moment after the thread is gone. */
static void await_number(uint64_t tid)
{
    bool got = start_as((pid_t)tid);
    for (unsigned n = 0; n < LOOKS_MAX && !got; n++) {
        usleep(LOOK_US);
        got = start_as((pid_t)tid);
    }
    CHECK(got);
    stranger = (pid_t)tid;
}

static void replace_thread(uint64_t tid)
{
    if (tid != shared->tid[0] || stranger != 0) {
        return;
    }
    order(tid, EXIT_THREAD);
    await_number(tid);
}

static void replace_process(uint64_t tid)
{
    if (stranger != 0) {
        return;
    }
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    await_number(tid);
}

/* It was not stopped: it sleeps as before, and nobody traces it. */
static void check_stranger(void)
{
    struct sonde__host_thread now = {.letter = '?'};
    CHECK(stranger != 0);
    CHECK_EQ(tracer_of((uint64_t)stranger), 0);
    for (unsigned n = 0; n < LOOKS_MAX && now.letter != 'S'; n++) {
        usleep(LOOK_US);
        CHECK_OK(sonde__host_thread_read(stranger, (uint64_t)stranger, &now));
    }
    CHECK_EQ(now.letter, 'S');
    kill(stranger, SIGKILL);
    CHECK_EQ(waitpid(stranger, NULL, 0), stranger);
}

TEST_TIMEOUT(a_thread_that_got_the_number_is_released, 120)
{
    need_numbers();
    start_program();
    before(PTRACE_SEIZE, replace_thread);
    struct sonde__capture captured = capture_stopping(0);
    CHECK_EQ(captured.status, SONDE_ABSENT);
    check_stranger();
    check_goes_on(1);
    end_program();
}

TEST_TIMEOUT(a_thread_that_got_the_number_is_released_before_all_are_stopped, 120)
{
    need_numbers();
    start_program();
    before(PTRACE_SEIZE, replace_thread);
    struct sonde__target *target = open_program(SONDE__TARGET_STOP, 0);
    struct sonde_error error;
    uint64_t pause_ns;
    CHECK_OK(sonde__target_stop(target, &error));
    check_stranger();
    CHECK_EQ(letter_of(shared->tid[1]), 't');
    CHECK_EQ(letter_of((uint64_t)program), 't');
    CHECK_EQ(capture(target, 0).status, SONDE_ABSENT);
    CHECK_EQ(capture(target, 1).by, SONDE__CAPTURED_PTRACE);
    sonde__target_resume(target, &pause_ns);
    sonde__target_close(target);
    check_goes_on(1);
    end_program();
}

TEST_TIMEOUT(a_process_that_got_the_number_is_not_stopped, 120)
{
    need_numbers();
    start_program();
    before(PTRACE_SEIZE, replace_process);
    struct sonde__target *target = open_program(SONDE__TARGET_STOP, 0);
    struct sonde_error error;
    CHECK_EQ(sonde__target_stop(target, &error), SONDE_ABSENT);
    before(0, NULL);
    check_stranger();
    CHECK_EQ(capture(target, 0).status, SONDE_ABSENT);
    sonde__target_close(target);
    munmap(shared, sizeof *shared);
}
