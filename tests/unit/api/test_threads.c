// SPDX-License-Identifier: Apache-2.0
/* Captures of other threads: blocked, running, ending; and side effects that must not occur. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sonde/thread.h>

#include "test.h"
#include "test_signals.h"

enum { DEPTH = 64 };

struct fixture {
    pthread_t thread;
    uint64_t tid;
    int fds[2];
    int ready, stop;
    uint64_t expected; /* return address into the function that blocks */
    ssize_t result;
    int error;
};

static uint64_t pcs[DEPTH];
static uint8_t how[DEPTH];
static struct sonde_stack stack;
static struct sonde_captured captured = {.struct_bytes = sizeof captured};

/* The linker gives the bounds of a function in its own section. */
#define MEASURED(name) __attribute__((noinline, section("text_of_" #name)))
#define BOUNDS(name)   extern const char __start_text_of_##name[], __stop_text_of_##name[]
#define IS_IN(pc, name)                                                                            \
    ((pc) >= (uintptr_t)__start_text_of_##name && (pc) < (uintptr_t)__stop_text_of_##name)
#define HOLDS(name) holds((uintptr_t)__start_text_of_##name, (uintptr_t)__stop_text_of_##name)
BOUNDS(capture);
BOUNDS(spin);
BOUNDS(block);
BOUNDS(nap);
BOUNDS(caller);

static MEASURED(capture) enum sonde_status capture(uint64_t tid, uint32_t flags)
{
    struct sonde_capture_options options = {.struct_bytes = sizeof options, .flags = flags};
    options.timeout_ns = 20000000000u; /* for a loaded machine; no test waits until it passes */
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    return sonde_thread_capture(tid, &options, &stack, &captured);
}

/* Captures may be unsupported (an emulator shows its host's registers): then the status is
 * UNSUPPORTED. */
static void need_passive(void)
{
    pthread_t thread;
    uint64_t tid;
    extern void *sleep_until_stop(void *);
    int stop = 0;
    enum sonde_status status;
    CHECK_OK(pthread_create(&thread, NULL, sleep_until_stop, &stop));
    CHECK_OK(sonde_thread_find_pthread(thread, &tid));
    status = capture(tid, 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    if (status == SONDE_UNSUPPORTED) {
        CHECK(captured.note[0] != '\0');
        CHECK_EQ(stack.count, 0);
        test_skip("%s", captured.note);
    }
}

void *sleep_until_stop(void *stop);
void *sleep_until_stop(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {
        usleep(1000);
    }
    return NULL;
}

static bool holds(uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < stack.count; i++) {
        if (pcs[i] >= start && pcs[i] < end) {
            return true;
        }
    }
    return false;
}

static MEASURED(block) void *block(void *arg)
{
    struct fixture *f = arg;
    char byte;
    f->tid = (uint64_t)syscall(SYS_gettid);
    __atomic_store_n(&f->ready, 1, __ATOMIC_RELEASE);
    f->result = read(f->fds[0], &byte, 1);
    f->error = errno;
    return NULL;
}

static void wait_ready(const struct fixture *f)
{
    while (!__atomic_load_n(&f->ready, __ATOMIC_ACQUIRE)) {
        usleep(100);
    }
}

/* Read the thread until it is in its call: its own mark comes before the call. */
static void capture_blocked(const struct fixture *f)
{
    for (;;) {
        enum sonde_status status = capture(f->tid, SONDE_CAPTURE_PASSIVE_ONLY);
        if (status == SONDE_OK && captured.syscall == SYS_read) {
            return;
        }
        CHECK(status == SONDE_OK || status == SONDE_BUSY);
        usleep(100);
    }
}

TEST(a_blocked_thread)
{
    struct fixture f = {.ready = 0};
    need_passive();
    CHECK_OK(pipe(f.fds));
    CHECK_OK(pthread_create(&f.thread, NULL, block, &f));
    wait_ready(&f);
    capture_blocked(&f);
    CHECK_EQ(captured.by, SONDE_CAPTURED_PASSIVE);
    CHECK_EQ(captured.syscall_args[0], f.fds[0]);
    CHECK_EQ(stack.end, SONDE_END_ROOT);
    CHECK(HOLDS(block));
    CHECK(how[0] & SONDE_HOW_EXACT);
    CHECK_EQ(write(f.fds[1], "x", 1), 1);
    pthread_join(f.thread, NULL);
    CHECK_EQ(f.result, 1);
    CHECK_EQ(capture(f.tid, 0), SONDE_ABSENT);
    close(f.fds[0]);
    close(f.fds[1]);
}

static MEASURED(spin) void *spin(void *arg)
{
    struct fixture *f = arg;
    f->tid = (uint64_t)syscall(SYS_gettid);
    __atomic_store_n(&f->ready, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE)) {
        test_take_signals();
    }
    return NULL;
}

