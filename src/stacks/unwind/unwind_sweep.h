// SPDX-License-Identifier: Apache-2.0
/* Finds the place of the return address of a function without CFI, from the function's code. */
#ifndef SONDE_UNWIND_SWEEP_H
#define SONDE_UNWIND_SWEEP_H

#include "unwind_step.h"

/* What the code between a function's entry and the pc has done to the stack. */
struct sonde__sweep {
    uint64_t entry; /* of the pc's function, which may have been reached by a tail call */
    int64_t depth; /* bytes from sp to the return address's slot; -1: unknown (alignment, alloca) */
    int64_t fp_base;  /* the function has set rbp to slot - fp_base; -1: it has not */
    int64_t fp_saved; /* the caller's rbp is saved at slot - fp_saved; -1: it is not */
};

enum sonde__sweep_result {
    SONDE__SWEEP_FOUND,
    SONDE__SWEEP_ELSEWHERE, /* the pc is not in the function that begins there */
    SONDE__SWEEP_OPEN,      /* the same, but the function has jumps with unknown targets */
};

/* Follow x86-64 code from `entry` to the pc of the walker's frame. with_tails: also through tail
 * calls. Each decoded instruction takes one unit from walker->sweep_left; at 0 the result is
 * ELSEWHERE or OPEN. */
enum sonde__sweep_result sonde__sweep_to(struct sonde__walker *walker, uint64_t entry,
                                         bool with_tails, struct sonde__sweep *ret_sweep);

#endif
