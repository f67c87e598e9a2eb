// SPDX-License-Identifier: Apache-2.0
/* A process makes and releases blocks, and retains and releases a block, on one thread or several
 * at once (each with its own blocks). Runs without sonde and under `sonde run --blocks` alternate.
 * The figures are a thread's CPU time: other programs disturb it less than wall time, and it shows
 * what threads cost each other by writing to the same memory. The runtime is a library (the small
 * one of examples/); the stack has a handful of frames and is known after the first block. */
#include "bench_blocks_registry.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { OPERATIONS = 200000, WARM = 2000, ROUNDS = 5, THREADS_MAX = 16, PATH_BYTES = 4096 };

void *_Block_copy(const void *block);   /* NOLINT: the runtime's names */
void _Block_release(const void *block); /* NOLINT */

static void invoke(void) {}
static const uint64_t descriptor[2] = {0, 40};
static const struct {
    const void *isa;
    uint32_t flags, reserved;
    void (*invoke)(void);
    const void *descriptor;
    uint64_t number;
} block = {NULL, 0, 0, invoke, descriptor, 1};

struct figures {
    double make_ns, retain_ns;
};

static pthread_barrier_t all;

__attribute__((noinline)) static void make_and_release(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        _Block_release(_Block_copy(&block));
    }
}

__attribute__((noinline)) static void retain_and_release(const void *made, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        _Block_release(_Block_copy(made));
    }
}

static void *work(void *ctx)
{
    struct figures *figures = ctx;
    const void *made = _Block_copy(&block);
    make_and_release(WARM);
    retain_and_release(made, WARM);
    pthread_barrier_wait(&all);
    double begin = bench_thread_ns();
    make_and_release(OPERATIONS);
    figures->make_ns = (bench_thread_ns() - begin) / OPERATIONS;
    pthread_barrier_wait(&all);
    begin = bench_thread_ns();
    retain_and_release(made, OPERATIONS);
    figures->retain_ns = (bench_thread_ns() - begin) / OPERATIONS;
    _Block_release(made);
    return NULL;
}

int bench_blocks_registry_run(int threads)
{
    pthread_t others[THREADS_MAX];
    struct figures figures[THREADS_MAX], sum = {0, 0};
    if (threads < 1 || threads > THREADS_MAX ||
        pthread_barrier_init(&all, NULL, (unsigned)threads) != 0) {
        return 2;
    }
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&others[i], NULL, work, &figures[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(others[i], NULL);
        sum.make_ns += figures[i].make_ns / threads;
        sum.retain_ns += figures[i].retain_ns / threads;
    }
    printf("%.3f %.3f\n", sum.make_ns, sum.retain_ns);
    return 0;
}

static bool run_once(const char *own, int threads, bool with, struct figures *ret_figures)
{
    char command[2 * PATH_BYTES + 64];
    char sonde[PATH_BYTES] = "";
    if (with) {
        snprintf(sonde, sizeof sonde, "'%.*s/../cli/sonde' run --blocks -- ",
                 (int)(strrchr(own, '/') - own), own);
    }
    snprintf(command, sizeof command, "%s'%s' registry %d 2>/dev/null", sonde, own, threads);
    FILE *output = popen(command, "re");
    bool done = output != NULL &&
                fscanf(output, "%lf %lf", &ret_figures->make_ns, &ret_figures->retain_ns) == 2;
    return output != NULL && pclose(output) == 0 && done;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print(double *values, const char *what, int threads, bool with)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    bench_print(values[ROUNDS / 2], "ns", "blocks.registry.%s.threads%d.%s.ns", what, threads,
                with ? "with" : "without");
}

static bool compare(const char *own, int threads)
{
    double make[2][ROUNDS], retain[2][ROUNDS];
    for (unsigned i = 0; i < 2 * ROUNDS; i++) {
        struct figures figures;
        if (!run_once(own, threads, i % 2 != 0, &figures)) {
            return false;
        }
        make[i % 2][i / 2] = figures.make_ns;
        retain[i % 2][i / 2] = figures.retain_ns;
    }
    for (unsigned with = 0; with < 2; with++) {
        print(make[with], "make_release", threads, with != 0);
        print(retain[with], "retain_release", threads, with != 0);
    }
    return true;
}

void bench_blocks_registry(void)
{
    char own[PATH_BYTES / 2];
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    if (size <= 0) {
        return;
    }
    own[size] = '\0';
    if (!compare(own, 1) || !compare(own, 2)) {
        bench_note("blocks.registry: the program could not be run, or not by sonde");
    }
}
