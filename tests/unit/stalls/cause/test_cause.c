// SPDX-License-Identifier: Apache-2.0
/* Causes of threads of a child, in states that a program meets rarely: objects that vanished
 * between the capture and the look, limits, circles that no longer exist. (tests/integration/cause
 * compares each kind of wait with other tools.) */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch_syscall.h"
#include "cause.h"
#include "cause_function.h"
#include "cause_private.h"
#include "os.h"
#include "test.h"

/* A child that reads from a pipe, of which this process has the other end. */
struct reader {
    pid_t pid;
    int to;
    struct sonde__target *target;
    struct sonde__causes *causes;
    struct sonde__sample sample;
    uint64_t pcs[64];
    uint8_t how[64];
};

static void take(struct reader *r)
{
    struct sonde__thread thread;
    struct sonde_stack stack;
    do {
        CHECK_OK(sonde__target_thread(r->target, (uint64_t)r->pid, &thread));
        sonde_stack_init(&stack, r->pcs, r->how, 64, 8);
        sonde__sample_take(r->target, &thread, &stack, &r->sample);
    } while (r->sample.capture.syscall < 0);
}

static void start(struct reader *r)
{
    static const struct sonde__target_options options;
    int ends[2];
    char c;
    memset(r, 0, sizeof *r);
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS) {
        SKIP("under an emulator no thread can be captured");
    }
    CHECK(pipe(ends) == 0);
    r->pid = fork();
    if (r->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[1]);
        for (;;) {
            if (read(ends[0], &c, 1) != 1) {
                continue;
            }
            if (c == 'p') {
                close(ends[0]);
                pause();
            } else if (c == 'l') {
                struct pollfd fd = {.fd = ends[0], .events = POLLIN};
                (void)poll(&fd, 1, 1000000);
            }
        }
    }
    close(ends[0]);
    r->to = ends[1];
    CHECK_OK(sonde__target_open_process(r->pid, &options, &r->target, NULL));
    CHECK_OK(sonde__causes_create(r->target, &r->causes));
    take(r);
}

static void stop(struct reader *r)
{
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    sonde__causes_destroy(r->causes);
    sonde__target_close(r->target);
    close(r->to);
}

TEST(a_pipe_of_ours)
{
    struct reader r;
    struct sonde__cause cause;
    char text[SONDE__CAUSE_TEXT], expected[64];
    start(&r);
    sonde__causes_look(r.causes, &r.sample, &cause);
    CHECK_EQ(cause.kind, SONDE__CAUSE_PIPE);
    CHECK_EQ(cause.owner_pid, getpid());
    snprintf(expected, sizeof expected, ", written by process %d (", (int)getpid());
    sonde__cause_text(&cause, text, sizeof text);
    CHECK_CONTAINS(text, expected);
    /* with no time to search, the result names nobody, and says so */
    sonde__causes_search_again(r.causes, 0);
    sonde__causes_look(r.causes, &r.sample, &cause);
    CHECK_EQ(cause.owner_pid, 0);
    CHECK_CONTAINS(cause.owner, "; not all processes were looked into");
    stop(&r);
}

TEST(a_thread_that_moved_on)
{
    struct reader r;
    struct sonde__cause cause;
    char text[SONDE__CAUSE_TEXT];
    start(&r);
    struct sonde__sample before = r.sample;
    CHECK(write(r.to, "p", 1) == 1);
    while (r.sample.capture.syscall == before.capture.syscall) {
        take(&r);
    }
    sonde__causes_look(r.causes, &before, &cause);
    CHECK_EQ(cause.kind, SONDE__CAUSE_NONE);
    sonde__cause_text(&cause, text, sizeof text);
    CHECK_STR(text, "");
    stop(&r);
}

/* Fill the CPU on which the reader runs, and let the reader have it only when it is otherwise idle,
 * or soon enough as one that has slept. Returns the process to end. */
static pid_t fill_cpu_of(pid_t pid)
{
    static const struct sched_param param;
    cpu_set_t all, one;
    size_t cpu = 0;
    CHECK_OK(sched_getaffinity(0, sizeof all, &all));
    while (!CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK_OK(sched_setaffinity(pid, sizeof one, &one));
    CHECK_OK(sched_setscheduler(pid, SCHED_IDLE, &param));
    pid_t spinner = fork();
    if (spinner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sched_setaffinity(0, sizeof one, &one) == 0) {
            for (;;) {
            }
        }
    }
    return spinner;
}

