// SPDX-License-Identifier: Apache-2.0
/* Captures of changing stacks, in cold memory, on new threads, and on two threads at once; several
 * unwinders alternate. */
#ifndef SONDE_BENCH_VARIED_H
#define SONDE_BENCH_VARIED_H

/* A way to capture the calling thread's stack; returns the number of frames. */
struct bench_unwinder {
    const char *name;
    int (*capture)(void);
};

#define BENCH_UNWINDERS_MAX 8

/* unwinders[0] is ours; the others are compared with it. */
void bench_varied(const struct bench_unwinder *unwinders, unsigned count);
void bench_cold(const struct bench_unwinder *unwinders, unsigned count);
/* touch: brings the calling thread's buffers into memory, which is not measured. */
void bench_first_on_thread(const struct bench_unwinder *unwinders, unsigned count,
                           void (*touch)(void));
void bench_scaling(const struct bench_unwinder *unwinders, unsigned count);
/* The time of a load that waits for the previous load: no chain of frames is followed faster. */
void bench_chase(void);

#endif
