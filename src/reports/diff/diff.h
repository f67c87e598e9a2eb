// SPDX-License-Identifier: Apache-2.0
/* Compares two sets of reports: stalls by fingerprint, recorded calls by function and by the
 * program's own functions that led to them.
 *
 * Only keys that are equal in every build are compared: names, or, for code without names, the
 * library and the function's start in it. Starts move between builds, so a difference found by a
 * start is UNSURE and no finding. So is a call on one side that the other may have seen with
 * functions inlined, or may not have recorded. If a side has several reports, figures are divided
 * by its number of reports of that kind. Context: any thread. */
#ifndef SONDE_DIFF_H
#define SONDE_DIFF_H

#include "report_call_key.h"
#include "report_fingerprint.h"
#include "report_group.h"
#include "report_view.h"

/* WORSE and BETTER need at least this percentage, or its inverse. */
#define SONDE__DIFF_PERCENT     150u
#define SONDE__DIFF_PERCENT_MIN 101u
#define SONDE__DIFF_PERCENT_MAX 1000000u

enum sonde__diff_state {
    SONDE__DIFF_NEW,    /* only in the new reports */
    SONDE__DIFF_WORSE,  /* count (or total time of stalls) grew by the factor */
    SONDE__DIFF_UNSURE, /* only on one side, but the other may have it under another key */
    SONDE__DIFF_BETTER,
    SONDE__DIFF_GONE,
    SONDE__DIFF_SAME, /* within the factor */
    SONDE__DIFF_STATES,
};

/* Why a call is UNSURE. */
enum sonde__diff_doubt {
    SONDE__DIFF_SURE,
    SONDE__DIFF_CUT,      /* its stack was not kept, or is cut */
    SONDE__DIFF_UNNAMED,  /* functions without names, of another build */
    SONDE__DIFF_INLINED,  /* the other build may have inlined functions of the stack */
    SONDE__DIFF_UNLISTED, /* the other side did not record the function, or has not the rule */
    SONDE__DIFF_DOUBTS,
};

enum { SONDE__DIFF_OLD, SONDE__DIFF_NEW_SIDE, SONDE__DIFF_SIDES };

struct sonde__diff_side {
    const struct sonde__report *const *reports;
    const char *const *names; /* of the reports' files */
    uint32_t count;
};

/* Totals of one stall or call on one side. */
struct sonde__diff_amount {
    uint64_t count;
    uint64_t total_ns, longest_ns; /* of stalls */
};

struct sonde__diff_stall {
    enum sonde__diff_state state;
    char id[SONDE__REPORT_FINGERPRINT_TEXT]; /* "": all stalls without a fingerprint */
    struct sonde__diff_amount amounts[SONDE__DIFF_SIDES];
    const struct sonde__report
        *report;    /* with the longest stall, of the newest side; null: only counted */
    uint32_t index; /* of that stall */
};

struct sonde__diff_call {
    enum sonde__diff_state state;
    enum sonde__diff_doubt doubt;
    struct sonde__report_hash key; /* report_call_key.h */
    bool is_stable;                /* the key is the same in every build */
    const char *function;          /* in a report's memory */
    struct sonde__diff_amount amounts[SONDE__DIFF_SIDES];
    const struct sonde__report *report;    /* of the newest side that has it */
    const struct sonde__report_call *call; /* one of that report; stack 0: the depot was full */
    /* Of the newest side: since the start of its process; 0: not known. */
    uint64_t first_ns, last_ns;
    uint64_t threads; /* as of a call; 0: not known, or of several processes */
};

/* Lists are ordered by state, then by time or number of calls. */
struct sonde__diff {
    struct sonde__diff_side sides[SONDE__DIFF_SIDES];
    uint32_t percent;
    struct sonde__diff_stall *stalls;
    uint32_t stall_count;
    struct sonde__diff_call *calls;
    uint32_t call_count;
    uint32_t stall_states[SONDE__DIFF_STATES], call_states[SONDE__DIFF_STATES];
    uint32_t watched[SONDE__DIFF_SIDES], recorded[SONDE__DIFF_SIDES]; /* number of reports of each
                                                                       * kind */
    bool has_stalls, has_calls; /* both sides have such reports */
};

/* The reports must outlive the result. An old side without reports makes a list of calls, each of
 * them NEW. percent: at least SONDE__DIFF_PERCENT_MIN.
 * Returns OK | MEMORY. Ownership: sonde__diff_done(). */
SONDE_NODISCARD enum sonde_status sonde__diff_make(const struct sonde__diff_side *old_side,
                                                   const struct sonde__diff_side *new_side,
                                                   uint32_t percent, struct sonde__diff *ret_diff);
void sonde__diff_done(struct sonde__diff *diff);

/* Number of stalls and calls in a state. */
uint32_t sonde__diff_number(const struct sonde__diff *diff, enum sonde__diff_state state);
/* "the other side did not record the function" */
const char *sonde__diff_doubt_text(enum sonde__diff_doubt doubt);
/* False: nothing can be compared. */
bool sonde__diff_has_any(const struct sonde__diff *diff);

void sonde__diff_text(const struct sonde__diff *diff, const struct sonde__report_view *view,
                      struct sonde__report_sink sink);
void sonde__diff_json(const struct sonde__diff *diff, const struct sonde__report_view *view,
                      struct sonde__report_sink sink);

#endif
