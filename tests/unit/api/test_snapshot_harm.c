// SPDX-License-Identifier: Apache-2.0
/* A snapshot does not harm a program: its signals, its locks, threads that start and end. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshots.h"

/* --- the program's own signals --- */

static int urgent;
static void on_urgent(int signal)
{
    (void)signal;
    __atomic_fetch_add(&urgent, 1, __ATOMIC_RELAXED);
}

TEST(the_programs_own_handler)
{
    struct worker spinner = {0};
    struct sigaction action = {.sa_handler = on_urgent};
    int ran = 0;
    need_snapshots();
    CHECK_OK(sigaction(SIGURG, &action, NULL));
    start(&spinner, spin);
    for (int i = 0; i < 50; i++) {
        CHECK_OK(capture(0, 0));
        CHECK_EQ(find(spinner.tid)->captured.by, SONDE_CAPTURED_SIGNAL);
        do { /* also once for ours: the kernel may have merged the program's signal with it */
            ran++;
            while (__atomic_load_n(&urgent, __ATOMIC_RELAXED) < ran) {
                usleep(100);
            }
        } while (ran % 2 != 0 && pthread_kill(spinner.thread, SIGURG) == 0);
    }
    CHECK(__atomic_load_n(&urgent, __ATOMIC_RELAXED) >= ran);
    check_action_is(on_urgent);
    end(&spinner);
}

static void *wait_signals(void *arg)
{
    struct worker *w = arg;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    begin_work(w);
    for (;;) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0) {
            w->error++;
        }
        __atomic_fetch_add(&w->bytes, 1, __ATOMIC_RELEASE);
        if (__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
            return NULL;
        }
    }
}

/* The program gets all of its own signals and none of ours. */
TEST(a_program_that_waits_for_the_signal)
{
    struct worker waiter = {0}, spinner = {0};
    need_snapshots();
    start(&waiter, wait_signals);
    start(&spinner, spin);
    for (unsigned i = 1; i <= 100; i++) {
        CHECK_OK(capture(0, 0));
        CHECK_OK(find(spinner.tid)->captured.status);
        CHECK_EQ(find(waiter.tid)->captured.by, SONDE_CAPTURED_PASSIVE);
        CHECK_EQ(__atomic_load_n(&waiter.bytes, __ATOMIC_ACQUIRE), i - 1);
        CHECK_OK(pthread_kill(waiter.thread, SIGURG));
        while (__atomic_load_n(&waiter.bytes, __ATOMIC_ACQUIRE) != i) {
            usleep(100);
        }
    }
    CHECK_EQ(waiter.error, 0);
    __atomic_store_n(&waiter.stop, 1, __ATOMIC_RELEASE);
    CHECK_OK(pthread_kill(waiter.thread, SIGURG));
    pthread_join(waiter.thread, NULL);
    end(&spinner);
}

/* When a signal's action becomes "ignore" again, the kernel discards pending ones, even if the
 * program blocks the signal and takes it later by a signalfd or sigtimedwait(). */
TEST(a_pending_signal_of_the_program_is_not_lost)
{
    struct worker spinner = {0};
    struct signalfd_siginfo info;
    const struct timespec no_time = {0, 0};
    sigset_t set;
    int fd;
    need_snapshots();
    start(&spinner, spin);
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(pthread_kill(pthread_self(), SIGURG)); /* to this thread only */
        CHECK_OK(capture(0, 0));
        CHECK_OK(find(spinner.tid)->captured.status);
        CHECK_EQ(sigtimedwait(&set, NULL, &no_time), SIGURG);
        CHECK_EQ(sigtimedwait(&set, NULL, &no_time), -1);
        CHECK_OK(capture(0, 0));
        check_action_is(SIG_DFL);
    }
    fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    CHECK(fd >= 0);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(pthread_kill(pthread_self(), SIGURG));
        CHECK_OK(capture(0, 0));
        CHECK_EQ(read(fd, &info, sizeof info), sizeof info);
        CHECK_EQ(info.ssi_signo, SIGURG);
        CHECK_EQ(info.ssi_pid, getpid());
        CHECK_EQ(read(fd, &info, sizeof info), -1);
        CHECK_OK(capture(0, 0));
        check_action_is(SIG_DFL);
    }
    close(fd);
    end(&spinner);
}

