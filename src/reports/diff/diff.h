// SPDX-License-Identifier: Apache-2.0
/* What differs between two sets of reports: stalls by fingerprint, recorded calls by function and
 * the program's own functions that led to them.
 *
 * Everything is compared by what is the same in every build: names, and for code without names the
 * library and where the function starts in it. That start moves between builds; a difference that
 * rests on it alone is UNSURE, and no finding. Where a side has several reports, figures are per
 * report of a watch, or of a recording. Context: any thread. */
#ifndef SONDE_DIFF_H
#define SONDE_DIFF_H

#include "report_canonical.h"
#include "report_fingerprint.h"
#include "report_group.h"
#include "report_view.h"

/* Worse and better are this many percent, or their reverse. */
#define SONDE__DIFF_PERCENT     150u
#define SONDE__DIFF_PERCENT_MIN 101u
#define SONDE__DIFF_PERCENT_MAX 1000000u

enum sonde__diff_state {
    SONDE__DIFF_NEW,    /* only in the new reports */
    SONDE__DIFF_WORSE,  /* as many times more of them, or their time; of calls: more */
    SONDE__DIFF_UNSURE, /* only on one side, as far as it can be compared */
    SONDE__DIFF_BETTER,
    SONDE__DIFF_GONE,
    SONDE__DIFF_SAME, /* within the factor */
    SONDE__DIFF_STATES,
};

enum { SONDE__DIFF_OLD, SONDE__DIFF_NEW_SIDE, SONDE__DIFF_SIDES };

struct sonde__diff_side {
    const struct sonde__report *const *reports;
    const char *const *names; /* of their files */
    uint32_t count;
};

/* What one side has of a stall or a call. */
struct sonde__diff_amount {
    uint64_t count;
    uint64_t total_ns, longest_ns; /* of stalls */
};

struct sonde__diff_stall {
    enum sonde__diff_state state;
    char id[SONDE__REPORT_FINGERPRINT_TEXT]; /* "": stalls of which none is known */
    struct sonde__diff_amount amounts[SONDE__DIFF_SIDES];
    const struct sonde__report *report; /* of the longest of the newest side; null: only counted */
    uint32_t index;                     /* of it */
};

struct sonde__diff_call {
    enum sonde__diff_state state;
    const char *function; /* of a report */
    struct sonde__diff_amount amounts[SONDE__DIFF_SIDES];
    const struct sonde__report *report; /* that has `stack` */
    uint32_t stack;                     /* 0: stacks that were not kept */
};

/* Lists are in the order of states, then of time or calls. */
struct sonde__diff {
    struct sonde__diff_side sides[SONDE__DIFF_SIDES];
    uint32_t percent;
    struct sonde__diff_stall *stalls;
    uint32_t stall_count;
    struct sonde__diff_call *calls;
    uint32_t call_count;
    uint32_t stall_states[SONDE__DIFF_STATES], call_states[SONDE__DIFF_STATES];
    uint32_t watched[SONDE__DIFF_SIDES], recorded[SONDE__DIFF_SIDES]; /* reports of that kind */
    bool has_stalls, has_calls; /* both sides have such reports */
};

/* The reports must live as long as the result. percent: from SONDE__DIFF_PERCENT_MIN on.
 * Returns OK | MEMORY. Ownership: sonde__diff_done(). */
SONDE_NODISCARD enum sonde_status sonde__diff_make(const struct sonde__diff_side *old_side,
                                                   const struct sonde__diff_side *new_side,
                                                   uint32_t percent, struct sonde__diff *ret_diff);
void sonde__diff_done(struct sonde__diff *diff);

/* Stalls and calls together in that state. */
uint32_t sonde__diff_number(const struct sonde__diff *diff, enum sonde__diff_state state);
/* Is there anything that can be compared? */
bool sonde__diff_has_any(const struct sonde__diff *diff);

void sonde__diff_text(const struct sonde__diff *diff, const struct sonde__report_view *view,
                      struct sonde__report_sink sink);
void sonde__diff_json(const struct sonde__diff *diff, const struct sonde__report_view *view,
                      struct sonde__report_sink sink);

#endif
