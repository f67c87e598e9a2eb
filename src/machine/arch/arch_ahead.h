// SPDX-License-Identifier: Apache-2.0
/* Where is the return address of the function at a pc, before its frame is set up or after it was
 * left? The code ahead of the pc shows it, until the function returns or sets up its frame.
 *
 * aarch64: a path to `ret` that does not load lr first returns by the lr of now. A path to the
 * instruction that sets the frame pointer has not saved lr yet, or only just. x86-64: both paths
 * show the distance from sp to the return address. Any other path (a call, a load of lr or rbp)
 * tells nothing: most are in a function's body, whose frame is complete. Unlike the code before a
 * pc, the code ahead needs no function's start. The instructions are fed one by one.
 * Sources: Arm ARM, C4.1; arch_x86_insn.h. Context: handler. */
#ifndef SONDE_ARCH_AHEAD_H
#define SONDE_ARCH_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__ahead_kind {
    SONDE__AHEAD_MORE, /* feed the instruction at `pc` */
    SONDE__AHEAD_UNKNOWN,
    SONDE__AHEAD_RETURN, /* the function returns, or jumps away, with sp at sp now + `depth` */
    SONDE__AHEAD_SETUP,  /* the function is about to set x29 or rbp to sp now + `depth` */
    SONDE__AHEAD_CALL,   /* x86-64: the function makes a call, with sp at sp now + `depth` */
    SONDE__AHEAD_JUMP,   /* `br x16` or `br x17`: the jump of a linkage stub, or of a switch */
};

struct sonde__ahead {
    uint64_t pc;         /* of the next instruction */
    uint64_t start, end; /* a jump to elsewhere leaves the function */
    int64_t depth;
    uint64_t other; /* the first forward branch that was not taken; 0: none */
    int64_t other_depth;
    bool pops_fp;  /* x86-64: rbp is popped on the way, ... */
    int64_t fp_at; /* ... from sp now + this */
};

void sonde__arch_ahead_begin(struct sonde__ahead *ahead, uint64_t pc, uint64_t start, uint64_t end);
enum sonde__ahead_kind sonde__arch_ahead(struct sonde__ahead *ahead, uint32_t insn);
/* x86-64: `code` begins at ahead->pc. */
enum sonde__ahead_kind sonde__arch_ahead_x86(struct sonde__ahead *ahead, const uint8_t *code,
                                             size_t size);

/* Private. A jump or a branch at ahead->pc, whose instruction ends at `next`. */
enum sonde__ahead_kind sonde__ahead_jump(struct sonde__ahead *ahead, uint64_t target);
enum sonde__ahead_kind sonde__ahead_branch(struct sonde__ahead *ahead, uint64_t target,
                                           uint64_t next);

/* aarch64. The code before a pc, fed backward: has the function set up x29? */
enum sonde__behind_kind {
    SONDE__BEHIND_MORE,  /* feed the instruction before */
    SONDE__BEHIND_SETUP, /* x29 was set to an address on the stack */
    SONDE__BEHIND_NOT,   /* a return or the load of a saved x29 came first */
};
enum sonde__behind_kind sonde__arch_behind(uint32_t insn);

#endif
