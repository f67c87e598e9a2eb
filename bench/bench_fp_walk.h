// SPDX-License-Identifier: Apache-2.0
/* A walk as profilers do it in code with frame pointers: along the frame records, within the
 * stack's bounds, into a buffer. The file is compiled with frame pointers. */
#ifndef SONDE_BENCH_FP_WALK_H
#define SONDE_BENCH_FP_WALK_H

#include <stdint.h>

/* Walks from the caller of this function. */
struct bench_fp_batch {
    uint32_t depth;
    uint32_t times;
    uint32_t frames; /* result: of the last walk */
    double ns;       /* result: CPU time of one walk */
};
void bench_fp_walk_batch(void *batch);
/* The same, plus counting as some recorders do: frames go into a buffer, their XOR is the key, and
 * a table is searched under a semaphore. Two stacks with the same frames in another order share a
 * key, so this is for comparison only. */
void bench_fp_xor_batch(void *batch);

/* Calls `function`; walks inside it end at this function's frame. */
void bench_fp_walk_to_here(void (*function)(void *ctx), void *ctx);
int bench_fp_walk(void);

#endif
