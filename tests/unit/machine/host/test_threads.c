// SPDX-License-Identifier: Apache-2.0
/* Threads, perf events and ptrace of the port, on live processes. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_perf.h"
#include "host_pin.h"
#include "host_process.h"
#include "host_ptrace.h"
#include "host_self.h"
#include "mem_heap.h"
#include "os.h"
#include "test.h"

static void *take_mask(void *mask)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

/* The program's signals go to its own threads. */
TEST(our_threads_receive_no_signal)
{
    static const int signals[] = {SIGTERM, SIGUSR1, SIGPROF, SIGCHLD, SIGPIPE};
    sigset_t before, inside, after;
    pthread_t thread;
    sigemptyset(&inside);
    take_mask(&before);
    CHECK_OK(sonde__host_start_thread(&thread, take_mask, &inside));
    CHECK_OK(pthread_join(thread, NULL));
    take_mask(&after);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        CHECK_EQ(sigismember(&inside, signals[i]), 1);
        CHECK_EQ(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
    }
}

TEST(stat_texts)
{
    static const char odd[] = "4711 (a) b (c)) S 1 4711 4711 0 -1 4194304 95 0 13 0 21 22 0 0 20 0 "
                              "1 0 8813 2576384 226 18446744073709551615 1 1\n";
    struct sonde__host_thread t;
    CHECK(sonde__host_parse_stat(odd, sizeof odd - 1, &t));
    CHECK_EQ(t.tid, 4711);
    CHECK_STR(t.name, "a) b (c)");
    CHECK_EQ(t.letter, 'S');
    CHECK_EQ(t.major_faults, 13);
    CHECK_EQ(t.user_ticks, 21);
    CHECK_EQ(t.system_ticks, 22);
    CHECK_EQ(t.start_ticks, 8813);
    CHECK_EQ(t.processor, 0); /* the text ends before it */
    CHECK(!sonde__host_parse_stat("", 0, &t));
    CHECK(!sonde__host_parse_stat("1 (x", 4, &t));
    CHECK(!sonde__host_parse_stat("1 )x(", 5, &t));
    CHECK(!sonde__host_parse_stat("1 (x)", 5, &t));
}

static void *sleep_named(void *arg)
{
    char c;
    prctl(PR_SET_NAME, "odd ) name (", 0, 0, 0);
    (void)!write(((int *)arg)[3], "r", 1);
    (void)!read(((int *)arg)[0], &c, 1);
    return NULL;
}

TEST(threads_of_a_process)
{
    int pipes[4];
    char c;
    pthread_t thread;
    struct sonde__host_thread *threads;
    uint32_t count, found = 0;
    CHECK_OK(pipe(pipes));
    CHECK_OK(pipe(pipes + 2));
    CHECK_OK(pthread_create(&thread, NULL, sleep_named, pipes));
    CHECK_EQ(read(pipes[2], &c, 1), 1);
    CHECK_OK(sonde__host_threads_read(getpid(), &threads, &count, NULL));
    CHECK_EQ(threads[0].tid, getpid());
    for (uint32_t i = 0; i < count; i++) {
        found += strcmp(threads[i].name, "odd ) name (") == 0;
    }
    CHECK_EQ(found, 1);
    sonde__mem_free(threads);
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++) {
        close(pipes[i]);
    }
    CHECK_EQ(sonde__host_threads_read(0x7ffffff0, &threads, &count, NULL), SONDE_ABSENT);
}

TEST(passive_reading_works_or_refuses_itself)
{
    struct sonde_error error = {0};
    enum sonde_status status = sonde__host_passive_works(&error);
    if (sonde__os_reader() == SONDE__OS_READER_PROCESS) {
        CHECK_OK(status);
    } else { /* qemu-user */
        CHECK_EQ(status, SONDE_UNSUPPORTED);
        CHECK_CONTAINS(error.what, "emulator");
    }
}

/* Threads that get no CPU at first: replaces pthread_create(). */
static unsigned starved_us;
static void *(*starved)(void *arg);

static void *start_starved(void *arg)
{
    usleep(starved_us);
    return starved(arg);
}

int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &found, sizeof real);
    starved = run;
    return real(ret_thread, attr, starved_us != 0 ? start_starved : run, arg);
}

TEST(passive_reading_is_not_denied_for_want_of_a_cpu)
{
    struct sonde_error error = {0};
    if (sonde__os_reader() != SONDE__OS_READER_PROCESS) {
        SKIP("under an emulator it refuses itself, as it should");
    }
    starved_us = 1000000;
    CHECK_OK(sonde__host_passive_works(&error));
}

static volatile uint64_t counter;

