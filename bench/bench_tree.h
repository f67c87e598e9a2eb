// SPDX-License-Identifier: Apache-2.0
/* A random tree of calls, the same each time, in which every node captures. It has 16 functions
 * with frames of many sizes; the wide one has 32 with 64 call sites each, more than any program
 * uses at a time. */
#ifndef SONDE_BENCH_TREE_H
#define SONDE_BENCH_TREE_H

#include <stdint.h>

enum { BENCH_TREE_SITES = 2048 };

struct bench_tree {
    int (*capture)(void); /* returns frames; null: nothing is captured */
    int left;             /* nodes */
    uint64_t frames;      /* result: the sum */
    uint64_t random;
};

/* Compiled without and with frame pointers. */
void bench_tree_omit(struct bench_tree *tree);
void bench_tree_keep(struct bench_tree *tree);
void bench_tree_wide_omit(struct bench_tree *tree);
void bench_tree_wide_keep(struct bench_tree *tree);

/* CPU time of a node that captures, without the cost of the tree. */
struct bench_tree_run {
    int (*capture)(void);
    int nodes;
    double ns; /* result */
    uint64_t frames;
};
void bench_tree_time_omit(void *run);
void bench_tree_time_keep(void *run);

#endif
