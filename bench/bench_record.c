// SPDX-License-Identifier: Apache-2.0
/* The same stack again and again, in code without frame pointers, beside a walk of the frame
 * pointers of as many functions in code that has them; and several threads that record the same
 * stack at a time. Thread CPU time, in turns, medians. */
#include "bench_record.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <sonde/depot.h>
#include <sonde/stack.h>

#include "bench_chain.h"
#include "harness.h"

enum { DEPTH = 30, BATCH = 2000, ROUNDS = 41, THREADS_MAX = 4, THREAD_CALLS = 200000 };

static struct sonde_depot *depot;
static uint64_t frames; /* that the last walk saw */

static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void record_batch(void *ret_ns)
{
    double begin = thread_ns();
    for (int i = 0; i < BATCH; i++) {
        if (sonde_audit_record(depot, 1, 0) != SONDE_OK) {
            abort();
        }
    }
    *(double *)ret_ns = (thread_ns() - begin) / BATCH;
}

/* As a profiler of code with frame pointers does it: so many frames, within the stack's bounds,
 * into a buffer. */
static __attribute__((noinline)) void walk_batch(void *ret_ns)
{
    static uint64_t pcs[256];
    uint64_t low = (uint64_t)(uintptr_t)__builtin_frame_address(0), high = low + 65536;
    double begin = thread_ns();
    for (int i = 0; i < BATCH; i++) {
        uint64_t at = low;
        uint32_t count = 0;
        while (count < DEPTH && at >= low && at < high && (at & 7) == 0) {
            const uint64_t *record = (const uint64_t *)(uintptr_t)at;
            pcs[count++] = record[1];
            if (record[0] <= at) {
                break;
            }
            at = record[0];
        }
        frames = count;
        bench_keep(pcs);
    }
    *(double *)ret_ns = (thread_ns() - begin) / BATCH;
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare_doubles);
    return values[ROUNDS / 2];
}

static void repeat(void)
{
    double record[ROUNDS], walk[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        bench_chain_omit(DEPTH, record_batch, &record[round]);
        bench_chain_keep(DEPTH, walk_batch, &walk[round]);
    }
    if (frames != DEPTH) {
        bench_note("the frame-pointer walk saw %d frames of %d", (int)frames, DEPTH);
        return;
    }
    double ours = median(record), plain = median(walk);
    bench_print(ours, "ns", "audit.repeat.d30.ns");
    bench_print(plain, "ns", "audit.repeat.d30.fp_walk_ns");
    bench_print(ours / plain, "x", "audit.repeat.d30.vs_fp_walk");
}

static void record_many(void *ret_ns)
{
    double begin = thread_ns();
    for (int i = 0; i < THREAD_CALLS; i++) {
        if (sonde_audit_record(depot, 2, 0) != SONDE_OK) {
            abort();
        }
    }
    *(double *)ret_ns = (thread_ns() - begin) / THREAD_CALLS;
}

static void *record_in_thread(void *ret_ns)
{
    bench_chain_omit(DEPTH, record_many, ret_ns);
    return NULL;
}

/* The dearest of so many threads, nanoseconds of CPU a call. */
static double with_threads(int count)
{
    pthread_t threads[THREADS_MAX];
    double ns[THREADS_MAX] = {0}, worst = 0;
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, record_in_thread, &ns[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        worst = ns[i] > worst ? ns[i] : worst;
    }
    return worst;
}

static void scaling(void)
{
    enum { TRIES = 9 };
    static const int counts[] = {1, 2, 4};
    double all[3][TRIES], result[3];
    for (int i = 0; i < TRIES; i++) {
        for (int k = 0; k < 3; k++) {
            all[k][i] = with_threads(counts[k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        qsort(all[k], TRIES, sizeof(double), compare_doubles);
        result[k] = all[k][TRIES / 2];
    }
    bench_print(result[1] / result[0], "x", "audit.scaling_2threads");
    bench_print(result[2] / result[0], "x", "audit.scaling_4threads");
}

void bench_record(void)
{
    if (sonde_stack_prepare() != SONDE_OK || sonde_depot_create(0, &depot) != SONDE_OK) {
        bench_note("no memory");
        return;
    }
    repeat();
    scaling();
    sonde_depot_destroy(depot);
}
