// SPDX-License-Identifier: Apache-2.0
/* How calls of one rule, function and path changed between two builds, as `sonde diff` decides it
 * (diff.h): numbers are divided by the builds' reports with calls, and what one build did not look
 * for, or what has another key in each build, is unsure. A pure function. Context: any thread. */
#ifndef SONDE_COLLECTOR_DIFFER_H
#define SONDE_COLLECTOR_DIFFER_H

#include "store.h"

enum differ_change {
    DIFFER_SAME,
    DIFFER_NEW,
    DIFFER_CHANGED,
    DIFFER_GONE,
    DIFFER_UNSURE, /* only in one build, but the other one may have it, too */
    DIFFER_CHANGES,
};

/* Why, as bits; 0: it needs no reason. */
enum differ_why {
    DIFFER_BEFORE_CONSENT = 1,     /* some are before consent now */
    DIFFER_NOT_BEFORE_CONSENT = 2, /* none is any more */
    DIFFER_OVER_LIMIT = 4,         /* some exceed the limit now */
    DIFFER_WITHIN_LIMIT = 8,       /* none does any more */
    DIFFER_MORE = 16,              /* in a report, by the factor */
    DIFFER_FEWER = 32,
    DIFFER_UNLISTED = 64,  /* the other build's audits did not look for it */
    DIFFER_UNSTABLE = 128, /* its stack was cut, or functions of it have no names */
};

struct differ_builds {
    uint64_t now, then; /* reports of the build and the base whose calls are counted; not 0 */
    uint32_t percent;   /* MORE and FEWER need this, or its inverse; at least 101 */
};
struct differ_result {
    enum differ_change change;
    uint32_t why; /* of enum differ_why */
};

struct differ_result differ_judge(const struct differ_builds *builds,
                                  const struct store_call_pair *pair);

#endif