__attribute__((noinline)) static void spin(void)
{
    for (;;) {
        counter++;
    }
}

static pid_t start_spinning(void)
{
    pid_t child = fork();
    if (child == 0) {
        spin();
    }
    return child;
}

TEST(stat_text_has_the_processor)
{
    static const char text[] =
        "7 (a) R 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 88 1 2 3 4 5 6 7 8 9 10 "
        "11 12 13 14 15 17 3 0 0\n";
    struct sonde__host_thread t;
    CHECK(sonde__host_parse_stat(text, sizeof text - 1, &t));
    CHECK_EQ(t.start_ticks, 88);
    CHECK_EQ(t.processor, 3);
}

/* This thread shares the processor of a thread that computes, and runs when the sample is there. */
TEST(pinned_to_the_sampled_thread_it_is_off)
{
    static struct sonde__host_perf_sample sample;
    struct sonde__host_perf perf;
    pid_t child = start_spinning();
    unsigned off = 0, stayed = 0;
    cpu_set_t here; /* a busy machine would move it away and back */
    CPU_ZERO(&here);
    CPU_SET((unsigned)sched_getcpu(), &here);
    CHECK_EQ(sched_setaffinity(child, sizeof here, &here), 0);
    if (sonde__host_perf_open(child, (uint64_t)child, 1000000, &perf, NULL) != SONDE_OK) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        SKIP("perf events are refused here");
    }
    for (unsigned i = 0; i < 400 && stayed < 20; i++) {
        struct sonde__host_pin pin;
        struct sonde__host_thread thread, later;
        uint64_t before[SONDE__HOST_PROCESSORS_MAX / 64] = {0};
        uint64_t after[SONDE__HOST_PROCESSORS_MAX / 64] = {0};
        syscall(SYS_sched_getaffinity, 0, sizeof before, before);
        CHECK_OK(sonde__host_thread_read(child, (uint64_t)child, &thread));
        CHECK(sonde__host_pin(&pin, thread.processor));
        CHECK_EQ(sched_getcpu(), thread.processor);
        sonde__host_perf_restart(&perf);
        CHECK(!sonde__host_perf_has_sample(&perf));
        while (!sonde__host_perf_has_sample(&perf)) {
            CHECK_OK(sonde__host_wait_readable(perf.fd, 20000000000));
        }
        CHECK_OK(sonde__host_thread_read(child, (uint64_t)child, &later));
        if (later.processor == thread.processor) { /* it was moved here in the first round */
            off += sonde__host_perf_off(&perf) != 0;
            stayed++;
        }
        sonde__host_perf_pause(&perf, true);
        sonde__host_unpin(&pin);
        CHECK(sonde__host_perf_next(&perf, &sample));
        while (sonde__host_perf_has_sample(&perf)) {
            CHECK(sonde__host_perf_next(&perf, &sample));
        }
        CHECK(!sonde__host_perf_next(&perf, &sample));
        syscall(SYS_sched_getaffinity, 0, sizeof after, after);
        CHECK_EQ(memcmp(before, after, sizeof before), 0);
    }
    CHECK_EQ(stayed, 20);
    CHECK(off >= 10); /* it may have run again before we did */
    sonde__host_perf_close(&perf);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct sonde__host_pin none;
    CHECK(!sonde__host_pin(&none, SONDE__HOST_PROCESSORS_MAX - 1));
    CHECK(!sonde__host_pin(&none, UINT32_MAX));
    sonde__host_unpin(&none);
}

TEST(perf_samples_a_running_thread)
{
    static struct sonde__host_perf_sample sample;
    struct sonde__host_perf perf;
    uint64_t begin = (uint64_t)(uintptr_t)&spin;
    pid_t child = start_spinning();
    int32_t os_error = 0;
    unsigned inside = 0, samples = 0;
    enum sonde_status status =
        sonde__host_perf_open(child, (uint64_t)child, 1000000, &perf, &os_error);
    if (status != SONDE_OK) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        SKIP("perf events are refused here: errno %d", os_error);
    }
    while (samples < 20) {
        CHECK_OK(sonde__host_wait_readable(perf.fd, 20000000000));
        while (sonde__host_perf_next(&perf, &sample)) {
            uint64_t sp = sample.regs.r[sonde__arch_sp(SONDE__ARCH_HOST)];
            uint64_t word = 0;
            samples++;
            inside += sample.regs.pc >= begin && sample.regs.pc < begin + 64;
            CHECK_EQ(sample.tid, child);
            CHECK_EQ(sample.stack_address, sp);
            CHECK(sample.stack_size >= 8);
            /* the copy equals the memory: spin() does not write to its stack */
            if (sample.regs.pc >= begin && sample.regs.pc < begin + 64) {
                CHECK_EQ(sonde__os_read_process(child, sp, &word, 8, NULL), 8);
                CHECK_EQ(memcmp(&word, sample.stack, 8), 0);
            }
        }
    }
    CHECK(inside >= samples - 2); /* the first may contain the fork's return */
    sonde__host_perf_close(&perf);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_EQ(sonde__host_perf_open(0x7ffffff0, 0x7ffffff0, 1000000, &perf, NULL), SONDE_ABSENT);
}

