// SPDX-License-Identifier: Apache-2.0
/* One walk in this process: registers in, stack out.
 *
 * Brings together what the pure walk needs: the images, and the door to memory. Context: handler.
 */
#ifndef SONDE_CAPTURE_WALK_H
#define SONDE_CAPTURE_WALK_H

#include <sonde/stack.h>

#include "arch_regs.h"

enum sonde__capture_trust {
    /* the registers are those of the calling thread at this moment: its own stack is read by plain
     * loads, as far as it was seen to be mapped */
    SONDE__CAPTURE_OWN,
    /* anything else (another thread, a fiber, garbage): every read may fail, none faults */
    SONDE__CAPTURE_DOUBT,
};

/* exact: regs->pc is a next instruction, not a return address. */
void sonde__capture_walk(struct sonde_stack *stack, const struct sonde__regs *regs, bool exact,
                         uint32_t skip, enum sonde__capture_trust trust);

/* As sonde__capture_walk() of the calling thread itself, for somebody who keeps a word about each
 * stack (unwind_memo.h). *ret_tags: one word for each frame of `stack`, which tells of the stack
 * from there outward, 0 where nothing is known; null: this stack is not remembered.
 *
 * sonde__capture_tagged_done() must follow. tagger: not null */
struct sonde__memo;
struct sonde__memo *sonde__capture_walk_tagged(struct sonde_stack *stack,
                                               const struct sonde__regs *regs, uint32_t skip,
                                               const void *tagger, uint32_t **ret_tags);
void sonde__capture_tagged_done(struct sonde__memo *memo);

/* Are the arrays there? */
bool sonde__capture_is_usable(const struct sonde_stack *stack);

#endif
