// SPDX-License-Identifier: Apache-2.0
/* The frame of an interpreter in which the code of its JIT stands. */
#ifndef SONDE_UNWIND_STANDING_H
#define SONDE_UNWIND_STANDING_H

#include "unwind_step.h"

#define SONDE__STANDING_PUSHED_MAX 4

struct sonde__standing {
    struct sonde__rule rule; /* of all its code: CFA = sp + offset */
    /* What the interpreter may have pushed below that when it jumps: one of these (bytes). */
    uint32_t pushed[SONDE__STANDING_PUSHED_MAX];
    uint32_t pushed_count;
};

/* Is `function` code of an image on x86-64 that has its frame already where it begins? (Its record
 * then is about a body that other code enters, and leaves by jumps.) `looker` is left anywhere;
 * instructions looked at are taken from `walker`. */
bool sonde__standing_find(struct sonde__walker *walker, struct sonde__walker *looker,
                          uint64_t function, struct sonde__standing *ret_standing);

#endif
