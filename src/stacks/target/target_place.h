// SPDX-License-Identifier: Apache-2.0
/* Finds where a blocked thread of another process waits: the inner frames of its stack, and
 * where each begins (DWARF's CFA). That distinguishes two waits of a thread, and shows which is
 * the outer one. Context: any thread, one at a time per target. */
#ifndef SONDE_TARGET_PLACE_H
#define SONDE_TARGET_PLACE_H

#include "os.h"
#include "target.h"

/* The wait's function, libc functions between it and its caller, and the caller's callers. */
#define SONDE__PLACE_FRAMES 8u

struct sonde__target_place {
    uint32_t count;
    uint64_t pcs[SONDE__PLACE_FRAMES];    /* innermost first */
    uint64_t begins[SONDE__PLACE_FRAMES]; /* of each frame; 0: unknown */
};

/* wait: just read. To prove that the thread did not move, read it again afterwards. */
void sonde__target_place(struct sonde__target *target, const struct sonde__os_wait *wait,
                         struct sonde__target_place *ret_place);

#endif
