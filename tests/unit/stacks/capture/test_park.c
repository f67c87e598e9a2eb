// SPDX-License-Identifier: Apache-2.0
/* Parked threads: requests at every moment, without the rest of a snapshot. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture_park.h"
#include "capture_roster.h"
#include "capture_thread.h"
#include "os.h"
#include "test.h"
#include "test_signals.h"

enum { DEPTH = 64, FAR_NS = 2000000000 };

static void on_signal(int signal, siginfo_t *info, void *ucontext)
{
    int saved = errno;
    sonde__capture_on_signal(signal, info, ucontext);
    errno = saved;
}

struct worker {
    pthread_t thread;
    uint64_t tid;
    int ready, stop;
    bool blocks; /* blocks the signal until this is cleared */
    uint64_t turns;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
};

static __attribute__((noinline)) void *spin(void *arg)
{
    struct worker *w = arg;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    if (w->blocks) {
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    }
    w->tid = (uint64_t)syscall(SYS_gettid);
    __atomic_store_n(&w->ready, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&w->turns, 1, __ATOMIC_RELAXED);
        test_take_signals();
        if (w->blocks && __atomic_load_n(&w->ready, __ATOMIC_ACQUIRE) == 2) {
            pthread_sigmask(SIG_UNBLOCK, &set, NULL);
            __atomic_store_n(&w->ready, 3, __ATOMIC_RELEASE);
        }
    }
    return NULL;
}

/* The stack reaches the entry, and frame 0 is spin() or the function that the compiler calls for an
 * atomic addition. */
static bool is_whole(const struct worker *w)
{
    uint32_t first = w->pcs[0] - (uintptr_t)&spin < 2048 ? 0 : 1;
#if defined(SONDE_SANITIZED)
    bool may_be_deeper = w->blocks; /* the sanitizer's frames around the unblocking of the signal */
#else
    bool may_be_deeper = false;
#endif
    if (TEST_SIGNALS_ARE_LATE || may_be_deeper) {
        return w->stack.count > 0;
    }
    return w->stack.end == SONDE_END_ROOT && w->stack.count > first &&
           w->pcs[first] - (uintptr_t)&spin < 2048 && (w->how[0] & SONDE_HOW_EXACT) != 0;
}

static void start(struct worker *w)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK_OK(sigaction(SIGURG, &action, NULL));
    sonde_stack_init(&w->stack, w->pcs, w->how, DEPTH, 0);
    CHECK_OK(pthread_create(&w->thread, NULL, spin, w));
    while (!__atomic_load_n(&w->ready, __ATOMIC_ACQUIRE)) {
        usleep(100);
    }
}

static void end(struct worker *w)
{
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    pthread_join(w->thread, NULL);
}

static bool does_turn(struct worker *w)
{
    uint64_t turns = __atomic_load_n(&w->turns, __ATOMIC_RELAXED);
    for (int i = 0; i < 200; i++) {
        usleep(1000);
        if (__atomic_load_n(&w->turns, __ATOMIC_RELAXED) != turns) {
            return true;
        }
    }
    return false;
}

static void unblock(struct worker *w)
{
    __atomic_store_n(&w->ready, 2, __ATOMIC_RELEASE);
}

static void wait_unblocked(struct worker *w)
{
    while (__atomic_load_n(&w->ready, __ATOMIC_ACQUIRE) != 3) {
        usleep(100);
    }
}

TEST(a_parked_thread_waits_until_it_is_released)
{
    struct worker w = {.ready = 0};
    uint32_t slot;
    start(&w);
    for (int i = 0; i < 20; i++) {
        sonde__capture_park_open(10 * (uint64_t)FAR_NS);
        CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
        sonde__capture_park_wait(sonde__os_now_ns() + FAR_NS);
        CHECK_EQ(sonde__capture_park_missing(), 0);
        CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_HELD);
        CHECK(sonde__capture_park_is_inside(w.tid));
        CHECK_EQ(sonde__capture_park_inside_count(), 1);
        CHECK(is_whole(&w));
        if (i == 0) {
            CHECK(!does_turn(&w));
        }
        sonde__capture_park_release();
        CHECK(does_turn(&w));
        CHECK(!sonde__capture_park_is_inside(w.tid));
        CHECK(sonde__capture_park_was_inside(w.tid));
    }
    end(&w);
}

