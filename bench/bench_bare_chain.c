// SPDX-License-Identifier: Apache-2.0
#include "bench_bare.h"

#define AFTER(value) __asm__ volatile("" : "+r"(value))

static int go_on(int depth, uint64_t way, void (*leaf)(void));

#define CHAIN_OF(name, bytes)                                                                      \
    static __attribute__((noinline)) int name(int depth, uint64_t way, void (*leaf)(void))         \
    {                                                                                              \
        volatile char room[bytes];                                                                 \
        room[0] = (char)depth;                                                                     \
        int result = go_on(depth, way, leaf);                                                      \
        AFTER(result);                                                                             \
        return result + room[0];                                                                   \
    }
CHAIN_OF(small, 24)
CHAIN_OF(middle, 72)
CHAIN_OF(large, 200)

static __attribute__((noinline)) int go_on(int depth, uint64_t way, void (*leaf)(void))
{
    int result = depth;
    if (depth == 0) {
        leaf();
    } else if ((way & 3) == 0) {
        result = small(depth - 1, way >> 2, leaf);
    } else if ((way & 3) == 1) {
        result = middle(depth - 1, way >> 2, leaf);
    } else {
        result = large(depth - 1, way >> 2, leaf);
    }
    AFTER(result);
    return result;
}

int bench_bare_chain(int depth, uint64_t way, void (*leaf)(void))
{
    int result = go_on(depth, way, leaf);
    AFTER(result);
    return result;
}
