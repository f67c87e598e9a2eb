// SPDX-License-Identifier: Apache-2.0
/* The true stack, by the calls and returns that a program executes, never by its call frame
 * information.
 *
 * A frame here is a caller: its return address, and its stack pointer there. Most programs have one
 * stack; coroutines have several, told apart by the memory that they lie in. Control may leave
 * frames without a return (longjmp, exceptions, setcontext). The shadow notices it on arrival: a
 * return or indirect jump that goes elsewhere than to the innermost caller. */
#ifndef TEST_ORACLE_SHADOW_H
#define TEST_ORACLE_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

enum { SHADOW_FRAMES_MAX = 4096, SHADOW_STACKS_MAX = 16 };

struct shadow_frame {
    uint64_t pc;
    uint64_t sp;
    uint64_t fp; /* its frame pointer there: compared only to explain another difference */
    bool exact;  /* interrupted by a signal: pc is the next instruction, not a return address */
};

struct shadow_stack {
    struct shadow_frame frames[SHADOW_FRAMES_MAX]; /* outermost first */
    unsigned count;
    uint64_t region; /* 0: not used */
};

struct shadow {
    struct shadow_stack stacks[SHADOW_STACKS_MAX];
    struct shadow_stack *now;
    bool pushes_return; /* a call stores the return address below the caller's sp (x86-64) */
    /* Names the mapping that an address lies in, never 0. */
    uint64_t (*region)(void *ctx, uint64_t address);
    /* The return address of a coroutine that starts at this sp, and its sp then. */
    struct shadow_frame (*made_root)(void *ctx, uint64_t sp);
    void *ctx;
};

void shadow_start(struct shadow *shadow, uint64_t sp);
void shadow_push(struct shadow *shadow, struct shadow_frame frame);

/* A return, or an indirect jump, arrived at pc with sp. True: it was neither a return to the
 * innermost caller nor a jump inside of the innermost frame; *shadow follows. */
bool shadow_return(struct shadow *shadow, uint64_t pc, uint64_t sp);
bool shadow_jump(struct shadow *shadow, uint64_t pc, uint64_t sp);

/* The caller `index` (0: innermost), or null. */
const struct shadow_frame *shadow_at(const struct shadow *shadow, unsigned index);

#endif