/* The system shows its wait in our handler: that is not a wait of the program. */
TEST(a_thread_that_has_not_left_the_handler_runs)
{
    struct worker w = {.ready = 0};
    struct sonde__roster roster = {0};
    struct sonde__roster_thread thread = {.wait_fd = -1, .schedstat_fd = -1, .stat_fd = -1};
    struct sonde_captured captured;
    struct sonde_stack alone;
    uint64_t pcs[64];
    uint8_t how[64];
    uint32_t slot;
    if (sonde__capture_passive_check() != SONDE_OK) {
        SKIP("the system does not show where this process' threads wait");
    }
    start(&w);
    thread.tid = w.tid;
    sonde__capture_park_open(10 * (uint64_t)FAR_NS);
    CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
    sonde__capture_park_wait(sonde__os_now_ns() + FAR_NS);
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_HELD);
    do {
        CHECK(!sonde__capture_roster_look(&roster, &thread));
        CHECK_EQ(thread.phase, SONDE__ROSTER_RUNNING);
    } while (!sonde__os_wait_is_blocked(&thread.wait));
    /* a capture of this thread alone asks it instead */
    sonde_stack_init(&alone, pcs, how, 64, 0);
    CHECK_EQ(sonde__capture_blocked(w.tid, &alone, &captured), SONDE_BUSY);
    sonde__capture_park_release();
    end(&w);
}

/* A thread parks no longer than its limit, even if the collector never releases it. */
TEST(a_parked_thread_leaves_by_itself)
{
    struct worker w = {.ready = 0};
    uint32_t slot;
    start(&w);
    sonde__capture_park_open(50000000);
    CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
    sonde__capture_park_wait(sonde__os_now_ns() + FAR_NS);
    CHECK(does_turn(&w));
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_LEFT);
    CHECK(is_whole(&w)); /* its stack was written */
    end(&w);
}

/* A signal delivered after its request was withdrawn writes nothing and parks no thread. */
TEST(a_late_delivery_does_nothing)
{
    struct worker w = {.ready = 0, .blocks = true};
    uint32_t slot;
    start(&w);
    sonde__capture_park_open(10 * (uint64_t)FAR_NS);
    CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
    sonde__capture_park_wait(sonde__os_now_ns() + 20000000);
    CHECK_EQ(sonde__capture_park_missing(), 1);
    CHECK(sonde__capture_park_is_asked(slot));
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_ABSENT);
    CHECK_EQ(sonde__capture_park_missing(), 0);
    unblock(&w);
    wait_unblocked(&w);
    CHECK(does_turn(&w));
    CHECK_EQ(w.stack.count, 0);
    CHECK_EQ(w.stack.end, SONDE_END_NOT_READ);
    sonde__capture_park_release();
    end(&w);
}

/* The same, while another collection asks another thread in the same slot. */
TEST(a_late_delivery_finds_another_question)
{
    struct worker late = {.ready = 0, .blocks = true}, other = {.ready = 0};
    uint32_t slot, other_slot;
    start(&late);
    start(&other);
    sonde__capture_park_open(FAR_NS);
    CHECK_OK(sonde__capture_park_ask(late.tid, SIGURG, &late.stack, &slot));
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_ABSENT);
    sonde__capture_park_release();
    sonde__capture_park_open(10 * (uint64_t)FAR_NS);
    CHECK_OK(sonde__capture_park_ask(other.tid, SIGURG, &other.stack, &other_slot));
    CHECK_EQ(other_slot, slot);
    unblock(&late);
    wait_unblocked(&late);
    CHECK(does_turn(&late));
    sonde__capture_park_wait(sonde__os_now_ns() + FAR_NS);
    CHECK_EQ(sonde__capture_park_look(other_slot), SONDE__PARKED_HELD);
    CHECK(is_whole(&other));
    CHECK_EQ(late.stack.count, 0);
    sonde__capture_park_release();
    end(&late);
    end(&other);
}

static int urgent;
static void on_urgent(int signal)
{
    (void)signal;
    __atomic_fetch_add(&urgent, 1, __ATOMIC_RELAXED);
}

/* The system keeps only one of two equal pending signals. Here it keeps ours and drops the
 * program's. */
TEST(a_signal_of_the_program_that_is_merged_with_ours)
{
    struct worker w = {.ready = 0, .blocks = true};
    const struct sonde__capture_chain chain = {.simple = on_urgent};
    uint32_t slot;
    start(&w);
    sonde__capture_chain_set(&chain);
    sonde__capture_park_open(10 * (uint64_t)FAR_NS);
    CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
    CHECK_OK(pthread_kill(w.thread, SIGURG));
    unblock(&w);
    sonde__capture_park_wait(sonde__os_now_ns() + FAR_NS);
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_HELD);
    CHECK_EQ(urgent, 0); /* the thread parks first */
    sonde__capture_park_release();
    wait_unblocked(&w);
    CHECK_EQ(urgent, 1);
    end(&w);
}

