// SPDX-License-Identifier: Apache-2.0
/* glibc's backtrace(), captured by sonde.
 *
 * Returns the same frames in the same order, from the caller to the outermost known one. Unlike
 * glibc's, it takes no lock and uses no heap from the first call on, also in a handler.
 *
 * The walk also stores how each frame was found. The caller has no room for that, so the array is
 * on our stack, in one of two sizes (an alternate signal stack may have only 8 KiB); a deeper stack
 * is captured in pieces. */
#include <stdint.h>

#include <sonde/stack.h>

#include "arch_regs.h"
#include "capture_walk.h"

enum { FEW = 128, MANY = 2048, TRIES_MAX = 64 };

_Static_assert(sizeof(void *) == sizeof(uint64_t), "the caller's array takes pcs");

/* Capture at most `size` frames from frame `skip` on. Returns their number. */
static uint32_t capture_piece(uint64_t *pcs, uint8_t *how, uint32_t size, uint32_t skip,
                              const struct sonde__regs *caller)
{
    struct sonde_stack stack;
    /* one call must return the whole stack; each walk uses the results of the last one */
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        sonde_stack_init(&stack, pcs, how, size, 0);
        sonde__capture_walk(&stack, caller, false, skip, SONDE__CAPTURE_OWN);
        if (stack.end != SONDE_END_COSTLY) {
            break;
        }
    }
    return stack.count;
}

static __attribute__((noinline)) uint32_t capture_few(uint64_t *pcs, uint32_t size,
                                                      const struct sonde__regs *caller)
{
    uint8_t how[FEW];
    return capture_piece(pcs, how, size, 0, caller);
}

static __attribute__((noinline)) uint32_t capture_many(uint64_t *pcs, uint32_t size,
                                                       const struct sonde__regs *caller)
{
    uint8_t how[MANY];
    uint32_t count = 0;
    for (;;) {
        uint32_t room = size - count < MANY ? size - count : MANY;
        uint32_t piece = capture_piece(pcs + count, how, room, count, caller);
        count += piece;
        if (piece < room || count == size) {
            return count;
        }
    }
}

int sonde__execinfo_backtrace(void **buffer, int size, const struct sonde__regs *caller);
int sonde__execinfo_backtrace(void **buffer, int size, const struct sonde__regs *caller)
{
    uint64_t *pcs = (uint64_t *)(void *)buffer;
    if (size <= 0 || buffer == (void **)0) {
        return 0;
    }
    return (int)(size <= FEW ? capture_few(pcs, (uint32_t)size, caller)
                             : capture_many(pcs, (uint32_t)size, caller));
}
