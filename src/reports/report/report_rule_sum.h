// SPDX-License-Identifier: Apache-2.0
/* What the findings of an audit are together, rule by rule. Pure functions of the model. Context:
 * any thread. */
#ifndef SONDE_REPORT_RULE_SUM_H
#define SONDE_REPORT_RULE_SUM_H

#include <sonde/status.h>

#include "report_model.h"

enum { SONDE__REPORT_SUM_SDKS = 16 }; /* that are named */

struct sonde__report_rule_sum {
    uint64_t calls;
    uint32_t app_stacks;        /* different pairs of function and stack of the program's frames */
    uint64_t first_ns, last_ns; /* since the start; 0: not known */
    uint32_t threads;           /* 0: not known */
    bool has_more_threads;      /* there were more, which are not told apart */
    uint32_t sdks[SONDE__REPORT_SUM_SDKS]; /* string ids */
    uint32_t sdk_count;                    /* of these */
    bool has_more_sdks;
};

/* One for each rule, at its id - 1. Returns OK | MEMORY. Ownership: sonde__mem_free(). */
SONDE_NODISCARD enum sonde_status sonde__report_sum_rules(const struct sonde__report *report,
                                                          struct sonde__report_rule_sum **ret_sums);

/* A hash of the frames of a stack, or of those of the program; and are two stacks with equal ones
 * alike? */
uint64_t sonde__report_stack_key(const struct sonde__report *report, uint32_t stack, bool app_only);
bool sonde__report_stacks_alike(const struct sonde__report *report, uint32_t a, uint32_t b,
                                bool app_only);

#endif
