// SPDX-License-Identifier: Apache-2.0
#include "bench_threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sonde/thread.h>

#include "bench_chain.h"
#include "harness.h"

enum {
    BLOCKED = 256,
    BUSY = 8,
    CHAIN = 20,
    DEPTH = 64,
    FILES = 2 * (BLOCKED + 8),
    SNAPSHOTS = 101,
    SETTLE_US = 20000, /* until woken threads wait again */
    RETRIES = 5,
};

static uint32_t generation; /* the blocked threads wait on it */
static uint32_t arrived;
static int is_over;

static long futex(uint32_t *word, int op, uint32_t value)
{
    return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void sleep_leaf(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
        __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n(&generation, __ATOMIC_ACQUIRE) == now) {
            (void)futex(&generation, FUTEX_WAIT_PRIVATE, now);
        }
    }
}

static void spin_leaf(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
    }
}

static void *run_leaf(void *leaf)
{
    void (*function)(void *) = (void (*)(void *))(uintptr_t)leaf;
    (void)bench_chain_omit(CHAIN, function, NULL);
    return NULL;
}

static void wait_arrived(uint32_t count)
{
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < count) {
        usleep(1000);
    }
    usleep(SETTLE_US);
}

static void start(pthread_t *threads, uint32_t count, void (*leaf)(void *))
{
    is_over = 0;
    arrived = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, run_leaf, (void *)(uintptr_t)leaf) != 0) {
            bench_note("capture: cannot start %u threads", (unsigned)count);
            exit(1);
        }
    }
    wait_arrived(count);
}

/* Wake all blocked threads; with is_over they end. */
static void wake_all(void)
{
    __atomic_store_n(&arrived, 0, __ATOMIC_RELEASE);
    __atomic_fetch_add(&generation, 1, __ATOMIC_ACQ_REL);
    (void)futex(&generation, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

static void end(pthread_t *threads, uint32_t count)
{
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    wake_all();
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

struct snapshots {
    struct sonde_snapshot last;
    uint32_t whole; /* stacks of the last snapshot that reach their root and contain the chain */
    double total_ms[SNAPSHOTS];
    double stop_ms[SNAPSHOTS];
    uint32_t count;
};

static int count_whole(void *ctx, const struct sonde_thread *thread,
                       const struct sonde_stack *stack, const struct sonde_captured *captured)
{
    struct snapshots *snapshots = ctx;
    (void)thread;
    snapshots->whole +=
        captured->status == SONDE_OK && stack->end == SONDE_END_ROOT && stack->count > CHAIN;
    return 0;
}

static void take(struct snapshots *snapshots, uint32_t files, uint32_t outer)
{
    static uint64_t pcs[DEPTH];
    static uint8_t how[DEPTH];
    struct sonde_capture_options options = {.struct_bytes = sizeof options,
                                            .flags = SONDE_CAPTURE_BARE,
                                            .timeout_ns = 1000000000,
                                            .files_kept = files};
    struct sonde_stack stack;
    uint64_t begin_ns = bench_now_ns();
    sonde_stack_init(&stack, pcs, how, DEPTH, outer);
    snapshots->whole = 0;
    snapshots->last.struct_bytes = sizeof snapshots->last;
    if (sonde_threads_snapshot(&options, &stack, count_whole, snapshots, &snapshots->last) !=
        SONDE_OK) {
        bench_note("capture: no snapshot of the threads");
        exit(1);
    }
    snapshots->total_ms[snapshots->count] = (double)(bench_now_ns() - begin_ns) / 1e6;
    snapshots->stop_ms[snapshots->count] = (double)snapshots->last.stop_ns / 1e6;
    snapshots->count++;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, uint32_t count, uint32_t percent)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return values[(count - 1) * percent / 100];
}

static void need(bool is_true, const char *what, const struct snapshots *p)
{
    if (!is_true) {
        bench_note("capture: %s: %u of %u threads whole, %u held, %u unchanged, %u unread", what,
                   (unsigned)p->whole, (unsigned)p->last.threads, (unsigned)p->last.held,
                   (unsigned)p->last.unchanged, (unsigned)p->last.unread);
        exit(1);
    }
}

/* All blocked threads are there, and none was signalled. */
static void need_blocked(const struct snapshots *p)
{
    need(p->whole >= BLOCKED && p->last.held == 0 && p->last.consistent != 0,
         "blocked threads are missing", p);
}

static void bench_blocked(void)
{
    static pthread_t threads[BLOCKED];
    struct snapshots same = {.count = 0}, again = {.count = 0}, ran = {.count = 0};
    struct snapshots once = {.count = 0};
    start(threads, BLOCKED, sleep_leaf);
    take(&same, FILES, 0); /* opens the files */
    same.count = 0;
    for (uint32_t i = 0; i < SNAPSHOTS; i++) {
        take(&same, FILES, 0);
        need_blocked(&same);
    }
    for (uint32_t i = 0; i < SNAPSHOTS; i++) {
        take(&again, FILES, 1 + i % 2); /* other limits: no earlier results are used */
        need_blocked(&again);
        need(again.last.unchanged == 0, "threads count as unchanged", &again);
    }
    for (uint32_t i = 0; i < SNAPSHOTS; i++) {
        wake_all();
        wait_arrived(BLOCKED);
        take(&ran, FILES, 0);
        need_blocked(&ran);
        need(ran.last.unchanged < BLOCKED / 8, "threads that ran count as unchanged", &ran);
    }
    for (uint32_t i = 0; i < SNAPSHOTS / 4; i++) {
        take(&once, 0, 0);
        need_blocked(&once);
    }
    bench_print(quantile(same.total_ms, same.count, 50), "ms", "capture.threads256_blocked.ms");
    bench_print(quantile(same.total_ms, same.count, 95), "ms", "capture.threads256_blocked.p95_ms");
    bench_print(quantile(again.total_ms, again.count, 50), "ms", "capture.threads256_again.ms");
    bench_print(quantile(ran.total_ms, ran.count, 50), "ms", "capture.threads256_ran.ms");
    bench_print(quantile(once.total_ms, once.count, 50), "ms", "capture.threads256_once.ms");
    end(threads, BLOCKED);
}

static void bench_busy(void)
{
    static pthread_t threads[BUSY];
    struct snapshots p = {.count = 0};
    uint32_t consistent = 0;
    start(threads, BUSY, spin_leaf);
    for (uint32_t i = 0; i < SNAPSHOTS; i++) {
        for (uint32_t retry = 0;; retry++) { /* another program may have used both CPUs */
            take(&p, FILES, 0);
            if (p.whole >= BUSY && p.last.held == BUSY) {
                break;
            }
            need(retry < RETRIES, "busy threads are missing", &p);
            p.count--;
        }
        consistent += p.last.consistent;
        usleep(20000); /* the threads work in between */
    }
    bench_print(quantile(p.stop_ms, p.count, 50), "ms", "capture.busy8.stop_ms");
    bench_print(quantile(p.stop_ms, p.count, 95), "ms", "capture.busy8.stop_p95_ms");
    bench_print(quantile(p.total_ms, p.count, 50), "ms", "capture.busy8.total_ms");
    bench_print((double)consistent / SNAPSHOTS, "of 1", "capture.busy8.consistent");
    end(threads, BUSY);
}

void bench_threads(void)
{
    bench_blocked();
    bench_busy();
}
