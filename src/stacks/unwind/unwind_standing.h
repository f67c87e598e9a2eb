// SPDX-License-Identifier: Apache-2.0
/* The frame of an interpreter in which its JIT code runs. */
#ifndef SONDE_UNWIND_STANDING_H
#define SONDE_UNWIND_STANDING_H

#include "unwind_step.h"

#define SONDE__STANDING_PUSHED_MAX 4

struct sonde__standing {
    struct sonde__rule rule; /* for all of its code: CFA = sp + offset */
    /* What the interpreter may have pushed below its frame when it jumps: one of these (bytes). */
    uint32_t pushed[SONDE__STANDING_PUSHED_MAX];
    uint32_t pushed_count;
};

/* Is `function` code of an x86-64 image that has its frame already at its first instruction?
 * (Then its record describes a body that other code enters, and that it leaves by jumps.) Moves
 * `looker`; charges decoded instructions to `walker`. */
bool sonde__standing_find(struct sonde__walker *walker, struct sonde__walker *looker,
                          uint64_t function, struct sonde__standing *ret_standing);

#endif