/* Here the system drops ours. */
TEST(our_signal_is_merged_with_one_of_the_program)
{
    struct worker w = {.ready = 0, .blocks = true};
    const struct sonde__capture_chain chain = {.simple = on_urgent};
    uint32_t slot;
    start(&w);
    sonde__capture_chain_set(&chain);
    CHECK_OK(pthread_kill(w.thread, SIGURG));
    sonde__capture_park_open(10 * (uint64_t)FAR_NS);
    CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
    unblock(&w);
    sonde__capture_park_wait(sonde__os_now_ns() + FAR_NS);
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_HELD);
    CHECK_EQ(urgent, 0);
    sonde__capture_park_release();
    wait_unblocked(&w);
    CHECK_EQ(urgent, 1);
    end(&w);
}

/* The signal of a withdrawn request is still pending when the thread is asked again: the system
 * drops the new one. */
TEST(our_signal_is_merged_with_an_earlier_one_of_ours)
{
    struct worker w = {.ready = 0, .blocks = true}, other = {.ready = 0};
    uint32_t slot, other_slot;
    start(&w);
    start(&other);
    sonde__capture_park_open(FAR_NS);
    CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_ABSENT);
    sonde__capture_park_release();
    sonde__capture_park_open(10 * (uint64_t)FAR_NS);
    CHECK_OK(sonde__capture_park_ask(other.tid, SIGURG, &other.stack, &other_slot));
    CHECK_OK(sonde__capture_park_ask(w.tid, SIGURG, &w.stack, &slot));
    unblock(&w);
    sonde__capture_park_wait(sonde__os_now_ns() + FAR_NS);
    CHECK_EQ(sonde__capture_park_look(slot), SONDE__PARKED_HELD);
    CHECK_EQ(sonde__capture_park_look(other_slot), SONDE__PARKED_HELD);
    CHECK(is_whole(&w));
    CHECK(is_whole(&other));
    sonde__capture_park_release();
    wait_unblocked(&w);
    CHECK(does_turn(&w));
    end(&w);
    end(&other);
}

static void *unblock_soon(void *arg)
{
    usleep(50000);
    unblock(arg);
    return NULL;
}

/* The same when only one thread is asked. */
TEST(a_single_question_whose_signal_is_merged)
{
    struct worker w = {.ready = 0, .blocks = true};
    pthread_t soon;
    start(&w);
    CHECK_EQ(sonde__capture_by_signal(w.tid, SIGURG, 1000000, &w.stack), SONDE_TIMEOUT);
    CHECK_OK(pthread_create(&soon, NULL, unblock_soon, &w));
    CHECK_OK(sonde__capture_by_signal(w.tid, SIGURG, 10 * (uint64_t)FAR_NS, &w.stack));
    CHECK(is_whole(&w));
    pthread_join(soon, NULL);
    end(&w);
}

/* A thread may be asked again before it has left the handler: the signal comes when it has. */
TEST(asked_again_at_once)
{
    struct worker w[3] = {{.ready = 0}};
    uint32_t slots[3];
    for (int i = 0; i < 3; i++) {
        start(&w[i]);
    }
    for (int round = 0; round < 2000; round++) {
        sonde__capture_park_open(10 * (uint64_t)FAR_NS);
        for (int i = 0; i < 3; i++) {
            sonde_stack_init(&w[i].stack, w[i].pcs, w[i].how, DEPTH, 0);
            CHECK_OK(sonde__capture_park_ask(w[i].tid, SIGURG, &w[i].stack, &slots[i]));
        }
        sonde__capture_park_wait(sonde__os_now_ns() + 10 * (uint64_t)FAR_NS);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(sonde__capture_park_look(slots[i]), SONDE__PARKED_HELD);
            CHECK(is_whole(&w[i])); /* without frames of our handler */
        }
        sonde__capture_park_release();
    }
    for (int i = 0; i < 3; i++) {
        end(&w[i]);
    }
}

TEST(no_such_thread)
{
    struct worker w = {.ready = 0};
    uint32_t slot = 12345;
    sonde_stack_init(&w.stack, w.pcs, w.how, DEPTH, 0);
    sonde__capture_park_open(FAR_NS);
    CHECK_EQ(sonde__capture_park_ask(1, SIGURG, &w.stack, &slot), SONDE_ABSENT);
    CHECK_EQ(slot, 12345);
    CHECK_EQ(sonde__capture_park_missing(), 0);
    CHECK(!sonde__capture_park_answer(SIGURG, 0x123456789abcdef,
                                      NULL)); /* the value of another sender */
}
