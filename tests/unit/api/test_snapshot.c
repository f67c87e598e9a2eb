// SPDX-License-Identifier: Apache-2.0
/* Snapshots: the stacks of all threads as of one moment. */
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshots.h"

/* --- what is in a snapshot --- */

TEST(blocked_threads_are_read_and_remembered)
{
    enum { READERS = 5 };
    struct worker readers[READERS] = {{0}};
    need_snapshots();
    for (int i = 0; i < READERS; i++) {
        start_reader(&readers[i]);
    }
    CHECK_OK(pthread_setname_np(readers[0].thread, "first"));
    for (int round = 0; round < 20; round++) {
        uint32_t fed = (uint32_t)round % 4;
        for (uint32_t i = 0; i < fed; i++) {
            feed_reader(&readers[i]);
        }
        CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, FILES));
        for (int i = 0; i < READERS; i++) {
            check_reader(&readers[i]);
        }
        CHECK_STR(find(readers[0].tid)->thread.name, "first");
        CHECK(seen[0].thread.is_main && seen[0].thread.is_self);
        CHECK_EQ(seen[0].captured.by, SONDE_CAPTURED_SELF);
        CHECK_EQ(seen[0].pcs[0] - (uintptr_t)&capture < FUNCTION_SIZE, true);
        CHECK_EQ(snapshot.held, 0);
        CHECK_EQ(snapshot.stop_ns, 0);
        CHECK_EQ(snapshot.threads, seen_count);
        if (round > 0 && !TEST_SIGNALS_ARE_LATE) { /* a sanitizer has threads of its own */
            CHECK_EQ(snapshot.unchanged, READERS - fed);
            CHECK_EQ(snapshot.consistent, 1);
        }
    }
    for (int i = 0; i < READERS; i++) {
        end_reader(&readers[i]);
    }
    CHECK_OK(capture(0, 0)); /* closes the kept files: the harness checks for open ones */
    check_action_is(SIG_DFL);
}

TEST(running_threads_are_held)
{
    enum { SPINNERS = 4, ROUNDS = 50 };
    struct worker spinners[SPINNERS] = {{0}}, reader = {0};
    unsigned held_ever = 0;
    need_snapshots();
    start_reader(&reader);
    for (int i = 0; i < SPINNERS; i++) {
        start(&spinners[i], spin);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        CHECK_OK(capture(0, FILES));
        for (uint32_t i = 0; i < seen_count; i++) {
            /* a sanitizer has a thread of its own that blocks all signals */
            if (seen[i].captured.status != SONDE_OK && !TEST_SIGNALS_ARE_LATE) {
                FAIL("%s: %s (%s)", seen[i].thread.name, sonde_status_text(seen[i].captured.status),
                     seen[i].captured.note);
            }
        }
        CHECK(snapshot.consistent || TEST_SIGNALS_ARE_LATE); /* a sanitizer has deaf threads */
        uint32_t held = 0;
        for (int i = 0; i < SPINNERS; i++) {
            const struct seen *s = find(spinners[i].tid);
            check_stands_in(s, (void *)&spin);
            if (s->thread.state != SONDE_THREAD_RUNNING) { /* waits for a page of its code */
                CHECK_EQ(s->captured.by, SONDE_CAPTURED_PASSIVE);
                CHECK_EQ(s->captured.syscall, -1);
                continue;
            }
            held++;
        }
        CHECK_EQ(snapshot.held, held);
        CHECK(snapshot.stop_ns <= snapshot.total_ns);
        CHECK(held == 0 || snapshot.stop_ns > 0);
        held_ever += held;
        check_reader(&reader);
        check_action_is(SIG_DFL);
    }
    CHECK(held_ever >= SPINNERS * ROUNDS / 2);
    for (int i = 0; i < SPINNERS; i++) {
        end(&spinners[i]);
    }
    end_reader(&reader);
    CHECK_OK(capture(0, 0));
}

/* Only the holder of the lock is in hold_lock(), so a consistent snapshot never shows two threads
 * there. (Stacks that are captured one after the other do, one time in ten.) */
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