/* The thread has been stopped and released, and has no CPU yet. */
TEST(a_thread_on_its_way_back)
{
    struct reader r;
    struct sonde__cause cause;
    unsigned not_back = 0;
    start(&r);
    pid_t spinner = fill_cpu_of(r.pid);
    r.sample.capture.by = SONDE__CAPTURED_PTRACE;
    for (unsigned i = 0; i < 20; i++) {
        sonde__causes_await_returns(r.causes, 0);
        CHECK_OK(kill(r.pid, SIGSTOP));
        CHECK(waitpid(r.pid, NULL, WUNTRACED) == r.pid);
        CHECK_OK(kill(r.pid, SIGCONT));
        sonde__causes_look(r.causes, &r.sample, &cause);
        not_back += cause.kind == SONDE__CAUSE_NONE;
        sonde__causes_await_returns(r.causes, (uint64_t)60 * 1000000000);
        sonde__causes_look(r.causes, &r.sample, &cause);
        CHECK_EQ(cause.kind, SONDE__CAUSE_PIPE);
    }
    if (not_back == 0) {
        SKIP("it was back each time");
    }
    kill(spinner, SIGKILL);
    waitpid(spinner, NULL, 0);
    stop(&r);
}

/* A resumed call that was stopped once more, as the thread's registers show it. */
static void check_named(struct reader *r)
{
    struct sonde__capture *capture = &r->sample.capture;
    struct sonde__cause cause;
    int64_t poll_number = capture->syscall;
    int64_t resumed = sonde__arch_syscall_number(SONDE__ARCH_HOST, "restart_syscall");
    capture->by = SONDE__CAPTURED_PTRACE;
    capture->syscall = resumed;
    capture->waits_for[0] = '\0';
    capture->syscall_args[2]++; /* another call */
    sonde__causes_name_resumed(r->causes, &r->sample);
    CHECK_EQ(capture->syscall, resumed);
    capture->syscall_args[2]--;
    capture->regs.r[sonde__arch_sp(SONDE__ARCH_HOST)] += 16; /* another place */
    sonde__causes_name_resumed(r->causes, &r->sample);
    CHECK_EQ(capture->syscall, resumed);
    capture->regs.r[sonde__arch_sp(SONDE__ARCH_HOST)] -= 16;
    sonde__causes_name_resumed(r->causes, &r->sample);
    CHECK_EQ(capture->syscall, poll_number);
    CHECK_CONTAINS(capture->waits_for, "pipe:");
    sonde__causes_look(r->causes, &r->sample, &cause);
    CHECK_EQ(cause.kind, SONDE__CAUSE_PIPE);
}

/* The kernel resumes a call with a time limit by another number. */
TEST(a_call_that_the_kernel_resumed)
{
    struct reader r;
    struct sonde__cause cause;
    start(&r);
    int64_t read_number = r.sample.capture.syscall;
    CHECK(write(r.to, "l", 1) == 1);
    while (r.sample.capture.syscall == read_number) {
        take(&r);
    }
    CHECK_STR(sonde__arch_syscall_name(SONDE__ARCH_HOST, r.sample.capture.syscall), "poll");
    CHECK_OK(kill(r.pid, SIGSTOP));
    CHECK(waitpid(r.pid, NULL, WUNTRACED) == r.pid);
    CHECK_OK(kill(r.pid, SIGCONT));
    take(&r);
    CHECK_STR(sonde__arch_syscall_name(SONDE__ARCH_HOST, r.sample.capture.syscall), "poll");
    sonde__causes_look(r.causes, &r.sample, &cause);
    CHECK_EQ(cause.kind, SONDE__CAUSE_PIPE);
    check_named(&r);
    stop(&r);
}

/* A kernel thread (io_uring's iou-wrk) shows pc 0, and its maker's call or none: it does not wait
 * for anything of the program's. */
TEST(a_thread_of_the_kernel)
{
    struct reader r;
    struct sonde__cause cause;
    start(&r);
    uint64_t pc = r.pcs[0];
    r.pcs[0] = 0;
    sonde__causes_look(r.causes, &r.sample, &cause);
    CHECK_EQ(cause.kind, SONDE__CAUSE_NONE);
    r.sample.capture.syscall = -1;
    sonde__causes_look(r.causes, &r.sample, &cause);
    CHECK_EQ(cause.kind, SONDE__CAUSE_NONE);
    r.pcs[0] = pc;
    stop(&r);
}

/* Another process may have got its tid: that one is in another call. */
TEST(a_thread_that_is_gone)
{
    struct reader r;
    struct sonde__cause cause;
    start(&r);
    kill(r.pid, SIGKILL);
    CHECK(waitpid(r.pid, NULL, 0) == r.pid);
    sonde__causes_look(r.causes, &r.sample, &cause);
    CHECK_EQ(cause.kind, SONDE__CAUSE_NONE);
    stop(&r);
}

