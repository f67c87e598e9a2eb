// SPDX-License-Identifier: Apache-2.0
#include "bench_bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { CALLS = 12, FIRST_MAX = 100, TIMES = 2001 };

static int (*take)(void);
static int frames;
static double taken_ns;

static void leaf(void)
{
    double start = bench_thread_ns();
    frames = take();
    taken_ns = bench_thread_ns() - start;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of many captures. step 0: of one stack; else the stack changes each time. */
static double median_of(uint64_t step)
{
    static double times[TIMES];
    uint64_t way = 0;
    for (unsigned i = 0; i < TIMES; i++) {
        (void)bench_bare_chain(CALLS, way, leaf);
        times[i] = taken_ns;
        way = way * 6364136223846793005u + step;
    }
    qsort(times, TIMES, sizeof times[0], compare);
    return times[TIMES / 2];
}

static int take_nothing(void)
{
    return 0;
}

/* Without the cost of reading the clock, which exceeds that of a stack in the memo. */
static double median(uint64_t step)
{
    int (*what)(void) = take;
    double whole = median_of(step);
    take = take_nothing;
    double clock = median_of(step);
    take = what;
    return whole - clock;
}

void bench_bare(const char *key, int (*capture)(void))
{
    double dearest_ns = 0;
    unsigned cut = 0;
    take = capture;
    do {
        (void)bench_bare_chain(CALLS, 0, leaf);
        dearest_ns = taken_ns > dearest_ns ? taken_ns : dearest_ns;
    } while (frames == 0 && ++cut < FIRST_MAX);
    bench_print(dearest_ns / 1000, "us", "%s.first", key);
    bench_print(cut, "captures", "%s.costly_first", key);
    bench_print(frames, "frames", "%s.frames", key);
    bench_print(median(0), "ns", "%s.repeat", key);
    (void)median_of(1442695040888963407u);
    bench_print(median(1442695040888963407u), "ns", "%s.varied", key);
}

void bench_bare_unprepared(const char *key, int (*capture)(void))
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bench_bare(key, capture);
        (void)fflush(stdout);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
}