/* The same for the capture of one thread by signal. */
TEST(a_pending_signal_outlives_single_captures)
{
    struct worker spinner = {0};
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    const struct timespec no_time = {0, 0};
    sigset_t set;
    need_snapshots();
    start(&spinner, spin);
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(pthread_kill(pthread_self(), SIGURG));
    CHECK_OK(sonde_thread_capture(spinner.tid, NULL, &stack, NULL));
    CHECK_EQ(sigtimedwait(&set, NULL, &no_time), SIGURG);
    CHECK_OK(sonde_thread_capture(spinner.tid, NULL, &stack, NULL));
    check_action_is(SIG_DFL);
    end(&spinner);
}

/* --- odd moments --- */

static void *allocate(void *arg)
{
    struct worker *w = arg;
    begin_work(w);
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        void *volatile memory[8];
        for (unsigned i = 0; i < 8; i++) {
            memory[i] = malloc(2000 * (i + 1)); /* too large for a thread's cache */
        }
        for (unsigned i = 0; i < 8; i++) {
            free(memory[i]);
        }
    }
    return NULL;
}

/* A parked thread may hold any lock of the program: sonde must take none until the thread is
 * released. */
TEST(threads_that_hold_the_heaps_lock)
{
    struct worker workers[3] = {{0}};
    need_snapshots();
    mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < 3; i++) {
        start(&workers[i], allocate);
    }
    for (int i = 0; i < 500; i++) {
        CHECK_OK(capture(0, FILES));
        CHECK(snapshot.stop_ns < 10000000000u); /* far from the deadline of 20 s */
    }
    for (int i = 0; i < 3; i++) {
        end(&workers[i]);
    }
    CHECK_OK(capture(0, 0));
}

static void *brief(void *arg)
{
    volatile char room[4096];
    unsigned seed = (unsigned)(uintptr_t)arg;
    room[0] = 0;
    if (seed % 3 == 0) {
        usleep(seed % 200);
    }
    for (volatile unsigned i = 0; i < seed % 5000; i++) {
        room[1] = room[0];
    }
    return NULL;
}

/* ThreadSanitizer runs a handler at once in a thread that joins, even while the C library frees the
 * ended thread's memory under a lock of the sanitizer's, which the handler takes again. */
static void join(pthread_t thread)
{
    sigset_t asking, before;
    sigemptyset(&asking);
    if (TEST_SIGNALS_ARE_LATE) {
        sigaddset(&asking, SIGURG);
    }
    pthread_sigmask(SIG_BLOCK, &asking, &before);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *start_brief_ones(void *arg)
{
    struct worker *w = arg;
    pthread_attr_t attr;
    unsigned seed = 1;
    begin_work(w);
    pthread_attr_init(&attr);
    CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)64 << 20));
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        pthread_t threads[4];
        for (unsigned i = 0; i < 4; i++) {
            seed = seed * 1103515245 + 12345;
            CHECK_OK(pthread_create(&threads[i], &attr, brief, (void *)(uintptr_t)(seed >> 8)));
        }
        for (unsigned i = 0; i < 4; i++) {
            join(threads[i]);
        }
    }
    pthread_attr_destroy(&attr);
    return NULL;
}