static void *spin_with_signal_blocked(void *arg)
{
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return spin(arg);
}

static void start_spinning(struct fixture *f, void *(*function)(void *))
{
    need_passive();
    CHECK_OK(pthread_create(&f->thread, NULL, function, f));
    wait_ready(f);
}

static void end_spinning(struct fixture *f)
{
    __atomic_store_n(&f->stop, 1, __ATOMIC_RELEASE);
    pthread_join(f->thread, NULL);
}

static void check_action_is(void (*handler)(int))
{
    struct sigaction now;
    CHECK_OK(sigaction(SIGURG, NULL, &now));
    CHECK(now.sa_handler == handler);
}

TEST(a_running_thread)
{
    struct fixture f = {.ready = 0};
    start_spinning(&f, spin);
    for (int i = 0; i < 20; i++) {
        if (capture(f.tid, 0) != SONDE_OK) {
            FAIL("%s: %s", sonde_status_text(captured.status), captured.note);
        }
        CHECK_EQ(captured.by, SONDE_CAPTURED_SIGNAL);
        CHECK(how[0] & SONDE_HOW_EXACT);
        if (!TEST_SIGNALS_ARE_LATE) {
            CHECK_EQ(stack.end, SONDE_END_ROOT);
            CHECK(IS_IN(pcs[0], spin));
        }
    }
    check_action_is(SIG_DFL);
    CHECK_EQ(capture(f.tid, SONDE_CAPTURE_PASSIVE_ONLY), SONDE_BUSY);
    CHECK(captured.note[0] != '\0');
    end_spinning(&f);
}

TEST(a_running_thread_that_blocks_the_signal)
{
    struct fixture f = {.ready = 0};
    start_spinning(&f, spin_with_signal_blocked);
    CHECK_EQ(capture(f.tid, 0), SONDE_BUSY);
    CHECK_CONTAINS(captured.note, "blocks the signal");
    check_action_is(SIG_DFL);
    end_spinning(&f);
}

static int urgent;
static void on_urgent(int signal)
{
    (void)signal;
    __atomic_fetch_add(&urgent, 1, __ATOMIC_RELAXED);
}

/* A program's own handler stays set. It gets all of the program's signals and none of ours. */
TEST(the_programs_own_handler)
{
    struct fixture f = {.ready = 0};
    struct sigaction action = {.sa_handler = on_urgent};
    int ran = 0;
    sigaction(SIGURG, &action, NULL);
    start_spinning(&f, spin);
    for (int i = 0; i < 50; i++) {
        enum sonde_status status;
        while ((status = capture(f.tid, 0)) == SONDE_BUSY) {
            usleep(100); /* the thread has not left its own handler yet */
        }
        CHECK_OK(status);
        do { /* also once for ours: the kernel may have merged the program's signal with it */
            ran++;
            while (__atomic_load_n(&urgent, __ATOMIC_RELAXED) < ran) {
                usleep(100);
            }
        } while (ran % 2 != 0 && pthread_kill(f.thread, SIGURG) == 0);
    }
    CHECK(__atomic_load_n(&urgent, __ATOMIC_RELAXED) >= ran);
    check_action_is(on_urgent);
    end_spinning(&f);
}

static MEASURED(caller) void capture_itself(uint32_t skip)
{
    struct sonde_capture_options options = {.struct_bytes = sizeof options, .skip = skip};
    CHECK_OK(sonde_thread_capture(sonde_thread_self(), &options, &stack, NULL));
}

TEST(the_calling_thread_and_skip)
{
    CHECK_OK(capture(sonde_thread_self(), 0));
    CHECK_EQ(captured.by, SONDE_CAPTURED_SELF);
    CHECK(IS_IN(pcs[0], capture));
    capture_itself(0);
    CHECK(IS_IN(pcs[0], caller));
    capture_itself(1);
    CHECK(!HOLDS(caller));
}

