// SPDX-License-Identifier: Apache-2.0
/* Another process as a target: states, deleted and replaced programs, the stop of all threads. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_process.h"
#include "host_signal.h"
#include "mem_heap.h"
#include "os.h"
#include "target.h"
#include "test.h"

enum { FRAMES = 64 };

static void need_native(void)
{
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS) {
        struct sonde__target *target = NULL;
        struct sonde_error error;
        CHECK_EQ(sonde__target_open_process(getpid(), NULL, &target, &error), SONDE_UNSUPPORTED);
        SKIP("under an emulator it refuses itself, as it should");
    }
}

static pid_t start(const char *path, const char *arg)
{
    pid_t child = fork();
    if (child == 0) {
        execl(path, path, arg, (char *)NULL);
        _exit(127);
    }
    return child;
}

/* Wait until the main thread is in nanosleep: exec has happened. */
static void wait_for_sleep(pid_t child)
{
    struct sonde__os_wait wait = {{0}};
    int64_t call = -1;
    for (unsigned i = 0; i < 10000 && call != SYS_clock_nanosleep; i++) {
        int32_t fd;
        usleep(1000);
        if (sonde__os_thread_open(child, (uint64_t)child, SONDE__OS_THREAD_SYSCALL, &fd, NULL) ==
            SONDE_OK) {
            (void)!sonde__os_read_wait(fd, &wait, NULL);
            call = sonde__os_wait_call(&wait).number;
            sonde__os_close(fd);
        }
    }
    CHECK_EQ(call, SYS_clock_nanosleep);
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void copy_file(const char *from, const char *to)
{
    size_t size;
    char *bytes = test_read_file(from, &size);
    test_write_file(to, bytes, size);
    free(bytes);
    CHECK_OK(chmod(to, 0755));
}

/* A look-up of one thread equals its listing; it finds no thread that the target lacks. */
static void check_thread_alone(struct sonde__target *target, const struct sonde__thread *listed)
{
    struct sonde__thread alone;
    CHECK_OK(sonde__target_thread(target, listed->tid, &alone));
    CHECK_EQ(alone.tid, listed->tid);
    CHECK_EQ(alone.letter, listed->letter);
    CHECK_EQ(alone.state, listed->state);
    CHECK(alone.main == listed->main);
    CHECK_STR(alone.name, listed->name);
    CHECK_EQ(sonde__target_thread(target, (uint64_t)getpid(), &alone), SONDE_ABSENT);
}

/* The only thread's stack goes to the root; returns the flags of the main program's image. */
static uint32_t check_whole_stack(pid_t child)
{
    struct sonde__target *target;
    const struct sonde__thread *threads;
    struct sonde__capture capture;
    struct sonde_stack stack;
    struct sonde_error error = {0};
    uint64_t pcs[FRAMES];
    uint8_t how[FRAMES];
    uint32_t count, flags = 0, in_main = 0;
    if (sonde__target_open_process(child, NULL, &target, &error) != SONDE_OK) {
        FAIL("%s", error.what);
    }
    CHECK_OK(sonde__target_threads(target, &threads, &count, &error));
    CHECK_EQ(count, 1);
    check_thread_alone(target, &threads[0]);
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    sonde__target_capture(target, &threads[0], &stack, &capture);
    CHECK_OK(capture.status);
    CHECK_EQ(capture.by, SONDE__CAPTURED_PASSIVE);
    CHECK_EQ(capture.syscall, SYS_clock_nanosleep);
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    for (uint32_t i = 0; i < stack.count; i++) {
        const struct sonde__image *image =
            sonde__image_find(sonde__target_images(target), sonde_stack_lookup_pc(&stack, i));
        CHECK(image != NULL);
        if ((image->flags & SONDE__IMAGE_MAIN) != 0) {
            const void *bytes;
            size_t size;
            flags = image->flags;
            in_main++;
            /* the kernel still has the file of a program that runs */
            CHECK(!sonde__target_image_bytes(target, image, &bytes, &size));
            CHECK_EQ(image->file != NULL, (image->flags & SONDE__IMAGE_DELETED) != 0);
        }
    }
    CHECK(in_main >= 2);
    CHECK_OK(sonde__target_refresh(target, &error));
    sonde__target_close(target);
    return flags;
}

TEST(a_program_whose_file_is_deleted_or_replaced)
{
    char path[256];
    pid_t child;
    need_native();
    snprintf(path, sizeof path, "%s/a program", test_folder());
    copy_file("/bin/sleep", path);
    child = start(path, "1000");
    wait_for_sleep(child);
    CHECK_EQ(check_whole_stack(child), SONDE__IMAGE_MAIN);
    CHECK_OK(unlink(path));
    CHECK_EQ(check_whole_stack(child), SONDE__IMAGE_MAIN | SONDE__IMAGE_DELETED);
    copy_file("/bin/cat",
              path); /* another program under the old name: its rules must not be used */
    CHECK_EQ(check_whole_stack(child), SONDE__IMAGE_MAIN | SONDE__IMAGE_DELETED);
    end(child);
}

/* --- threads --- */

static int ready_pipe[2];

static void *nap(void *arg)
{
    (void)arg;
    (void)!write(ready_pipe[1], "x", 1);
    for (;;) {
        usleep(200);
    }
    return NULL;
}

static volatile uint64_t counter;

static void *spin(void *arg)
{
    (void)arg;
    (void)!write(ready_pipe[1], "x", 1);
    for (;;) {
        counter++;
    }
    return NULL;
}

static void *spawn(void *arg)
{
    (void)arg;
    (void)!write(ready_pipe[1], "x", 1);
    for (;;) {
        pthread_t t;
        if (pthread_create(&t, NULL, (void *(*)(void *))(uintptr_t)&getpid, NULL) == 0) {
            pthread_join(t, NULL);
        }
    }
    return NULL;
}

static pid_t start_threads(void *(*const run[])(void *), unsigned count)
{
    char c;
    pid_t child;
    CHECK_OK(pipe(ready_pipe));
    child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < count; i++) {
            pthread_t t;
            pthread_create(&t, NULL, run[i], NULL);
        }
        for (;;) {
            pause();
        }
    }
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQ(read(ready_pipe[0], &c, 1), 1);
    }
    close(ready_pipe[0]);
    close(ready_pipe[1]);
    return child;
}

