// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if __has_include(<valgrind/callgrind.h>)
#    include <valgrind/callgrind.h>
#endif

#define ROUNDS   31
#define COUNTED  16     /* operations under callgrind */
#define BATCH_NS 300000 /* a thousand times the cost of reading the clock */

double bench_thread_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t run_batch(const struct bench_method *method, unsigned times)
{
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < times; i++) {
        method->run(method->ctx);
    }
    return bench_now_ns() - start;
}

/* The number of operations of a batch. It is timed twice: the first call may initialize something,
 * and other load may interfere. */
static unsigned calibrate(const struct bench_method *method)
{
    unsigned times = 1;
    while (times < 1u << 24 &&
           (run_batch(method, times) < BATCH_NS || run_batch(method, times) < BATCH_NS)) {
        times *= 2;
    }
    return times;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Under callgrind, dump each method's instructions under its name, without what ran before. False:
 * not under callgrind. */
static bool count_instructions(const struct bench_method *methods, unsigned count)
{
#if defined(RUNNING_ON_VALGRIND)
    for (unsigned i = 0; RUNNING_ON_VALGRIND && i < count; i++) {
        if (methods[i].run != NULL) {
            methods[i].run(methods[i].ctx); /* the first call may initialize something */
            CALLGRIND_ZERO_STATS;
            for (unsigned k = 0; k < COUNTED; k++) {
                methods[i].run(methods[i].ctx);
            }
            CALLGRIND_DUMP_STATS_AT(methods[i].name);
        }
    }
    return RUNNING_ON_VALGRIND;
#else
    (void)methods, (void)count;
    return false;
#endif
}

void bench_compare(const struct bench_method *methods, unsigned count, double *ret_ns)
{
    static double samples[BENCH_METHODS_MAX][ROUNDS];
    unsigned times[BENCH_METHODS_MAX] = {0};
    if (count_instructions(methods, count)) {
        for (unsigned i = 0; i < count; i++) {
            ret_ns[i] = 0;
        }
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        times[i] = methods[i].run != NULL ? calibrate(&methods[i]) : 0;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < count; i++) {
            if (times[i] != 0) {
                samples[i][round] = (double)run_batch(&methods[i], times[i]) / times[i];
            }
        }
    }
    for (unsigned i = 0; i < count; i++) {
        ret_ns[i] = 0;
        if (times[i] != 0) {
            qsort(samples[i], ROUNDS, sizeof(double), compare_doubles);
            ret_ns[i] = samples[i][ROUNDS / 2];
        }
    }
}

void bench_print(double value, const char *unit, const char *key, ...)
{
    va_list args;
    va_start(args, key);
    (void)vprintf(key, args);
    va_end(args);
    (void)printf(" %.4g %s\n", value, unit);
    (void)fflush(stdout);
}

void bench_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
}