static void hold_lock(unsigned turns, const sigset_t *unblock);
extern const char __start_hold_lock_code[], __stop_hold_lock_code[]; /* has no other code */

static void *hold_often(void *arg)
{
    struct worker *w = arg;
    sigset_t all;
    sigfillset(&all);
    begin_work(w);
    for (unsigned n = 1; !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE); n++) {
        bool is_deaf = n % 4 == 0; /* while it waits for the lock */
        if (is_deaf) {
            pthread_sigmask(SIG_BLOCK, &all, NULL);
        }
        while (pthread_mutex_trylock(&held_lock) != 0) { /* some threads spin, */
            if (is_deaf || n % 3 == 0) {                 /* others sleep */
                pthread_mutex_lock(&held_lock);
                break;
            }
        }
        hold_lock(n % 700, is_deaf ? &all : NULL);
        pthread_mutex_unlock(&held_lock);
    }
    return NULL;
}

static __attribute__((noinline, section("hold_lock_code"))) void hold_lock(unsigned turns,
                                                                           const sigset_t *unblock)
{
    if (unblock != NULL) {
        pthread_sigmask(SIG_UNBLOCK, unblock, NULL);
    }
    for (volatile unsigned i = 0; i < turns; i++) {
    }
}

/* Repeat until `wanted` snapshots were consistent: others miss a thread that blocks the signal. */
static void check_one_moment(unsigned wanted)
{
    enum { WORKERS = 4 };
    struct worker workers[WORKERS] = {{0}};
    unsigned consistent = 0, holding = 0;
    for (int i = 0; i < WORKERS; i++) {
        start(&workers[i], hold_often);
    }
    for (unsigned round = 0; consistent < wanted && round < 20 * wanted; round++) {
        unsigned holders = 0;
        CHECK_OK(capture(SONDE_CAPTURE_BARE, FILES));
        for (uint32_t i = 0; i < seen_count; i++) {
            holders += holds(&seen[i], __start_hold_lock_code,
                             (size_t)(__stop_hold_lock_code - __start_hold_lock_code));
        }
        if (snapshot.consistent) {
            CHECK(holders <= 1 || TEST_SIGNALS_ARE_LATE);
            consistent++;
            holding += holders;
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        end(&workers[i]);
    }
    CHECK_EQ(consistent, wanted);
    CHECK(holding > 0);
    CHECK_OK(capture(0, 0));
}

TEST_TIMEOUT(a_snapshot_is_of_one_moment, 600)
{
    need_snapshots();
    check_one_moment(test_long() ? 10000 : 100);
}

/* --- while other programs have the CPUs --- */

enum { BURNERS = 4 };

static void start_burners(pid_t *burners)
{
    for (int i = 0; i < BURNERS; i++) {
        burners[i] = fork();
        CHECK(burners[i] >= 0);
        if (burners[i] == 0) {
            alarm(300);
            for (;;) {
            }
        }
    }
}

static void end_burners(const pid_t *burners)
{
    for (int i = 0; i < BURNERS; i++) {
        kill(burners[i], SIGKILL);
        CHECK_EQ(waitpid(burners[i], NULL, 0), burners[i]);
    }
}

/* A thread that waits for a CPU writes its stack of that moment later, long after the others were
 * released. */
TEST_TIMEOUT(a_snapshot_is_of_one_moment_on_a_busy_machine, 300)
{
    pid_t burners[BURNERS];
    need_snapshots();
    start_burners(burners);
    check_one_moment(test_long() ? 1000 : 15);
    end_burners(burners);
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Threads are not parked until all had a CPU: that would take a time slice each. */
TEST_TIMEOUT(threads_are_held_briefly_on_a_busy_machine, 300)
{
    enum { SPINNERS = 8, ROUNDS = 15 };
    struct worker spinners[SPINNERS] = {{0}};
    uint64_t stops[ROUNDS], totals[ROUNDS];
    pid_t burners[BURNERS];
    need_snapshots();
    start_burners(burners);
    for (int i = 0; i < SPINNERS; i++) {
        start(&spinners[i], spin);
    }
    CHECK_OK(capture(0, FILES));
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(capture(0, FILES));
        CHECK(snapshot.consistent || TEST_SIGNALS_ARE_LATE);
        CHECK_EQ(snapshot.held, SPINNERS);
        stops[round] = snapshot.stop_ns;
        totals[round] = snapshot.total_ns;
        for (int i = 0; i < SPINNERS; i++) {
            check_stands_in(find(spinners[i].tid), (void *)&spin);
        }
    }
    for (int i = 0; i < SPINNERS; i++) {
        end(&spinners[i]);
    }
    end_burners(burners);
    qsort(stops, ROUNDS, sizeof *stops, compare_times);
    qsort(totals, ROUNDS, sizeof *totals, compare_times);
    if (!TEST_SIGNALS_ARE_LATE) {
        CHECK(stops[ROUNDS / 2] < 2000000);
        CHECK(stops[ROUNDS / 2] * 2 < totals[ROUNDS / 2]);
    }
    CHECK_OK(capture(0, 0));
}

/* Install a system-call filter as containers have it. */
static void refuse_membarrier(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        SKIP("no seccomp filters here: %s", strerror(errno));
    }
    CHECK_EQ(syscall(SYS_membarrier, 0, 0, 0), -1);
}

