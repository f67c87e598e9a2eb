// SPDX-License-Identifier: Apache-2.0
/* The values of kept arguments of all findings of a rule, whatever the stack. Pure functions of the
 * model. Context: any thread. */
#ifndef SONDE_REPORT_RULE_VALUES_H
#define SONDE_REPORT_RULE_VALUES_H

#include <sonde/status.h>

#include "report_model.h"

/* By rule; each argument's values by number of calls, descending, then its calls with other values
 * (value 0). Of one argument of a rule, at most SONDE__REPORT_ARGUMENTS_MAX. */
struct sonde__report_values {
    struct sonde__report_value {
        uint32_t rule; /* id */
        struct sonde__report_argument argument;
    } * list;
    uint32_t count;
};

/* Returns OK | MEMORY. Ownership: sonde__report_values_done(). */
SONDE_NODISCARD enum sonde_status sonde__report_sum_values(const struct sonde__report *report,
                                                           struct sonde__report_values *ret_values);
void sonde__report_values_done(struct sonde__report_values *values);

/* Copy those of one rule, at most `capacity`. Returns how many. */
uint32_t sonde__report_values_of(const struct sonde__report_values *values, uint32_t rule,
                                 struct sonde__report_argument *ret_arguments, uint32_t capacity);
/* All words of a rule fit into this. */
enum { SONDE__REPORT_RULE_VALUES = 4 * SONDE__REPORT_ARGUMENTS_MAX };

#endif
