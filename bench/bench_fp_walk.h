// SPDX-License-Identifier: Apache-2.0
/* As a profiler of code with frame pointers does it: along the frame records, within the stack's
 * bounds, into a buffer. The file is compiled with frame pointers. */
#ifndef SONDE_BENCH_FP_WALK_H
#define SONDE_BENCH_FP_WALK_H

#include <stdint.h>

/* Walks from the caller of this function. */
struct bench_fp_batch {
    uint32_t depth;
    uint32_t times;
    uint32_t frames; /* result: that the last one saw */
    double ns;       /* CPU time of one */
};
void bench_fp_walk_batch(void *batch);
/* The same, and counted as a recorder does that puts the frames into a buffer of its own, takes the
 * XOR of them for a key, and looks it up in a table under a semaphore. Two stacks with the same
 * frames in another order have one key: for comparison only. */
void bench_fp_xor_batch(void *batch);

/* Calls `function`; walks that are made inside of it end at this function's frame. */
void bench_fp_walk_to_here(void (*function)(void *ctx), void *ctx);
int bench_fp_walk(void);

#endif
