// SPDX-License-Identifier: Apache-2.0
#include "bare_calls.h"

__thread const void *bare_shadow[BARE_SHADOW_MAX];
__thread int bare_shadow_count;

#define AFTER(value) __asm__ volatile("" : "+r"(value))

/* Calls by name between functions of this file, then by pointer to what has records. */
static __attribute__((noinline)) int leave_by_pointer(bare_next *next, int depth)
{
    BARE_ENTER();
    int result = next(depth);
    AFTER(result);
    BARE_LEAVE();
    return result;
}

#define BARE(name, bytes)                                                                          \
    static __attribute__((noinline)) int name(bare_next *next, int depth)                          \
    {                                                                                              \
        volatile char room[bytes];                                                                 \
        BARE_ENTER();                                                                              \
        room[0] = (char)depth;                                                                     \
        int result = leave_by_pointer(next, depth);                                                \
        AFTER(result);                                                                             \
        BARE_LEAVE();                                                                              \
        return result + room[0];                                                                   \
    }
BARE(small, 24)
BARE(middle, 72)
BARE(large, 200)

static __attribute__((noinline)) int nested(bare_next *next, int depth)
{
    BARE_ENTER();
    int result = (depth & 1) != 0 ? middle(next, depth) : small(next, depth);
    AFTER(result);
    BARE_LEAVE();
    return result;
}

/* Many values live over the call: they are in all registers that a callee keeps. */
static __attribute__((noinline)) int busy(bare_next *next, int depth)
{
    int a = depth * 3, b = depth ^ 5, c = depth + 7, d = depth - 9, e = depth * depth, f = ~depth;
    BARE_ENTER();
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    int result = leave_by_pointer(next, depth);
    AFTER(result);
    BARE_LEAVE();
    return result + a + b + c + d + e + f;
}

bare_call *const bare_calls[BARE_CALLS] = {small, middle, large, nested, busy};