/* A sanitizer's interceptors and thread start keep their frames by a register that a blocked thread
 * does not show, and leave old return addresses all over the stack. */
#if defined(SONDE_SANITIZED)
static const bool stacks_may_be_cut = true;
#else
static const bool stacks_may_be_cut = false;
#endif

/* The thread may have gone on before the capture returned. */
static bool has_own_time(const struct sonde__capture *capture, uint64_t begin_ns)
{
    return (capture->by != SONDE__CAPTURED_PASSIVE && capture->by != SONDE__CAPTURED_PERF) ||
           (capture->time_ns >= begin_ns && capture->time_ns <= sonde__os_now_ns());
}

/* A thread that gets no CPU for half a second does not stop in time. */
static void check_late(unsigned late, unsigned all)
{
    CHECK(late == 0 || (test_slack() > 1 && late * 2 < all));
}

/* Busy, blocked and alternating threads: every stack is whole, whichever threads ran meanwhile. */
TIMED_TEST(threads_in_all_states, 120)
{
    static void *(*const run[])(void *) = {nap, nap, spin};
    struct sonde__target *target;
    const struct sonde__thread *threads;
    struct sonde_error error;
    unsigned whole = 0, all = 0, perf_or_ptrace = 0, late = 0;
    uint32_t count;
    pid_t child;
    need_native();
    child = start_threads(run, 3);
    CHECK_OK(sonde__target_open_process(child, NULL, &target, &error));
    for (unsigned round = 0; round < 20; round++) {
        CHECK_OK(sonde__target_threads(target, &threads, &count, &error));
        CHECK_EQ(count, 4);
        for (uint32_t i = 0; i < count; i++) {
            struct sonde__capture capture;
            struct sonde_stack stack;
            uint64_t pcs[FRAMES];
            uint8_t how[FRAMES];
            sonde_stack_init(&stack, pcs, how, FRAMES, 0);
            uint64_t begin_ns = sonde__os_now_ns();
            sonde__target_capture(target, &threads[i], &stack, &capture);
            CHECK(has_own_time(&capture, begin_ns));
            all++;
            if (capture.status == SONDE_TIMEOUT) {
                late++;
                continue;
            }
            CHECK_OK(capture.status);
            whole += stack.end == SONDE_END_ROOT;
            if (stack.end == SONDE_END_NO_REGISTERS && stacks_may_be_cut) {
                whole++; /* reported, not guessed */
                continue;
            }
            if (stack.end != SONDE_END_ROOT && stack.end != SONDE_END_MOVED) {
                FAIL("thread %u of 4: %s at 0x%llx after %u frames, by %u, syscall %lld", i,
                     sonde_end_text(stack.end), (unsigned long long)stack.end_at, stack.count,
                     capture.by, (long long)capture.syscall);
            }
            perf_or_ptrace +=
                capture.by == SONDE__CAPTURED_PERF || capture.by == SONDE__CAPTURED_PTRACE;
        }
    }
    check_late(late, all);
    /* slow builds lose the race against the naps */
    CHECK(whole * 10 >= (all - late) * 9 || stacks_may_be_cut);
    CHECK(perf_or_ptrace + late >= 15); /* the spinning thread, except while preempted */
    sonde__target_close(target);
    end(child);
}

