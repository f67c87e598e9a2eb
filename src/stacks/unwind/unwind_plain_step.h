// SPDX-License-Identifier: Apache-2.0
/* The reads of a step by a plain rule (sonde__rule_is_plain), for the two loops that take nearly
 * all frames and keep their state in machine registers. Same result as sonde__rule_apply().
 * Context: handler. */
#ifndef SONDE_UNWIND_PLAIN_STEP_H
#define SONDE_UNWIND_PLAIN_STEP_H

#include "unwind_step.h"

/* Read the caller's pc at `pc_at`, and with has_fp its fp at `fp_at`; both must be readable.
 * False: this frame needs the general step, and nothing is changed. */
SONDE__NO_SANITIZE static inline __attribute__((always_inline)) bool
sonde__plain_step(uint64_t pc_at, uint64_t pc_mask, bool has_fp, uint64_t fp_at, uint64_t *pc,
                  uint64_t *fp, bool *fp_known)
{
    uint64_t return_pc = sonde__plain_word(pc_at) & pc_mask;
    if (return_pc == 0) {
        return false;
    }
    if (has_fp) {
        uint64_t saved = sonde__plain_word(fp_at);
        /* a function may keep data in fp: then a tag in the saved word means nothing
         * (sonde__async_note) */
        if (sonde__fp_is_tagged(saved) && (!*fp_known || *fp == fp_at)) {
            return false;
        }
        *fp = sonde__strip_fp_tag(saved);
        *fp_known = true;
    }
    *pc = return_pc;
    return true;
}

#endif