struct all {
    unsigned threads, read, self, main;
    uint64_t last_tid;
};

static int take(void *ctx, const struct sonde_thread *thread, const struct sonde_stack *taken,
                const struct sonde_captured *by)
{
    struct all *all = ctx;
    if (all->threads == 0) {
        CHECK(thread->is_main);
    }
    all->threads++;
    all->main += thread->is_main;
    all->self += thread->is_self;
    if (by->status == SONDE_OK) {
        all->read++;
        CHECK(taken->count > 0);
        CHECK(taken->end == SONDE_END_ROOT || TEST_SIGNALS_ARE_LATE);
    }
    return 0;
}

TEST(all_threads_while_some_run)
{
    enum { BLOCKED = 6, RUNNING = 2 };
    struct fixture blocked[BLOCKED] = {{0}}, running[RUNNING] = {{0}};
    struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                            .timeout_ns = 20000000000u};
    struct all all = {0};
    need_passive();
    for (int i = 0; i < BLOCKED; i++) {
        CHECK_OK(pipe(blocked[i].fds));
        CHECK_OK(pthread_create(&blocked[i].thread, NULL, block, &blocked[i]));
    }
    for (int i = 0; i < RUNNING; i++) {
        start_spinning(&running[i], spin);
    }
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_threads_capture(&options, &stack, take, &all));
    CHECK_EQ(all.main, 1);
    CHECK_EQ(all.self, 1);
    CHECK(all.threads >= BLOCKED + RUNNING + 1); /* a sanitizer has threads of its own */
    CHECK(all.read == all.threads || TEST_SIGNALS_ARE_LATE);
    for (int i = 0; i < BLOCKED; i++) {
        CHECK_EQ(write(blocked[i].fds[1], "x", 1), 1);
        pthread_join(blocked[i].thread, NULL);
        CHECK_EQ(blocked[i].result, 1);
        close(blocked[i].fds[0]);
        close(blocked[i].fds[1]);
    }
    for (int i = 0; i < RUNNING; i++) {
        end_spinning(&running[i]);
    }
}

TEST(list_and_names)
{
    struct fixture a = {.ready = 0}, b = {.ready = 0};
    struct sonde_thread threads[64] = {{.struct_bytes = sizeof threads[0]}};
    uint32_t count = 0;
    uint64_t tid = UINT64_MAX;
    CHECK_OK(pipe(a.fds));
    CHECK_OK(pipe(b.fds));
    CHECK_OK(pthread_create(&a.thread, NULL, block, &a));
    CHECK_OK(pthread_create(&b.thread, NULL, block, &b));
    wait_ready(&a);
    wait_ready(&b);
    CHECK_OK(pthread_setname_np(a.thread, "worker one"));
    CHECK_OK(pthread_setname_np(b.thread, "a) R (b"));
    CHECK_OK(sonde_threads_list(threads, 64, &count));
    CHECK(count >= 3);
    CHECK(threads[0].is_main && threads[0].is_self);
    CHECK_EQ(threads[0].tid, sonde_thread_main());
    CHECK_EQ(sonde_threads_list(threads, 1, &count), SONDE_LIMIT);
    CHECK(count >= 3);

    CHECK_OK(sonde_thread_find_name("worker one", &tid));
    CHECK_EQ(tid, a.tid);
    CHECK_OK(sonde_thread_find_name("a) R (b", &tid));
    CHECK_EQ(tid, b.tid);
    CHECK_OK(sonde_thread_find_pthread(a.thread, &tid));
    CHECK_EQ(tid, a.tid);
    CHECK_OK(sonde_thread_find_pthread(pthread_self(), &tid));
    CHECK_EQ(tid, sonde_thread_self());
    tid = UINT64_MAX;
    CHECK_EQ(sonde_thread_find_nsthread(&tid, &tid), SONDE_UNSUPPORTED); /* Darwin has them */
    CHECK_EQ(sonde_thread_register_nsthread(), SONDE_UNSUPPORTED);
    CHECK_EQ(sonde_thread_find_name("nobody", &tid), SONDE_ABSENT);
    CHECK_OK(pthread_setname_np(b.thread, "worker one"));
    CHECK_EQ(sonde_thread_find_name("worker one", &tid), SONDE_AMBIGUOUS);
    CHECK_EQ(tid, UINT64_MAX);
    CHECK_EQ(write(a.fds[1], "x", 1), 1);
    CHECK_EQ(write(b.fds[1], "x", 1), 1);
    while (sonde_thread_find_pthread(a.thread, &tid) == SONDE_OK) {
        usleep(100); /* ended and not joined: the handle is still valid */
    }
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    close(a.fds[0]), close(a.fds[1]), close(b.fds[0]), close(b.fds[1]);
}