/* A thread that is stopped, and expected to run again, is sampled when it does. */
TEST(an_expected_thread_is_sampled_once_when_it_runs)
{
    static void *(*const run[])(void *) = {spin};
    struct sonde__target *target;
    const struct sonde__thread *threads;
    struct sonde_error error;
    struct sonde__capture capture;
    struct sonde_stack stack;
    uint64_t pcs[FRAMES];
    uint8_t how[FRAMES];
    uint32_t count;
    int status;
    need_native();
    if (!sonde__host_may_perf()) {
        SKIP("perf events are refused here");
    }
    pid_t child = start_threads(run, 1);
    CHECK_OK(sonde__target_open_process(child, NULL, &target, &error));
    CHECK_OK(sonde__target_threads(target, &threads, &count, &error));
    CHECK_EQ(count, 2);
    uint64_t tid = threads[1].tid;
    CHECK_OK(kill(child, SIGSTOP));
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    sonde__target_expect(target, tid, 1000000, 1);
    CHECK(!sonde__target_met(target, tid, &stack, &capture));
    uint64_t begin_ns = sonde__os_now_ns();
    CHECK_OK(kill(child, SIGCONT));
    bool met = false;
    for (unsigned i = 0; i < 10000 && !met; i++) {
        usleep(1000);
        met = sonde__target_met(target, tid, &stack, &capture);
    }
    CHECK(met);
    CHECK_EQ(capture.by, SONDE__CAPTURED_PERF);
    CHECK(capture.time_ns >= begin_ns && has_own_time(&capture, begin_ns));
    CHECK(stack.count > 0);
    usleep(20000);
    CHECK(!sonde__target_met(target, tid, &stack, &capture)); /* only once */
    sonde__target_close(target);
    end(child);
}

static char state_of(pid_t pid, uint64_t tid)
{
    struct sonde__host_thread t = {.letter = '?'};
    (void)!sonde__host_thread_read(pid, tid, &t);
    return t.letter;
}

TIMED_TEST(stop_all_and_go_on, 120)
{
    static void *(*const run[])(void *) = {nap, spin, spin, spawn};
    const struct sonde__target_options options = {.mode = SONDE__TARGET_STOP};
    struct sonde__target *target;
    const struct sonde__thread *threads;
    struct sonde_error error = {0};
    uint64_t pause_ns = 0;
    uint32_t count;
    unsigned late = 0, all = 0;
    bool moves = false;
    pid_t child;
    need_native();
    child = start_threads(run, 4);
    CHECK_OK(sonde__target_open_process(child, &options, &target, &error));
    for (unsigned round = 0; round < 10; round++) {
        if (sonde__target_stop(target, &error) != SONDE_OK) {
            end(child);
            SKIP("ptrace is refused here: %s", error.what);
        }
        CHECK_OK(sonde__target_threads(target, &threads, &count, &error));
        CHECK(count >= 5);
        for (uint32_t i = 0; i < count; i++) {
            struct sonde__capture capture;
            struct sonde_stack stack;
            uint64_t pcs[FRAMES];
            uint8_t how[FRAMES];
            if (threads[i].letter == 'Z' || threads[i].letter == 'X') {
                continue;
            }
            all++;
            if (threads[i].letter == 'R') {
                late++;
                continue;
            }
            CHECK_EQ(threads[i].letter, 't');
            sonde_stack_init(&stack, pcs, how, FRAMES, 0);
            sonde__target_capture(target, &threads[i], &stack, &capture);
            CHECK_OK(capture.status);
            CHECK_EQ(capture.by, SONDE__CAPTURED_PTRACE);
            CHECK(stack.count > 0);
        }
        sonde__target_resume(target, &pause_ns);
        CHECK(pause_ns > 0);
    }
    check_late(late, all);
    for (unsigned i = 0; i < 2000 * test_slack() && !moves; i++) {
        usleep(1000);
        moves = state_of(child, (uint64_t)child) == 'S';
    }
    CHECK(moves);
    sonde__target_close(target);
    end(child);
}

/* A failed allocation anywhere gives MEMORY, without a leak (the harness checks). */
TEST_TIMEOUT(every_allocation_may_fail, 120)
{
    struct sonde__target *target;
    struct sonde_error error;
    enum sonde_status status = SONDE_MEMORY;
    pid_t child;
    need_native();
    child = start("/bin/sleep", "1000");
    wait_for_sleep(child);
    for (uint64_t i = 0; status != SONDE_OK; i++) {
        CHECK(i < 2000);
        sonde__mem_fail_once(i);
        status = sonde__target_open_process(child, NULL, &target, &error);
        CHECK(status == SONDE_OK || status == SONDE_MEMORY);
        if (status == SONDE_OK && sonde__mem_asked() <= i) {
            sonde__target_close(target);
            break;
        }
        if (status == SONDE_OK) {
            sonde__target_close(target);
            status = SONDE_MEMORY; /* that allocation was not essential */
        }
    }
    sonde__mem_fail_from(UINT64_MAX);
    end(child);
}