TEST(circles_are_checked_again)
{
    struct reader r;
    struct sonde__cause_circle circle;
    struct sonde__cause list[2] = {{.kind = SONDE__CAUSE_MUTEX}, {.kind = SONDE__CAUSE_MUTEX}};
    start(&r);
    sonde__causes_look(r.causes, &r.sample, &list[0]);
    CHECK(list[0].slices != 0);
    list[0].kind = SONDE__CAUSE_MUTEX;
    list[0].owner_tid = (uint64_t)r.pid; /* as if it waited for itself */
    CHECK_EQ(sonde__causes_circles(r.causes, list, 1, &circle, 1), 1);
    CHECK(circle.deadlock);
    CHECK_EQ(circle.count, 1);
    CHECK_EQ(circle.tids[0], r.pid);
    list[0].timed = true; /* the time limit ends the wait */
    CHECK_EQ(sonde__causes_circles(r.causes, list, 1, &circle, 1), 1);
    CHECK(!circle.deadlock);
    CHECK(strncmp(circle.text, SONDE__CAUSE_CIRCLE, strlen(SONDE__CAUSE_CIRCLE)) == 0);
    list[0].slices--; /* the thread has run since */
    CHECK_EQ(sonde__causes_circles(r.causes, list, 1, &circle, 1), 0);
    list[0].slices++;
    list[0].owner_tid = 1; /* of a thread that waits for nobody */
    CHECK_EQ(sonde__causes_circles(r.causes, list, 1, &circle, 1), 0);
    /* a thread that waits for one in a circle is not in it */
    list[0].owner_tid = (uint64_t)r.pid;
    list[1] = list[0];
    list[1].tid = 4000000000u;
    CHECK_EQ(sonde__causes_circles(r.causes, list, 2, &circle, 1), 1);
    CHECK_EQ(circle.count, 1);
    CHECK_EQ(sonde__causes_circles(r.causes, list, 2, NULL, 0), 1);
    CHECK_EQ(sonde__causes_circles(r.causes, NULL, 0, NULL, 0), 0);
    stop(&r);
}

static void check_name(const char *name, unsigned function, unsigned maker)
{
    struct cause_called called = cause_function_named(name);
    if (called.function != function || called.maker != maker) {
        FAIL("%s: function %u, maker %u", name, called.function, called.maker);
    }
}

TEST(names_of_functions)
{
    check_name("pthread_mutex_lock", CAUSE_FN_MUTEX, CAUSE_BY_OTHER);
    check_name("__pthread_mutex_lock", CAUSE_FN_MUTEX, CAUSE_BY_OTHER);
    check_name("pthread_mutex_lockx", CAUSE_FN_NONE, CAUSE_BY_OTHER);
    check_name("pthread_mutex_unlock", CAUSE_FN_NONE, CAUSE_BY_OTHER);
    check_name("pthread_", CAUSE_FN_NONE, CAUSE_BY_OTHER);
    check_name("mutex_lock", CAUSE_FN_NONE, CAUSE_BY_OTHER);
    check_name("pthread_rwlock_clockwrlock", CAUSE_FN_RWLOCK_WRITE, CAUSE_BY_OTHER);
    check_name("sem_wait", CAUSE_FN_SEMAPHORE, CAUSE_BY_OTHER);
    check_name("g_mutex_lock", CAUSE_FN_MUTEX, CAUSE_BY_GLIB);
    check_name("_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE",
               CAUSE_FN_MUTEX, CAUSE_BY_RUST);
    check_name("_ZN3std3sys4unix5locks11futex_mutex5Mutex14lock_contended17h0123456789abcdefE",
               CAUSE_FN_MUTEX, CAUSE_BY_RUST);
    check_name("_ZN3app5futex5Mutex14lock_contendedEv", CAUSE_FN_NONE, CAUSE_BY_OTHER);
    check_name("", CAUSE_FN_NONE, CAUSE_BY_OTHER);
    check_name("____", CAUSE_FN_NONE, CAUSE_BY_OTHER);
}

/* The path's end is shown: wherever it is cut, no part of the home folder's name is left. */
TEST(a_long_path_is_scrubbed_before_it_is_cut)
{
    char path[512], shown[256];
    for (int i = 60; i < 140; i++) {
        struct sonde__text text;
        snprintf(
            path, sizeof path, "/Users/kimberly/%.*s/file", i,
            "a-folder-of-a-very-long-name-a-folder-of-a-very-long-name-a-folder-of-a-very-long-"
            "name-a-folder-of-a-very-long-name-a-folder-of-a-very-long-name");
        sonde__base_text_init(&text, shown, sizeof shown);
        cause_put_path(&text, path);
        CHECK(strstr(shown, "berly") == NULL || strlen(path) <= 120);
        CHECK_CONTAINS(shown, "/file");
    }
}
