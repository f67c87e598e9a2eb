// SPDX-License-Identifier: Apache-2.0
/* One walk in this process: registers in, stack out.
 *
 * Combines what the pure walk needs: images and memory. Context: handler. */
#ifndef SONDE_CAPTURE_WALK_H
#define SONDE_CAPTURE_WALK_H

#include <sonde/stack.h>

#include "arch_regs.h"

enum sonde__capture_trust {
    /* the registers are the calling thread's at this moment: plain loads read its own stack, as
     * far as it was seen to be mapped */
    SONDE__CAPTURE_OWN,
    /* the same, but by CFI only: the walk ends at a frame without CFI (SONDE_END_COSTLY) */
    SONDE__CAPTURE_OWN_BRIEF,
    /* anything else (another thread, a fiber, garbage): any read may fail, none faults */
    SONDE__CAPTURE_DOUBT,
};

/* exact: regs->pc is a next instruction, not a return address. */
void sonde__capture_walk(struct sonde_stack *stack, const struct sonde__regs *regs, bool exact,
                         uint32_t skip, enum sonde__capture_trust trust);

/* The same by rules, not by the memo alone. memo: used and renewed, or null. */
struct sonde__memo;
void sonde__capture_walk_general(struct sonde_stack *stack, const struct sonde__regs *regs,
                                 bool exact, uint32_t skip, enum sonde__capture_trust trust,
                                 struct sonde__memo *memo);

/* The same, but counts the frames further out if the buffer cuts the stack. Callers that do not
 * need the count save the walk to those frames. */
void sonde__capture_walk_counted(struct sonde_stack *stack, const struct sonde__regs *regs,
                                 bool exact, uint32_t skip, enum sonde__capture_trust trust);

/* A stack whose frames are only counted. */
struct sonde__capture_count {
    uint64_t pcs[2];
    uint8_t how[2];
    struct sonde_stack stack;
};

static inline bool sonde__capture_is_cut(const struct sonde_stack *stack)
{
    return stack->end == SONDE_END_DEPTH && stack->lost_count == 0;
}

static inline void sonde__capture_count_begin(struct sonde__capture_count *count)
{
    sonde_stack_init(&count->stack, count->pcs, count->how, 2, 1);
}

/* count: of the same walk as `stack`. */
static inline void sonde__capture_count_end(const struct sonde__capture_count *count,
                                            struct sonde_stack *stack)
{
    uint64_t all = count->stack.count + count->stack.lost_count;
    stack->lost_count = all > stack->count ? all - stack->count : 0;
}

/* Walk the calling thread's stack to the root, without skip, into its memo only: frames
 * [*ret_first, SONDE__MEMO_FRAMES). For callers that keep a word about each frame (unwind_memo.h).
 *
 * Returns the memo, busy: call sonde__capture_memo_leave(). Null: the memo does not hold all of
 * the stack; use sonde__capture_walk(). */
struct sonde__memo *sonde__capture_renew(const struct sonde__regs *regs, uint32_t *ret_first);

/* Has the stack its arrays? */
static inline bool sonde__capture_is_usable(const struct sonde_stack *stack)
{
    return stack != NULL && stack->pcs != NULL && stack->how != NULL && stack->capacity > 0;
}

/* The cache of scans of this process' stacks. */
struct sonde__scans; /* unwind_scans.h */
extern struct sonde__scans sonde__capture_scans;

#endif
