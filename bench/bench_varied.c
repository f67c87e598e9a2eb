// SPDX-License-Identifier: Apache-2.0
#include "bench_varied.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench_chain.h"
#include "bench_tree.h"
#include "harness.h"

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return values[count / 2];
}

static void print_against(const char *key, const struct bench_unwinder *unwinders, unsigned count,
                          const double *values, const char *unit)
{
    bench_print(values[0], unit, "capture.%s", key);
    for (unsigned i = 1; i < count; i++) {
        char part[64];
        size_t size = strlen(key);
        while (size > 0 && key[size - 1] != '.') {
            size--;
        }
        (void)memcpy(part, key, size);
        part[size] = '\0';
        bench_print(values[i], unit, "capture.%s%s.%s", part, unwinders[i].name, key + size);
        bench_print(values[i] / values[0], "x", "capture.%svs_%s", part, unwinders[i].name);
    }
}

/* --- a random tree of calls, every node of which captures --- */

enum { NODES = 400, WIDE_NODES = 2000, VARIED_ROUNDS = 41 };

struct varied {
    const struct bench_unwinder *unwinders;
    unsigned count;
    const char *name;
    void (*run)(struct bench_tree *tree);
    int calls;
};

static double run_tree(const struct varied *varied, int (*capture)(void), struct bench_tree *tree)
{
    *tree = (struct bench_tree){.capture = capture, .left = varied->calls};
    uint64_t start = bench_now_ns();
    varied->run(tree);
    return (double)(bench_now_ns() - start);
}

static void varied_leaf(void *ctx)
{
    const struct varied *varied = ctx;
    static double samples[BENCH_UNWINDERS_MAX][VARIED_ROUNDS], empty[VARIED_ROUNDS];
    double values[BENCH_UNWINDERS_MAX];
    uint64_t frames[BENCH_UNWINDERS_MAX] = {0};
    char key[64];
    for (unsigned round = 0; round < VARIED_ROUNDS; round++) {
        struct bench_tree tree;
        empty[round] = run_tree(varied, NULL, &tree);
        for (unsigned i = 0; i < varied->count; i++) {
            samples[i][round] = run_tree(varied, varied->unwinders[i].capture, &tree);
            frames[i] = tree.frames;
        }
    }
    for (unsigned i = 0; i < varied->count; i++) {
        values[i] =
            (median(samples[i], VARIED_ROUNDS) - median(empty, VARIED_ROUNDS)) / (double)frames[i];
    }
    bench_print((double)frames[0] / varied->calls, "frames", "capture.%s.depth", varied->name);
    (void)strcpy(key, varied->name);
    print_against(strcat(key, ".ns_per_frame"), varied->unwinders, varied->count, values, "ns");
}

void bench_varied(const struct bench_unwinder *unwinders, unsigned count)
{
    struct varied varied = {unwinders, count, "varied", bench_tree_omit, NODES};
    struct varied deeper = {unwinders, count, "varied_deep", bench_tree_omit, NODES};
    struct varied wide = {unwinders, count, "varied_wide", bench_tree_wide_omit, WIDE_NODES};
    (void)bench_chain_omit(10, varied_leaf, &varied);
    (void)bench_chain_omit(54, varied_leaf, &deeper);
    (void)bench_chain_omit(10, varied_leaf, &wide);
    bench_print(BENCH_TREE_SITES, "sites", "capture.varied_wide.sites");
}

/* --- cold caches --- */

enum { COLD_BYTES = 4 << 20, COLD_ROUNDS = 151 };

static void cold_leaf(void *ctx)
{
    const struct varied *cold = ctx;
    static double samples[BENCH_UNWINDERS_MAX][COLD_ROUNDS];
    static char lines[COLD_BYTES];
    double values[BENCH_UNWINDERS_MAX];
    int frames[BENCH_UNWINDERS_MAX] = {0};
    for (unsigned round = 0; round < COLD_ROUNDS; round++) {
        for (unsigned i = 0; i < cold->count; i++) {
            for (size_t at = 0; at < sizeof lines; at += 64) {
                lines[at]++;
            }
            bench_keep(lines);
            uint64_t start = bench_now_ns();
            frames[i] = cold->unwinders[i].capture();
            samples[i][round] = (double)(bench_now_ns() - start);
        }
    }
    for (unsigned i = 0; i < cold->count; i++) {
        values[i] = median(samples[i], COLD_ROUNDS) / frames[i];
    }
    print_against("cold.d100.ns_per_frame", cold->unwinders, cold->count, values, "ns");
}

void bench_cold(const struct bench_unwinder *unwinders, unsigned count)
{
    struct varied cold = {.unwinders = unwinders, .count = count};
    (void)bench_chain_omit(100, cold_leaf, &cold);
}

/* --- the first capture of a thread --- */

enum { THREADS = 101, STACK_BYTES = 128 << 10 };

struct first {
    int (*capture)(void);
    void (*touch)(void);
    double ns;
};

static void first_leaf(void *ctx)
{
    struct first *first = ctx;
    first->touch();
    uint64_t start = bench_now_ns();
    (void)first->capture();
    first->ns = (double)(bench_now_ns() - start);
}