TEST(wrong_arguments)
{
    struct sonde_capture_options options = {.struct_bytes = 0};
    uint32_t count;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_EQ(sonde_thread_capture(1, &options, &stack, NULL), SONDE_USAGE);
    options.struct_bytes = sizeof options;
    options.flags = 0x80;
    CHECK_EQ(sonde_thread_capture(1, &options, &stack, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_thread_capture(1, NULL, NULL, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_thread_capture(1, NULL, &stack, NULL), SONDE_ABSENT); /* of another process */
    CHECK_EQ(sonde_thread_capture(0, NULL, &stack, &captured), SONDE_ABSENT);
    CHECK_EQ(captured.status, SONDE_ABSENT);
    CHECK_EQ(sonde_thread_capture((uint64_t)-5, NULL, &stack, NULL), SONDE_ABSENT);
    CHECK_EQ(sonde_threads_capture(NULL, &stack, NULL, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_threads_list(NULL, 1, &count), SONDE_USAGE);
    CHECK_EQ(sonde_thread_find_name(NULL, NULL), SONDE_USAGE);
}

/* Threads enter and leave a call while they are captured. Each result is a complete stack or has a
 * status that says otherwise. No nap that signals must not interrupt ends early. */
#if defined(SONDE_SANITIZED) /* one read takes 15 ms there, most of them a search for rbp */
enum { NAP_NS = 50000000, NAP_READS = 60 };
#else
enum { NAP_NS = 200000, NAP_READS = 2000 };
#endif

static MEASURED(nap) void *nap(void *arg)
{
    struct fixture *f = arg;
    f->tid = (uint64_t)syscall(SYS_gettid);
    __atomic_store_n(&f->ready, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE)) {
        struct timespec time = {.tv_nsec = NAP_NS};
        if (nanosleep(&time, NULL) != 0) {
            f->error++;
        }
        for (volatile int i = 0; i < 5000; i++) {
        }
    }
    return NULL;
}

TEST(naps_are_not_ended_by_passive_reads)
{
    struct fixture f = {.ready = 0};
    unsigned read = 0;
    start_spinning(&f, nap);
    /* a thread without a processor is never seen in its nap: until it has been, once */
    for (int i = 0; i < NAP_READS || (read == 0 && i < 1000 * NAP_READS); i++) {
        enum sonde_status status = capture(f.tid, SONDE_CAPTURE_PASSIVE_ONLY);
        CHECK(status == SONDE_OK || status == SONDE_BUSY);
        if (status == SONDE_OK) {
#if defined(SONDE_SANITIZED) /* leftovers give two callers: the walk ends */
            CHECK(stack.end == SONDE_END_ROOT || stack.end == SONDE_END_NO_REGISTERS);
#else
            CHECK_EQ(stack.end, SONDE_END_ROOT);
#endif
            CHECK(HOLDS(nap));
            read++;
        }
    }
    end_spinning(&f);
    CHECK(read > 0);
    CHECK_EQ(f.error, 0);
}

static void *brief(void *arg)
{
    usleep(50);
    return arg;
}

TEST(threads_that_end_meanwhile)
{
    need_passive();
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        uint64_t tid = 0;
        CHECK_OK(pthread_create(&thread, NULL, brief, NULL));
        if (sonde_thread_find_pthread(thread, &tid) == SONDE_OK) {
            enum sonde_status status = capture(tid, 0);
            CHECK(status == SONDE_OK || status == SONDE_ABSENT || status == SONDE_BUSY);
        }
        pthread_join(thread, NULL);
    }
    check_action_is(SIG_DFL);
}
