// SPDX-License-Identifier: Apache-2.0
/* What of a file of rules can be evaluated: the rules as an audit takes them. */
#ifndef SONDE_RULES_PLAN_H
#define SONDE_RULES_PLAN_H

#include <sonde/status.h>

#include "audit_rules.h"
#include "rules.h"

struct sonde__rules_plan {
    struct sonde__audit_rules audit;
    struct sonde__arena memory;
};

/* A key that cannot be evaluated is an error of its place, never left out: print is called for
 * each. The rules must live as long as the plan. Returns OK | UNSUPPORTED (it was printed) | ABSENT
 * (no rule; not printed) | MEMORY. Ownership: sonde__rules_plan_done(), in either case. */
SONDE_NODISCARD enum sonde_status sonde__rules_plan(struct sonde__rules *rules,
                                                    struct sonde__rules_plan *ret_plan);
void sonde__rules_plan_done(struct sonde__rules_plan *plan);

#endif
