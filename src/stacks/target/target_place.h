// SPDX-License-Identifier: Apache-2.0
/* Where a blocked thread of another process waits: the inner frames of its stack, and where each
 * of them begins (DWARF's CFA). That tells two waits of a thread apart, and which is the outer one.
 * Context: any thread, one at a time per target. */
#ifndef SONDE_TARGET_PLACE_H
#define SONDE_TARGET_PLACE_H

#include "os.h"
#include "target.h"

/* The wait's function, what may stand between it and its caller in libc, and the caller's callers.
 */
#define SONDE__PLACE_FRAMES 8u

struct sonde__target_place {
    uint32_t count;
    uint64_t pcs[SONDE__PLACE_FRAMES];    /* innermost first */
    uint64_t begins[SONDE__PLACE_FRAMES]; /* of the frame; 0: not known */
};

/* `wait` is a fresh reading of the thread; whoever needs a proof that the thread did not move reads
 * it again afterwards. */
void sonde__target_place(struct sonde__target *target, const struct sonde__os_wait *wait,
                         struct sonde__target_place *ret_place);

#endif
