// SPDX-License-Identifier: Apache-2.0
/* The end of a program and signals to it, when another process may get its pid, and when the system
 * refuses pidfds. In child processes: a waiter's thread stays. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_run.h"
#include "os.h"
#include "test.h"
#include "test_live.h"

#define LONG_NS 60000000000u

enum { NO_NUMBER = 77, NO_FILTER = 78 }; /* why a test in a child is skipped */

/* This system call fails with EPERM from now on. */
static void refuse(unsigned call)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
        _exit(NO_FILTER);
    }
}

static struct sonde__host_waiter *wait_for(pid_t pid)
{
    static uint32_t word;
    struct sonde__host_waiter *waiter;
    struct sonde_error error;
    CHECK_OK(sonde__host_waiter_create(pid, &word, &waiter, &error));
    return waiter;
}

/* Run `body` in a child whose exit code is 0, or which says why it is skipped. */
static void run_apart(void (*body)(unsigned refused), unsigned refused)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (refused != 0) {
            refuse(refused);
        }
        body(refused);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (status == NO_NUMBER << 8) {
        SKIP("this user may not choose a process' number");
    }
    if (status == NO_FILTER << 8) {
        SKIP("no system call filter can be set here");
    }
    CHECK_EQ(status, 0);
}

/* --- */

static void check_end(unsigned refused)
{
    pid_t pid = test_live_start();
    struct sonde__host_waiter *waiter = wait_for(pid);
    CHECK_EQ(sonde__host_waiter_doubt(waiter)[0] != '\0', refused == SYS_pidfd_open);
    CHECK_EQ(sonde__host_wait(waiter, 1, false), 0);
    sonde__host_waiter_kill(waiter);
    CHECK_EQ(sonde__host_wait(waiter, LONG_NS, false), SONDE__HOST_ENDED); /* a zombie by now */
    CHECK_EQ(sonde__host_waiter_doubt(waiter)[0] != '\0', refused != 0);
    CHECK_EQ(sonde__host_waiter_signal(waiter), SIGKILL);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK_EQ(sonde__host_wait(waiter, LONG_NS, false), SONDE__HOST_ENDED);
    /* An emulator (qemu-user) does not pass pidfd calls on. */
    bool is_kept = refused != SYS_pidfd_open && test_kernel_is(6, 15) &&
                   sonde__os_reader() == SONDE__OS_READER_PROCESS;
    int signal = sonde__host_waiter_signal(waiter);
    CHECK(signal == SIGKILL || (signal == 0 && !is_kept));
}

TEST_TIMEOUT(the_end_is_seen_and_signals_arrive, 120)
{
    run_apart(check_end, 0);
    run_apart(check_end, SYS_pidfd_open);
    run_apart(check_end, SYS_pidfd_send_signal);
}

/* The program has ended, and another process has its pid, before the signal. Both may have started
 * in the same hundredth of a second, which is all that /proc tells of it. */
static void check_number(unsigned refused)
{
    int status = 0;
    pid_t pid = test_live_start();
    struct sonde__host_waiter *waiter = wait_for(pid);
    (void)refused;
    test_live_end(pid);
    if (!test_live_start_as(pid)) {
        _exit(NO_NUMBER);
    }
    sonde__host_waiter_abort(waiter, true);
    sonde__host_waiter_kill(waiter);
    CHECK_EQ(sonde__host_wait(waiter, LONG_NS, false), SONDE__HOST_ENDED);
    CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
    CHECK_OK(kill(pid, SIGUSR1)); /* the first signal that it gets */
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(WTERMSIG(status), SIGUSR1);
}

TEST_TIMEOUT(a_number_in_use_again_is_not_signalled, 120)
{
    run_apart(check_number, 0);
    run_apart(check_number, SYS_pidfd_open);
    run_apart(check_number, SYS_pidfd_send_signal);
}

/* --- a main thread that has ended is not the end --- */

static int go[2];

static void *outlive(void *arg)
{
    char c;
    (void)arg;
    (void)!read(go[0], &c, 1);
    _exit(0);
}

static void check_main_thread(unsigned refused)
{
    (void)refused;
    CHECK_OK(pipe(go));
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&thread, NULL, outlive, NULL);
        pthread_exit(NULL);
    }
    struct sonde__host_waiter *waiter = wait_for(pid);
    CHECK_EQ(sonde__host_wait(waiter, 500000000, false), 0);
    CHECK_EQ(write(go[1], "x", 1), 1);
    CHECK_EQ(sonde__host_wait(waiter, LONG_NS, false), SONDE__HOST_ENDED);
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST_TIMEOUT(the_end_of_the_main_thread_is_not_the_end, 120)
{
    run_apart(check_main_thread, 0);
    run_apart(check_main_thread, SYS_pidfd_open);
}

/* --- descriptors that end a wait --- */

/* A pipe without a writer hangs up, as an event of an ended thread does. */
static void check_hung_up(unsigned refused)
{
    int fds[2];
    char c;
    pid_t pid = test_live_start();
    struct sonde__host_waiter *waiter = wait_for(pid);
    (void)refused;
    CHECK_OK(pipe(fds));
    CHECK(sonde__host_waiter_heed(waiter, fds[0]));
    CHECK_EQ(sonde__host_wait(waiter, 1, false), 0);
    CHECK_EQ(write(fds[1], "x", 1), 1);
    CHECK_EQ(sonde__host_wait(waiter, LONG_NS, false), SONDE__HOST_WOKEN);
    CHECK_EQ(sonde__host_wait(waiter, LONG_NS, false), SONDE__HOST_WOKEN); /* not read yet */
    CHECK_EQ(read(fds[0], &c, 1), 1);
    CHECK_EQ(sonde__host_wait(waiter, 1, false), 0);
    CHECK_OK(close(fds[1]));
    CHECK_EQ(sonde__host_wait(waiter, LONG_NS, false), SONDE__HOST_WOKEN);
    CHECK_EQ(sonde__host_wait(waiter, 1, false), 0);
    test_live_end(pid);
}

TEST_TIMEOUT(a_descriptor_that_hangs_up_ends_one_wait, 120)
{
    run_apart(check_hung_up, 0);
}
