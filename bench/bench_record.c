// SPDX-License-Identifier: Apache-2.0
/* Recording the same stack repeatedly, and at each node of a random tree of calls, in code without
 * frame pointers. Compared with a walk of the frame pointers of as many functions in code that has
 * them. Then several threads that record the same stack at once. Thread CPU time, alternating,
 * medians. */
#include "bench_record.h"

#include <pthread.h>
#include <stdlib.h>

#include <sonde/depot.h>
#include <sonde/stack.h>

#include "bench_chain.h"
#include "bench_fp_walk.h"
#include "bench_tree.h"
#include "harness.h"

enum { DEPTH = 30, BATCH = 2000, ROUNDS = 41, THREADS_MAX = 4, THREAD_CALLS = 200000 };

static struct sonde_depot *depot;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void record_batch(void *ret_ns)
{
    double begin = bench_thread_ns();
    for (int i = 0; i < BATCH; i++) {
        if (sonde_audit_record(depot, 1, 0) != SONDE_OK) {
            abort();
        }
    }
    *(double *)ret_ns = (bench_thread_ns() - begin) / BATCH;
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare_doubles);
    return values[ROUNDS / 2];
}

static void repeat(void)
{
    double record[ROUNDS], walk[ROUNDS], by_xor[ROUNDS];
    struct bench_fp_batch batch = {.depth = DEPTH, .times = BATCH};
    for (int round = 0; round < ROUNDS; round++) {
        bench_chain_omit(DEPTH, record_batch, &record[round]);
        bench_chain_keep(DEPTH, bench_fp_walk_batch, &batch);
        walk[round] = batch.ns;
        bench_chain_keep(DEPTH, bench_fp_xor_batch, &batch);
        by_xor[round] = batch.ns;
    }
    if (batch.frames != DEPTH) {
        bench_note("the frame-pointer walk saw %d frames of %d", (int)batch.frames, DEPTH);
        return;
    }
    double ours = median(record), plain = median(walk);
    bench_print(ours, "ns", "audit.repeat.d30.ns");
    bench_print(plain, "ns", "audit.repeat.d30.fp_walk_ns");
    bench_print(ours / plain, "x", "audit.repeat.d30.vs_fp_walk");
    bench_print(median(by_xor), "ns", "audit.repeat.d30.xor_of_frames_ns");
}

enum { NODES = 400 };

static int record_node(void)
{
    if (sonde_audit_record(depot, 3, 0) != SONDE_OK) {
        abort();
    }
    return 0;
}

static int capture_node(void)
{
    uint64_t pcs[SONDE_DEPOT_DEPTH];
    uint8_t how[SONDE_DEPOT_DEPTH];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, SONDE_DEPOT_DEPTH, 0);
    return sonde_stack_capture(&stack, 0) == SONDE_OK ? (int)stack.count : 0;
}

/* A walk of frame pointers ends where code with frame pointers ends, so its chain is longer by the
 * frames outside of that code. */
enum { BELOW = 10, OUTSIDE = 6 };

static void chain_and_tree(void *run)
{
    bench_chain_keep(BELOW + OUTSIDE, bench_tree_time_keep, run);
}

static void varied(void)
{
    struct bench_tree_run capture = {.capture = capture_node, .nodes = NODES};
    struct bench_tree_run record = {.capture = record_node, .nodes = NODES};
    struct bench_tree_run walk = {.capture = bench_fp_walk, .nodes = NODES};
    double records[ROUNDS], walks[ROUNDS];
    bench_chain_omit(BELOW, bench_tree_time_omit, &capture);
    for (int round = 0; round < ROUNDS; round++) {
        bench_chain_omit(BELOW, bench_tree_time_omit, &record);
        bench_fp_walk_to_here(chain_and_tree, &walk);
        records[round] = record.ns;
        walks[round] = walk.ns;
    }
    double ours = median(records), plain = median(walks);
    bench_print((double)capture.frames / NODES, "frames", "audit.varied.d30.depth");
    bench_print((double)walk.frames / NODES, "frames", "audit.varied.d30.fp_walk_depth");
    bench_print(ours, "ns", "audit.varied.d30.ns");
    bench_print(plain, "ns", "audit.varied.d30.fp_walk_ns");
    bench_print(ours / plain, "x", "audit.varied.d30.vs_fp_walk");
}

static void record_many(void *ret_ns)
{
    double begin = bench_thread_ns();
    for (int i = 0; i < THREAD_CALLS; i++) {
        if (sonde_audit_record(depot, 2, 0) != SONDE_OK) {
            abort();
        }
    }
    *(double *)ret_ns = (bench_thread_ns() - begin) / THREAD_CALLS;
}

static void *record_in_thread(void *ret_ns)
{
    bench_chain_omit(DEPTH, record_many, ret_ns);
    return NULL;
}

/* CPU nanoseconds a call of the slowest of `count` threads. */
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
    varied();
    scaling();
    sonde_depot_destroy(depot);
}
