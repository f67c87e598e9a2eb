// SPDX-License-Identifier: Apache-2.0
/* aarch64: is the return address in lr at this pc? The code from there on shows it, until the
 * function returns or sets up its frame.
 *
 * A path to `ret` that does not load lr first returns by the lr of now. A path to the instruction
 * that sets the frame pointer has not saved lr yet, or only just. Any other path (a call, a load of
 * lr) tells nothing: most are in a function's body, whose frame is complete. Unlike the code before
 * the pc, the code behind it needs no function's start. The instructions are fed one by one.
 * Source: Arm ARM, C4.1. Context: handler. */
#ifndef SONDE_ARCH_AHEAD_H
#define SONDE_ARCH_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

enum sonde__ahead_kind {
    SONDE__AHEAD_MORE,    /* feed the instruction at `pc` */
    SONDE__AHEAD_UNKNOWN, /* lr may be anything */
    SONDE__AHEAD_RETURN,  /* the function returns by lr; `depth`: of sp now below sp then */
    SONDE__AHEAD_SETUP,   /* the function is about to set x29 to sp now + `depth` */
    SONDE__AHEAD_JUMP,    /* `br x16` or `br x17`: the jump of a linkage stub, or of a switch */
};

struct sonde__ahead {
    uint64_t pc;         /* of the next instruction */
    uint64_t start, end; /* a jump to elsewhere leaves the function */
    int64_t depth;
    uint64_t other; /* the first forward branch that was not taken; 0: none */
    int64_t other_depth;
};

void sonde__arch_ahead_begin(struct sonde__ahead *ahead, uint64_t pc, uint64_t start, uint64_t end);
enum sonde__ahead_kind sonde__arch_ahead(struct sonde__ahead *ahead, uint32_t insn);

/* The same question to the code before a pc, backward: has the function set up x29? */
enum sonde__behind_kind {
    SONDE__BEHIND_MORE,  /* feed the instruction before */
    SONDE__BEHIND_SETUP, /* x29 was set to an address on the stack */
    SONDE__BEHIND_NOT,   /* a return or the load of a saved x29 came first */
};
enum sonde__behind_kind sonde__arch_behind(uint32_t insn);

#endif