/* Stacks of 64 MiB are unmapped when their threads end, while a capture reads them. */
TEST_TIMEOUT(threads_that_end_meanwhile, 1200)
{
    struct worker w = {0};
    int rounds = test_long() ? 100000 : 1000;
    uint64_t whole = 0, parts = 0;
    need_snapshots();
    start(&w, start_brief_ones);
    for (int i = 0; i < rounds; i++) {
        CHECK_OK(capture(SONDE_CAPTURE_BARE, i % 100 == 99 ? 0 : FILES));
        for (uint32_t k = 0; k < seen_count; k++) {
            bool is_read = seen[k].captured.status == SONDE_OK;
            CHECK(is_read == (seen[k].stack.count > 0));
            whole += is_read && seen[k].stack.end == SONDE_END_ROOT;
            parts += is_read && seen[k].stack.end != SONDE_END_ROOT;
        }
    }
    end(&w);
    CHECK(whole > (uint64_t)rounds);
#if defined(SONDE_SANITIZED) /* leftovers give two callers: the walk ends */
    (void)parts;
#else
    CHECK(parts * 100 < whole); /* a thread starts and ends in the kernel's code */
#endif
    CHECK_OK(capture(0, 0));
    check_action_is(SIG_DFL);
}

static void *load_often(void *arg)
{
    struct worker *w = arg;
    unsigned long loads = 0;
    begin_work(w);
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE) || loads < w->bytes) {
        void *handle = dlopen("libm.so.6", RTLD_NOW);
        double (*function)(double) = NULL;
        CHECK(handle != NULL);
        *(void **)&function = dlsym(handle, "cos");
        CHECK(function(0) == 1);
        dlclose(handle);
        loads++;
    }
    return NULL;
}

/* A parked thread may hold the loader's lock. The stack of a thread that is blocked inside the
 * loader may need an unknown register. Then the capture says so, and the stack is not wrong. */
TEST_TIMEOUT(a_thread_that_loads_and_unloads, 3000)
{
    struct worker w = {.bytes = test_long() ? 1000000 : 500};
    unsigned captures = 0, cut = 0, rounds = 0;
    need_snapshots();
    start(&w, load_often);
    for (int i = 0; i < 300 || (test_long() && i < 100000); i++) {
        const struct seen *s;
        CHECK_OK(capture(SONDE_CAPTURE_BARE, FILES));
        s = find(w.tid);
        rounds++;
        captures += s->captured.status == SONDE_OK && s->stack.end == SONDE_END_ROOT &&
                    holds(s, (void *)&load_often, FUNCTION_SIZE);
        cut += s->captured.status == SONDE_OK && s->stack.end == SONDE_END_NO_REGISTERS;
    }
    end(&w);
    CHECK(captures > 0);
    CHECK(captures + cut + 30 > rounds); /* some captures could not read it */
    CHECK_OK(capture(0, 0));
}

static void *take_and_exit(void *arg)
{
    struct sonde_thread threads[2] = {{.struct_bytes = sizeof threads[0]}};
    uint32_t count = 0;
    bool is_right;
    (void)arg;
    while (sonde_threads_list(threads, 2, &count) != SONDE_OK || threads[0].letter != 'Z') {
        usleep(1000);
    }
    is_right = capture(0, FILES) == SONDE_OK && seen_count == 1 && snapshot.consistent;
    _exit(is_right ? 0 : 1);
}

/* The main thread has ended and is still listed. */
TEST(without_a_main_thread)
{
    int status;
    need_snapshots();
    if (TEST_SIGNALS_ARE_LATE) {
        SKIP("a sanitizer has threads of its own");
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, take_and_exit, NULL);
        pthread_exit(NULL);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

TEST(in_a_fork_child)
{
    struct worker reader = {0};
    pid_t child;
    int status;
    need_snapshots();
    start_reader(&reader);
    CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, FILES));
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        bool is_right = capture(0, FILES) == SONDE_OK && seen_count == 1 &&
                        seen[0].thread.tid == (uint64_t)getpid() && snapshot.unchanged == 0;
        _exit(is_right ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, FILES)); /* the parent's files are untouched */
    check_reader(&reader);
    end_reader(&reader);
    CHECK_OK(capture(0, 0));
}
