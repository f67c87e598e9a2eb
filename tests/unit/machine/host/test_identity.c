// SPDX-License-Identifier: Apache-2.0
/* Calls that take a bare number, when another process gets the number right before the call.
 *
 * The system calls are real, but a test acts before one of them: syscall() and prlimit() are
 * defined here, in libc's place. */
#include "host_identity.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_perf.h"
#include "host_run.h"
#include "os.h"
#include "test.h"
#include "test_live.h"

static pid_t number; /* of a process that another one replaces; 0: it need not be */
static long before_which;

static void replace_before(long which)
{
    if (number != 0 && which == before_which) {
        test_live_end(number);
        CHECK(test_live_start_as(number));
        number = 0;
    }
}

/* Passes six arguments on, as libc does, whether they were given or not. */
__attribute__((no_sanitize_address)) long syscall(long call, ...)
{
    static long (*real)(long call, ...);
    long args[6];
    va_list list;
    va_start(list, call);
    for (unsigned i = 0; i < 6; i++) {
        args[i] = va_arg(list, long);
    }
    va_end(list);
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "syscall");
        memcpy(&real, &found, sizeof real);
    }
    replace_before(call);
    return real(call, args[0], args[1], args[2], args[3], args[4], args[5]);
}

int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
            struct rlimit *ret_former)
{
    if (limit != NULL) {
        replace_before(SYS_prlimit64);
    }
    return (int)syscall(SYS_prlimit64, (long)pid, (long)resource, limit, ret_former);
}

/* --- */

TEST(an_identity_holds_until_the_number_is_free)
{
    struct sonde__host_identity child, other;
    pid_t pid = test_live_start();
    CHECK_OK(sonde__host_identity_take(pid, (uint64_t)pid, &child, NULL));
    CHECK(sonde__host_identity_holds(&child));
    CHECK_EQ(sonde__host_identity_take(sonde__os_pid(), (uint64_t)pid, &other, NULL), SONDE_ABSENT);
    CHECK_OK(kill(pid, SIGKILL));
    siginfo_t info;
    CHECK_OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    CHECK(sonde__host_identity_holds(&child)); /* a zombie */
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
    CHECK(!sonde__host_identity_holds(&child));
    CHECK_EQ(sonde__host_identity_take(pid, (uint64_t)pid, &other, NULL), SONDE_ABSENT);
    sonde__host_identity_drop(&child);
    CHECK(!sonde__host_identity_holds(&child));
}

TEST(an_identity_does_not_pass_to_the_next_owner)
{
    struct sonde__host_identity child, other;
    test_live_need_numbers();
    pid_t pid = test_live_start();
    CHECK_OK(sonde__host_identity_take(pid, (uint64_t)pid, &child, NULL));
    test_live_end(pid);
    CHECK(test_live_start_as(pid));
    CHECK(!sonde__host_identity_holds(&child));
    CHECK_OK(sonde__host_identity_take(pid, (uint64_t)pid, &other, NULL));
    CHECK(sonde__host_identity_holds(&other));
    sonde__host_identity_drop(&child);
    sonde__host_identity_drop(&other);
    test_live_end(pid);
}

TEST(a_perf_event_is_for_the_thread_meant)
{
    struct sonde__host_perf perf;
    test_live_need_numbers();
    pid_t pid = test_live_start();
    enum sonde_status status = sonde__host_perf_open(pid, (uint64_t)pid, 1000000, &perf, NULL);
    if (status != SONDE_OK) {
        test_live_end(pid);
        SKIP("perf events are refused here");
    }
    sonde__host_perf_close(&perf);
    before_which = SYS_perf_event_open;
    number = pid;
    CHECK_EQ(sonde__host_perf_open(pid, (uint64_t)pid, 1000000, &perf, NULL), SONDE_ABSENT);
    number = pid;
    CHECK_EQ(sonde__host_perf_open_switches(pid, (uint64_t)pid, 0, &perf, NULL), SONDE_ABSENT);
    CHECK_EQ(number, 0);
    test_live_end(pid);
}

/* In a child: a waiter's thread stays. */
static void check_limit(void)
{
    static uint32_t word;
    const struct rlimit none = {0, 4096};
    struct rlimit now;
    struct sonde__host_waiter *waiter;
    struct sonde_error error;
    CHECK_OK(setrlimit(RLIMIT_CORE, &none));
    pid_t pid = test_live_start();
    CHECK_OK(sonde__host_waiter_create(pid, &word, &waiter, &error));
    before_which = SYS_prlimit64;
    number = pid;
    sonde__host_waiter_abort(waiter, true);
    CHECK_EQ(number, 0);
    CHECK_OK(prlimit(pid, RLIMIT_CORE, NULL, &now));
    CHECK_EQ(now.rlim_cur, 0);
    CHECK_EQ(now.rlim_max, 4096);
    CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
    test_live_end(pid);
}

TEST(another_process_keeps_its_limit_of_core_files)
{
    int status;
    test_live_need_numbers();
    pid_t pid = fork();
    if (pid == 0) {
        check_limit();
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}