/* Let the thread run for two periods of its event, which are five ticks of 10 ms. */
static void let_run(pid_t child)
{
    struct sonde__host_thread now;
    CHECK_OK(sonde__host_thread_read(child, (uint64_t)child, &now));
    const uint64_t ticks = now.user_ticks;
    while (now.user_ticks < ticks + 5) {
        usleep(1000);
        CHECK_OK(sonde__host_thread_read(child, (uint64_t)child, &now));
    }
}

/* Also if it is asked for again before it came, or when it came and was not taken. */
TEST(one_sample_is_taken_of_a_thread_that_runs_on)
{
    enum { PERIOD_NS = 20000000 };
    static struct sonde__host_perf_sample sample;
    struct sonde__host_perf perf;
    pid_t child = start_spinning();
    if (sonde__host_perf_open(child, (uint64_t)child, 1000000, &perf, NULL) != SONDE_OK) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        SKIP("perf events are refused here");
    }
    sonde__host_perf_pause(&perf, true);
    for (unsigned round = 0; round < 4; round++) {
        sonde__host_perf_times(&perf, PERIOD_NS, 1);
        CHECK(sonde__host_perf_awaits(&perf));
        if (round == 1) {
            sonde__host_perf_times(&perf, PERIOD_NS, 1);
        } else if (round == 2) {
            let_run(child);
            CHECK(sonde__host_perf_has_sample(&perf));
            sonde__host_perf_times(&perf, PERIOD_NS, 1);
        }
        while (!sonde__host_perf_has_sample(&perf)) {
        }
        CHECK(!sonde__host_perf_awaits(&perf));
        CHECK(sonde__host_perf_next(&perf, &sample)); /* at once: the ring has no room for two */
        CHECK_EQ(sample.tid, child);
        let_run(child);
        CHECK(!sonde__host_perf_has_sample(&perf));
    }
    sonde__host_perf_close(&perf);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void await_sample(struct sonde__host_perf *perf, struct sonde__host_perf_sample *ret_sample)
{
    while (!sonde__host_perf_has_sample(perf)) {
    }
    CHECK(!sonde__host_perf_awaits(perf));
    CHECK(sonde__host_perf_next(perf, ret_sample));
}

/* Three come without a call in between, then none; and one more, though one was lost. */
TEST(some_samples_are_taken_of_a_thread_that_runs_on)
{
    enum { PERIOD_NS = 20000000, COUNT = 3 };
    static struct sonde__host_perf_sample sample;
    struct sonde__host_perf perf;
    uint64_t before_ns = 0;
    pid_t child = start_spinning();
    if (sonde__host_perf_open(child, (uint64_t)child, 1000000, &perf, NULL) != SONDE_OK) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        SKIP("perf events are refused here");
    }
    sonde__host_perf_pause(&perf, true);
    sonde__host_perf_times(&perf, PERIOD_NS, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK_EQ(perf.left, COUNT - i);
        await_sample(&perf, &sample);
        CHECK(sample.time_ns >= before_ns + PERIOD_NS / 2);
        before_ns = sample.time_ns;
    }
    let_run(child);
    CHECK(!sonde__host_perf_has_sample(&perf));
    sonde__host_perf_times(&perf, PERIOD_NS, 2);
    let_run(child);
    let_run(child); /* the ring has no room for the second one, and the kernel is done */
    await_sample(&perf, &sample);
    CHECK_EQ(perf.left, 1);
    sonde__host_perf_times(&perf, PERIOD_NS, COUNT);
    await_sample(&perf, &sample);
    sonde__host_perf_close(&perf);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Sleeps between two reads of its first pipe, and writes into the second one when. */
static pid_t start_sleeper(int pipes[4])
{
    pid_t child = fork();
    if (child == 0) {
        const struct timespec pause = {0, 20000000};
        uint64_t times[2];
        char c;
        (void)!read(pipes[0], &c, 1);
        times[0] = sonde__os_now_ns();
        nanosleep(&pause, NULL);
        times[1] = sonde__os_now_ns();
        (void)!write(pipes[3], times, sizeof times);
        (void)!read(pipes[0], &c, 1);
        _exit(0);
    }
    return child;
}

