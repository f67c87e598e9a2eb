// SPDX-License-Identifier: Apache-2.0
#include "bench_chain.h"

typedef int link_function(int depth, void (*leaf)(void *), void *ctx);

static link_function *const chain[256];

// clang-format off
#define LINK(n)                                                                                    \
    static __attribute__((noinline)) int link_##n(int depth, void (*leaf)(void *), void *ctx)      \
    {                                                                                              \
        volatile char room[8 + (0x##n * 13 & 0xf8)];                                               \
        room[0] = (char)depth;                                                                     \
        if (depth <= 1) {                                                                          \
            leaf(ctx);                                                                             \
        } else {                                                                                   \
            depth += chain[(0x##n + 1) & 255](depth - 1, leaf, ctx);                               \
        }                                                                                          \
        return depth + room[0];                                                                    \
    }
#define NAME(n) link_##n,
#define ROW(X, h)                                                                                  \
    X(h##0)                                                                                        \
    X(h##1)                                                                                        \
    X(h##2) X(h##3) X(h##4) X(h##5) X(h##6) X(h##7) X(h##8) X(h##9) X(h##a) X(h##b) X(h##c)        \
        X(h##d) X(h##e) X(h##f)
#define ALL(X)                                                                                     \
    ROW(X, 0)                                                                                      \
    ROW(X, 1)                                                                                      \
    ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7) ROW(X, 8) ROW(X, 9) ROW(X, a)      \
        ROW(X, b) ROW(X, c) ROW(X, d) ROW(X, e) ROW(X, f)

// clang-format on

ALL(LINK)

static link_function *const chain[256] = {ALL(NAME)};

int CHAIN(int depth, void (*leaf)(void *), void *ctx)
{
    return chain[0](depth, leaf, ctx);
}