/* Then all threads are parked until all have answered. */
TEST(a_snapshot_is_of_one_moment_where_nobody_can_be_interrupted)
{
    need_snapshots();
    refuse_membarrier();
    check_one_moment(30);
}

/* --- who may take one --- */

static int take_another(void *ctx, const struct sonde_thread *thread,
                        const struct sonde_stack *stack, const struct sonde_captured *captured)
{
    enum sonde_status *inner = ctx;
    struct sonde_stack other;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    (void)thread, (void)stack, (void)captured;
    sonde_stack_init(&other, pcs, how, DEPTH, 0);
    *inner = sonde_threads_snapshot(NULL, &other, take, NULL, NULL);
    return 1;
}

TEST(one_at_a_time)
{
    enum sonde_status inner = SONDE_OK;
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    need_snapshots();
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_OK(sonde_threads_snapshot(NULL, &stack, take_another, &inner, NULL));
    CHECK_EQ(inner, SONDE_BUSY);
    CHECK_OK(capture(SONDE_CAPTURE_PASSIVE_ONLY, 0));
}

static enum sonde_status from_handler = SONDE_OK;

static __attribute__((noinline)) void deep_in_handler(int depth)
{
    volatile char room[64];
    room[0] = 0;
    if (depth > 0) {
        deep_in_handler(depth - 1);
    } else {
        from_handler = capture(0, 0);
    }
    room[1] = room[0];
}

static void on_usr1(int signal)
{
    (void)signal;
    deep_in_handler(300);
}

TEST(refused_in_a_handler)
{
    struct sigaction action = {.sa_handler = on_usr1};
    stack_t alternate = {.ss_size = 1 << 20};
    need_snapshots();
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    CHECK_EQ(from_handler, SONDE_USAGE);
    from_handler = SONDE_OK;
    alternate.ss_sp = malloc(alternate.ss_size);
    CHECK_OK(sigaltstack(&alternate, NULL));
    action.sa_flags = SA_ONSTACK;
    CHECK_OK(sigaction(SIGUSR1, &action, NULL));
    raise(SIGUSR1);
    CHECK_EQ(from_handler, SONDE_USAGE);
    alternate.ss_flags = SS_DISABLE;
    CHECK_OK(sigaltstack(&alternate, NULL));
    free(alternate.ss_sp);
}

TEST(wrong_arguments)
{
    struct sonde_capture_options options = {.struct_bytes = sizeof options, .flags = 0x80};
    struct sonde_stack stack;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    CHECK_EQ(sonde_threads_snapshot(NULL, NULL, take, NULL, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_threads_snapshot(NULL, &stack, NULL, NULL, NULL), SONDE_USAGE);
    CHECK_EQ(sonde_threads_snapshot(&options, &stack, take, NULL, NULL), SONDE_USAGE);
}
