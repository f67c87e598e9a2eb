// SPDX-License-Identifier: Apache-2.0
/* Where the return address of a function without CFI lies, from the function's code. */
#ifndef SONDE_UNWIND_SWEEP_H
#define SONDE_UNWIND_SWEEP_H

#include "unwind_step.h"

/* What the code between a function's entry and a pc in it has done to the stack. */
struct sonde__sweep {
    uint64_t entry;   /* of the function with the pc in it; a tail call may have led there */
    int64_t depth;    /* bytes that sp is below the return address's slot; -1: sp alone does not
                         tell (alignment, alloca) */
    int64_t fp_base;  /* rbp = the slot - fp_base, set by the function; -1: it did not set it */
    int64_t fp_saved; /* the caller's rbp lies at the slot - fp_saved; -1: it was not saved */
};

enum sonde__sweep_result {
    SONDE__SWEEP_FOUND,
    SONDE__SWEEP_ELSEWHERE, /* the pc is not in the function that begins there */
    SONDE__SWEEP_OPEN,      /* the same, but the function jumps to what only its data tells */
};

/* Follow the code of x86-64 from `entry` to the pc of the walker's frame, with_tails: over tail
 * calls, too. Each instruction looked at is taken from walker->sweep_left; none left: ELSEWHERE. */
enum sonde__sweep_result sonde__sweep_to(struct sonde__walker *walker, uint64_t entry,
                                         bool with_tails, struct sonde__sweep *ret_sweep);

#endif
