// SPDX-License-Identifier: Apache-2.0
#include "decide_budget.h"

#define RESERVE  ((int64_t)SONDE__DECIDE_BUDGET_RESERVE)
#define OVER_MAX (2 * RESERVE)

void sonde__decide_budget_init(struct sonde__decide_budget *budget, uint64_t now_ns)
{
    *budget = (struct sonde__decide_budget){.now_ns = now_ns, .left_ns = RESERVE};
}

enum sonde__decide_means sonde__decide_budget_spend(struct sonde__decide_budget *budget,
                                                    uint64_t now_ns, uint64_t spent_ns)
{
    uint64_t passed = now_ns > budget->now_ns ? now_ns - budget->now_ns : 0;
    uint64_t earned = passed / SONDE__DECIDE_BUDGET_PART;
    budget->left_ns += earned < SONDE__DECIDE_BUDGET_RESERVE ? (int64_t)earned : RESERVE;
    budget->left_ns = budget->left_ns < RESERVE ? budget->left_ns : RESERVE;
    budget->left_ns -= spent_ns < SONDE__DECIDE_BUDGET_RESERVE ? (int64_t)spent_ns : RESERVE;
    budget->left_ns = budget->left_ns > -OVER_MAX ? budget->left_ns : -OVER_MAX;
    budget->now_ns += passed;
    return budget->left_ns > RESERVE / 2 ? SONDE__DECIDE_RICH
           : budget->left_ns > 0         ? SONDE__DECIDE_FAIR
                                         : SONDE__DECIDE_POOR;
}

uint32_t sonde__decide_budget_spread(const struct sonde__decide_budget *budget)
{
    int64_t over_ns = budget->left_ns < 0 ? -budget->left_ns : 0;
    int64_t some = SONDE__DECIDE_SPREAD_SOME - SONDE__DECIDE_SPREAD_NONE;
    int64_t more = SONDE__DECIDE_SPREAD_MAX - SONDE__DECIDE_SPREAD_SOME;
    int64_t spread = over_ns <= RESERVE
                         ? SONDE__DECIDE_SPREAD_NONE + some * over_ns / RESERVE
                         : SONDE__DECIDE_SPREAD_SOME + more * (over_ns - RESERVE) / RESERVE;
    return (uint32_t)spread;
}
