// SPDX-License-Identifier: Apache-2.0
/* Measuring: methods side by side in one run, in turns, each figure a median.
 *
 * Machines are noisy and clocks change; what counts is the ratio of two methods that took turns.
 * A method runs in batches that are long enough for the clock; the rounds go over all methods. */
#ifndef SONDE_BENCH_HARNESS_H
#define SONDE_BENCH_HARNESS_H

#include <stdint.h>

#define BENCH_METHODS_MAX 16

struct bench_method {
    const char *name;
    void (*run)(void *ctx); /* one operation; null: not available */
    void *ctx;
};

/* Nanoseconds of one operation of each method (0 where run is null, and under callgrind, which
 * counts the instructions of each instead: tools/dev/bench.sh). */
void bench_compare(const struct bench_method *methods, unsigned count, double *ret_ns);

uint64_t bench_now_ns(void);
/* CPU time of the calling thread. */
double bench_thread_ns(void);

/* One figure: "key value unit". The key is made as by printf. */
void bench_print(double value, const char *unit, const char *key, ...)
    __attribute__((format(printf, 3, 4)));
/* Something that is no figure, on standard error. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Keep the compiler from dropping what made the value. */
static inline void bench_keep(const void *value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

#endif
