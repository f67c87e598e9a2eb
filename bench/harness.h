// SPDX-License-Identifier: Apache-2.0
/* Compares methods in one run: they alternate, and each figure is a median.
 *
 * Machines are noisy and clocks change; only the ratio of two methods that alternated counts. A
 * method runs in batches that are long enough for the clock; each round runs all methods. */
#ifndef SONDE_BENCH_HARNESS_H
#define SONDE_BENCH_HARNESS_H

#include <stdint.h>

#define BENCH_METHODS_MAX 16

struct bench_method {
    const char *name;
    void (*run)(void *ctx); /* one operation; null: not available */
    void *ctx;
};

/* Nanoseconds of one operation of each method. 0 if run is null, and under callgrind, which counts
 * instructions instead (tools/dev/bench.sh). */
void bench_compare(const struct bench_method *methods, unsigned count, double *ret_ns);

uint64_t bench_now_ns(void);
/* CPU time of the calling thread. */
double bench_thread_ns(void);

/* Print a figure: "key value unit". The key is formatted as by printf. */
void bench_print(double value, const char *unit, const char *key, ...)
    __attribute__((format(printf, 3, 4)));
/* Print a message to standard error. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Keep the compiler from dropping the code that made the value. */
static inline void bench_keep(const void *value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

#endif
