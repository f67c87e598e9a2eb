// SPDX-License-Identifier: Apache-2.0
#include "watch_budget.h"

#define RESERVE ((int64_t)SONDE__WATCH_BUDGET_RESERVE)

void sonde__watch_budget_init(struct sonde__watch_budget *budget, uint64_t now_ns)
{
    *budget = (struct sonde__watch_budget){.now_ns = now_ns, .left_ns = RESERVE};
}

enum sonde__watch_means sonde__watch_budget_spend(struct sonde__watch_budget *budget,
                                                  uint64_t now_ns, uint64_t spent_ns)
{
    uint64_t passed = now_ns > budget->now_ns ? now_ns - budget->now_ns : 0;
    uint64_t earned = passed / SONDE__WATCH_BUDGET_PART;
    budget->left_ns += earned < SONDE__WATCH_BUDGET_RESERVE ? (int64_t)earned : RESERVE;
    budget->left_ns = budget->left_ns < RESERVE ? budget->left_ns : RESERVE;
    budget->left_ns -= spent_ns < SONDE__WATCH_BUDGET_RESERVE ? (int64_t)spent_ns : RESERVE;
    budget->left_ns = budget->left_ns > -RESERVE ? budget->left_ns : -RESERVE;
    budget->now_ns += passed;
    return budget->left_ns > RESERVE / 2 ? SONDE__WATCH_RICH
           : budget->left_ns > 0         ? SONDE__WATCH_FAIR
                                         : SONDE__WATCH_POOR;
}

uint32_t sonde__watch_budget_spread(const struct sonde__watch_budget *budget)
{
    int64_t over_ns = budget->left_ns < 0 ? -budget->left_ns : 0;
    int64_t range = SONDE__WATCH_SPREAD_MAX - SONDE__WATCH_SPREAD_NONE;
    return SONDE__WATCH_SPREAD_NONE + (uint32_t)(range * over_ns / RESERVE);
}
