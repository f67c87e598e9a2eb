// SPDX-License-Identifier: Apache-2.0
/* The phases of a run: counts are kept by phase, so that a rule can be about some of them.
 *
 * Phases are numbered in the order in which they are claimed; 0 is the one before the first. The
 * current phase is the highest number that is complete, so it only grows, whoever begins phases at
 * once: any thread or handler of the program, or another process that shares the memory. A call
 * counts in the phase that was current when its counting began. So each call that begins after
 * sonde__record_phase_begin() has returned counts in that phase or a later one, each call that has
 * returned before it began counts in an earlier one, and a call between may count in either.
 *
 * The memory is not trusted: a number read from it is reduced to its range. Context: handler. */
#ifndef SONDE_RECORD_PHASE_H
#define SONDE_RECORD_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__RECORD_PHASES = 16, SONDE__RECORD_PHASE_NAME = 64 };

struct sonde__record_phase {
    _Atomic uint64_t begin_ns; /* 0: not complete */
    uint32_t consent;          /* enum sonde__report_consent */
    char name[SONDE__RECORD_PHASE_NAME];
};

/* All zero: phase 0 is current. */
struct sonde__record_phases {
    _Atomic uint32_t claimed, current;
    _Atomic uint32_t lost; /* changes that had no room; the phase stays the last one */
    struct sonde__record_phase list[SONDE__RECORD_PHASES]; /* the first one is unused */
};

static inline uint32_t sonde__record_phase_now(const struct sonde__record_phases *phases)
{
    return atomic_load_explicit(&phases->current, memory_order_acquire) % SONDE__RECORD_PHASES;
}

/* Has phase `number` this name; is_before: has no phase until it? number: of
 * sonde__record_phase_now() */
bool sonde__record_phase_is(const struct sonde__record_phases *phases, uint32_t number,
                            const char *name, bool is_before);

/* Begin a phase, unless the current one has this name and consent. name: cut to the
 * room for it. False: no room. */
bool sonde__record_phase_begin(struct sonde__record_phases *phases, const char *name, size_t size,
                               uint32_t consent, uint64_t now_ns);

#endif
