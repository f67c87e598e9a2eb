// SPDX-License-Identifier: Apache-2.0
/* Captures of stacks that change, of cold memory, of new threads, and of two threads at a time;
 * each by several unwinders in turns. */
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
/* touch: brings the buffers of the calling thread into memory, which is not what is measured */
void bench_first_on_thread(const struct bench_unwinder *unwinders, unsigned count,
                           void (*touch)(void));
void bench_scaling(const struct bench_unwinder *unwinders, unsigned count);
/* What a load that waits for the load before it takes: no chain of frames is followed faster. */
void bench_chase(void);

#endif