static void await_sleep(pid_t child)
{
    struct sonde__host_thread now = {0};
    while (now.letter != 'S') {
        CHECK_OK(sonde__host_thread_read(child, (uint64_t)child, &now));
    }
}

TEST(switches_tell_when_a_thread_waited)
{
    struct sonde__host_perf perf;
    struct sonde__host_switches is;
    struct sonde__host_moves moves;
    int32_t os_error = 0;
    int pipes[4];
    uint64_t times[2];
    CHECK_OK(pipe(pipes));
    CHECK_OK(pipe(pipes + 2));
    pid_t child = start_sleeper(pipes);
    if (sonde__host_perf_open_switches(child, (uint64_t)child, 0, &perf, &os_error) != SONDE_OK) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        SKIP("perf events are refused here: errno %d", os_error);
    }
    await_sleep(child);
    sonde__host_perf_restart(&perf);
    uint64_t begin_ns = sonde__os_now_ns();
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    CHECK_EQ(read(pipes[2], times, sizeof times), (ssize_t)sizeof times);
    await_sleep(child);
    CHECK(sonde__host_perf_peek(&perf, &moves)); /* nothing is taken: it slept, then read */
    CHECK_EQ(moves.waits, 2);
    CHECK(moves.outs >= 2 && !moves.runs);
    /* it woke, slept */
    sonde__host_perf_switches(&perf, (times[0] + times[1]) / 2, &is, NULL);
    CHECK(!is.lost);
    CHECK_EQ(is.count, 2);
    CHECK(is.first_ns >= begin_ns && is.first_ns <= times[0]);
    CHECK(is.last_ns >= times[0] && is.last_ns < times[1]);
    /* woke again, reads */
    sonde__host_perf_switches(&perf, UINT64_MAX, &is, NULL);
    CHECK_EQ(is.count, 2);
    CHECK(is.first_ns > times[0] + 20000000 && is.first_ns <= times[1]);
    CHECK(is.last_ns >= times[1]);
    sonde__host_perf_switches(&perf, UINT64_MAX, &is, NULL);
    CHECK_EQ(is.count, 0);
    CHECK(sonde__host_perf_peek(&perf, &moves));
    CHECK(moves.outs == 0 && !moves.runs); /* by the last record that was taken */
    sonde__host_perf_close(&perf);
    CHECK_EQ(write(pipes[1], "x", 1), 1);
    CHECK_EQ(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 4; i++) {
        close(pipes[i]);
    }
    CHECK_EQ(sonde__host_perf_open_switches(0x7ffffff0, 0x7ffffff0, 0, &perf, NULL), SONDE_ABSENT);
}

TEST(ptrace_reads_registers)
{
    struct sonde__regs regs;
    int64_t number;
    uint64_t args[6];
    int32_t signal, os_error = 0;
    uint64_t begin = (uint64_t)(uintptr_t)&spin;
    pid_t child = start_spinning();
    enum sonde_status status = sonde__host_ptrace_seize(child, (uint64_t)child, &os_error);
    if (status != SONDE_OK) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        SKIP("ptrace is refused here: errno %d", os_error);
    }
    for (unsigned i = 0; i < 2000; i++) { /* until it has reached its final place */
        CHECK_OK(sonde__host_ptrace_interrupt((uint64_t)child));
        CHECK_OK(sonde__host_ptrace_wait((uint64_t)child, 10000000000, &signal));
        CHECK_OK(sonde__host_ptrace_registers((uint64_t)child, &regs, &number, args));
        sonde__host_ptrace_detach((uint64_t)child, signal);
        if (regs.pc >= begin && regs.pc < begin + 64) {
            break;
        }
        usleep(1000); /* it runs */
        CHECK_OK(sonde__host_ptrace_seize(child, (uint64_t)child, &os_error));
    }
    CHECK(regs.pc >= begin && regs.pc < begin + 64);
    CHECK_EQ(number, -1);
    CHECK(sonde__regs_known(&regs, sonde__arch_sp(SONDE__ARCH_HOST)));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_EQ(sonde__host_ptrace_seize(child, (uint64_t)child, NULL), SONDE_ABSENT);
}

TEST(a_descriptor_is_readable_in_time)
{
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        _exit(0);
    }
    int32_t fd = (int32_t)syscall(SYS_pidfd_open, child, 0);
    CHECK(fd >= 0);
    CHECK_OK(sonde__host_wait_readable(fd, 20000000000)); /* its end */
    sonde__os_close(fd);
    waitpid(child, NULL, 0);
}