static void *first_thread(void *ctx)
{
    (void)bench_chain_omit(30, first_leaf, ctx);
    return NULL;
}

static void run_first(const char *key, const struct bench_unwinder *unwinders, unsigned count,
                      void (*touch)(void), bool on_new_stack)
{
    static double samples[BENCH_UNWINDERS_MAX][THREADS];
    double values[BENCH_UNWINDERS_MAX];
    for (unsigned round = 0; round < THREADS; round++) {
        for (unsigned i = 0; i < count; i++) {
            struct first first = {unwinders[i].capture, touch, 0};
            pthread_t thread;
            pthread_attr_t attr;
            (void)pthread_attr_init(&attr);
            if (on_new_stack) { /* never unmapped, so that no later thread gets the same place */
                void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
                if (stack == MAP_FAILED || pthread_attr_setstack(&attr, stack, STACK_BYTES) != 0) {
                    bench_note("capture: no memory for stacks");
                    exit(1);
                }
            }
            if (pthread_create(&thread, &attr, first_thread, &first) == 0) {
                (void)pthread_join(thread, NULL);
            }
            (void)pthread_attr_destroy(&attr);
            samples[i][round] = first.ns / 1000;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        values[i] = median(samples[i], THREADS);
    }
    print_against(key, unwinders, count, values, "us");
}

void bench_first_on_thread(const struct bench_unwinder *unwinders, unsigned count,
                           void (*touch)(void))
{
    run_first("first_on_thread.us", unwinders, count, touch, false);
    run_first("first_on_new_stack.us", unwinders, count, touch, true);
}

/* --- two threads at a time --- */

enum { SCALING_ROUNDS = 11, SCALING_NS = 15000000 };

struct worker {
    int (*capture)(void);
    pthread_barrier_t *start;
    double per_ns;
};

static void worker_leaf(void *ctx)
{
    struct worker *worker = ctx;
    uint64_t captures = 0;
    uint64_t spent = 0;
    (void)worker->capture();
    (void)pthread_barrier_wait(worker->start);
    uint64_t start = bench_now_ns();
    while (spent < SCALING_NS) {
        for (unsigned i = 0; i < 100; i++) {
            (void)worker->capture();
        }
        captures += 100;
        spent = bench_now_ns() - start;
    }
    worker->per_ns = (double)captures / (double)spent;
}

static void *worker_thread(void *ctx)
{
    (void)bench_chain_omit(30, worker_leaf, ctx);
    return NULL;
}

static double run_workers(int (*capture)(void), unsigned count)
{
    struct worker workers[2] = {{.capture = capture}, {.capture = capture}};
    pthread_t threads[2];
    pthread_barrier_t start;
    double sum = 0;
    (void)pthread_barrier_init(&start, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        workers[i].start = &start;
        (void)pthread_create(&threads[i], NULL, worker_thread, &workers[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
        sum += workers[i].per_ns;
    }
    (void)pthread_barrier_destroy(&start);
    return sum;
}

/* Work that touches no memory: how two threads scale on this machine. */
static int count_in_a_register(void)
{
    int count = 0;
    for (unsigned i = 0; i < 256; i++) {
        __asm__ volatile("" : "+r"(count));
        count++;
    }
    return count;
}

void bench_scaling(const struct bench_unwinder *unwinders, unsigned count)
{
    static double samples[BENCH_UNWINDERS_MAX + 1][SCALING_ROUNDS];
    for (unsigned round = 0; round < SCALING_ROUNDS; round++) {
        for (unsigned i = 0; i <= count; i++) {
            int (*capture)(void) = i < count ? unwinders[i].capture : count_in_a_register;
            samples[i][round] = run_workers(capture, 2);
            samples[i][round] /= run_workers(capture, 1);
        }
    }
    double limit = median(samples[count], SCALING_ROUNDS);
    for (unsigned i = 0; i < count; i++) {
        double ratio = median(samples[i], SCALING_ROUNDS);
        if (i == 0) {
            bench_print(ratio, "x", "capture.scaling_2threads");
            bench_print(limit, "x", "capture.limit.scaling_2threads");
            bench_print(ratio / limit, "x", "capture.scaling_2threads_vs_limit");
        } else {
            bench_print(ratio, "x", "capture.%s.scaling_2threads", unwinders[i].name);
        }
    }
}

/* --- the limit of a chain --- */

static void *links[512];

static void chase(void *unused)
{
    void **at = links;
    (void)unused;
    for (unsigned i = 0; i < 512; i++) {
        at = *at;
        __asm__ volatile("" : "+r"(at));
    }
    bench_keep(at);
}

void bench_chase(void)
{
    const struct bench_method method = {"chase", chase, NULL};
    double ns = 0;
    for (unsigned i = 0; i < 512; i++) {
        links[i] = &links[(i + 37) % 512];
    }
    bench_compare(&method, 1, &ns);
    bench_print(ns / 512, "ns", "capture.limit.l1_chase.ns");
}
