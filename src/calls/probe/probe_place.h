// SPDX-License-Identifier: Apache-2.0
/* Which of two waits stands further out in the stack. Pure. Context: handler. */
#ifndef SONDE_PROBE_PLACE_H
#define SONDE_PROBE_PLACE_H

#include "probe_turn.h"

static inline bool sonde__probe_is_within(uint64_t a, uint64_t b, uint64_t bytes)
{
    return (a > b ? a - b : b - a) <= bytes;
}

static inline bool sonde__probe_is_near(uint64_t a, uint64_t b)
{
    return sonde__probe_is_within(a, b, SONDE__PROBE_SITE_BYTES);
}

/* How far a wait stands outside `c`, in bytes; negative: inside. *ret_exact: by their levels. */
static inline int64_t sonde__probe_height_over(const struct sonde__probe_candidate *c, uint64_t sp,
                                               uint64_t level, bool *ret_exact)
{
    *ret_exact = level != 0 && c->level != 0;
    return *ret_exact ? (int64_t)(level - c->level) : (int64_t)(sp - c->sp);
}

/* Certainly outside the call that `c` waits in. */
static inline bool sonde__probe_is_outside(const struct sonde__probe_candidate *c, uint64_t sp,
                                           uint64_t level)
{
    bool exact;
    int64_t over = sonde__probe_height_over(c, sp, level, &exact);
    return over > (int64_t)(exact ? SONDE__PROBE_OUTER_BYTES : SONDE__PROBE_FAR_BYTES);
}

/* At the level of `c`, or outside, as far as the level is known. */
static inline bool sonde__probe_is_level(const struct sonde__probe_candidate *c, uint64_t sp,
                                         uint64_t level)
{
    bool exact;
    int64_t over = sonde__probe_height_over(c, sp, level, &exact);
    return exact ? over >= 0 : over > (int64_t)SONDE__PROBE_FAR_BYTES;
}

#endif
