// SPDX-License-Identifier: Apache-2.0
#include "bench_tree.h"

#include <stddef.h>

#include "harness.h"

enum { TREE_DEPTH = 14, WIDE_FUNCTIONS = 32 };

/* No constant has the tag of an async frame (bits 63:60 == 1), because a constant may be in the
 * frame pointer. */
static uint32_t next_random(struct bench_tree *tree)
{
    tree->random = tree->random * 6364136223846793005u + 0x243f6a8885a308d3u;
    return (uint32_t)(tree->random >> 33);
}

typedef int node_function(struct bench_tree *tree, int depth);
static node_function *const nodes[16];

// clang-format off
#define NODE(n)                                                                                    \
    static __attribute__((noinline)) int node_##n(struct bench_tree *tree, int depth)              \
    {                                                                                              \
        volatile char room[16 + (0x##n * 24)];                                                     \
        room[0] = room[1] = (char)(depth + 0x##n);                                                 \
        if (tree->capture != NULL) {                                                               \
            tree->frames += (uint64_t)tree->capture();                                             \
        }                                                                                          \
        for (uint32_t i = 1 + next_random(tree) % 2; depth > 0 && i > 0 && tree->left > 0; i--) {  \
            tree->left--;                                                                          \
            room[1] = (char)nodes[next_random(tree) % 16](tree, depth - 1);                        \
        }                                                                                          \
        return room[0] + room[1];                                                                  \
    }
NODE(0) NODE(1) NODE(2) NODE(3) NODE(4) NODE(5) NODE(6) NODE(7) NODE(8) NODE(9) NODE(a) NODE(b)
NODE(c) NODE(d) NODE(e) NODE(f)
static node_function *const nodes[16] = {node_0, node_1, node_2, node_3, node_4, node_5, node_6,
                                         node_7, node_8, node_9, node_a, node_b, node_c, node_d,
                                         node_e, node_f};
// clang-format on

/* A number around each call keeps the compiler from merging the calls. */
static node_function *const wide_nodes[WIDE_FUNCTIONS];

// clang-format off
#define SITE(n)                                                                                    \
    case n:                                                                                        \
        __asm__ volatile("" : : "i"(n));                                                           \
        room[1] = (char)wide_nodes[next_random(tree) % WIDE_FUNCTIONS](tree, depth - 1);           \
        __asm__ volatile("" : : "i"(n));                                                           \
        break;
#define SITES(n) SITE(n) SITE(n + 1) SITE(n + 2) SITE(n + 3) SITE(n + 4) SITE(n + 5) SITE(n + 6)   \
    SITE(n + 7)
#define WIDE(n)                                                                                    \
    static __attribute__((noinline)) int wide_##n(struct bench_tree *tree, int depth)              \
    {                                                                                              \
        volatile char room[16 + (0##n * 8)];                                                       \
        room[0] = room[1] = (char)(depth + 0##n);                                                  \
        if (tree->capture != NULL) {                                                               \
            tree->frames += (uint64_t)tree->capture();                                             \
        }                                                                                          \
        for (uint32_t i = 1 + next_random(tree) % 2; depth > 0 && i > 0 && tree->left > 0; i--) {  \
            tree->left--;                                                                          \
            switch (next_random(tree) % 64) {                                                      \
                SITES(0) SITES(8) SITES(16) SITES(24) SITES(32) SITES(40) SITES(48) SITES(56)      \
            }                                                                                      \
        }                                                                                          \
        return room[0] + room[1];                                                                  \
    }
WIDE(00) WIDE(01) WIDE(02) WIDE(03) WIDE(04) WIDE(05) WIDE(06) WIDE(07)
WIDE(10) WIDE(11) WIDE(12) WIDE(13) WIDE(14) WIDE(15) WIDE(16) WIDE(17)
WIDE(20) WIDE(21) WIDE(22) WIDE(23) WIDE(24) WIDE(25) WIDE(26) WIDE(27)
WIDE(30) WIDE(31) WIDE(32) WIDE(33) WIDE(34) WIDE(35) WIDE(36) WIDE(37)
static node_function *const wide_nodes[WIDE_FUNCTIONS] = {
    wide_00, wide_01, wide_02, wide_03, wide_04, wide_05, wide_06, wide_07,
    wide_10, wide_11, wide_12, wide_13, wide_14, wide_15, wide_16, wide_17,
    wide_20, wide_21, wide_22, wide_23, wide_24, wide_25, wide_26, wide_27,
    wide_30, wide_31, wide_32, wide_33, wide_34, wide_35, wide_36, wide_37};
// clang-format on

static void run(struct bench_tree *tree, node_function *const *functions, uint32_t count)
{
    tree->random = 88172645463325252u;
    tree->frames = 0;
    while (tree->left > 0) {
        (void)functions[next_random(tree) % count](tree, TREE_DEPTH);
    }
}

void TREE(struct bench_tree *tree)
{
    run(tree, nodes, 16);
}

void TREE_WIDE(struct bench_tree *tree)
{
    run(tree, wide_nodes, WIDE_FUNCTIONS);
}

void TREE_TIME(void *ctx)
{
    struct bench_tree_run *run = ctx;
    struct bench_tree empty = {.left = run->nodes};
    struct bench_tree tree = {.capture = run->capture, .left = run->nodes};
    double begin = bench_thread_ns();
    TREE(&empty);
    double middle = bench_thread_ns();
    TREE(&tree);
    run->ns = (bench_thread_ns() - middle - (middle - begin)) / run->nodes;
    run->frames = tree.frames;
}
