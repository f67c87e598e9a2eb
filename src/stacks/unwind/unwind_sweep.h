// SPDX-License-Identifier: Apache-2.0
/* Finds where the return address of a function without CFI lies, from the function's code. */
#ifndef SONDE_UNWIND_SWEEP_H
#define SONDE_UNWIND_SWEEP_H

#include "unwind_step.h"

/* What the code between a function's entry and a pc in it has done to the stack. */
struct sonde__sweep {
    uint64_t entry; /* of the function that the pc is in; it may have been reached by a tail call */
    int64_t depth;  /* bytes from sp to the slot of the return address; -1: not known (alignment,
                       alloca) */
    int64_t fp_base;  /* the function has set rbp to slot - fp_base; -1: it has not set it */
    int64_t fp_saved; /* the caller's rbp is saved at slot - fp_saved; -1: it is not saved */
};

enum sonde__sweep_result {
    SONDE__SWEEP_FOUND,
    SONDE__SWEEP_ELSEWHERE, /* the pc is not in the function that begins there */
    SONDE__SWEEP_OPEN,      /* the same, but the function has jumps whose targets are not known */
};

/* Follow x86-64 code from `entry` to the pc of the walker's frame. with_tails: through tail calls,
 * too. Each decoded instruction takes one unit from walker->sweep_left; at 0 the result is
 * ELSEWHERE. */
enum sonde__sweep_result sonde__sweep_to(struct sonde__walker *walker, uint64_t entry,
                                         bool with_tails, struct sonde__sweep *ret_sweep);

#endif
