// SPDX-License-Identifier: Apache-2.0
#include "watch_budget.h"

#define RESERVE  ((int64_t)SONDE__WATCH_BUDGET_RESERVE)
#define OVER_MAX (2 * RESERVE)

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
    budget->left_ns = budget->left_ns > -OVER_MAX ? budget->left_ns : -OVER_MAX;
    budget->now_ns += passed;
    return budget->left_ns > RESERVE / 2 ? SONDE__WATCH_RICH
           : budget->left_ns > 0         ? SONDE__WATCH_FAIR
                                         : SONDE__WATCH_POOR;
}

uint32_t sonde__watch_budget_spread(const struct sonde__watch_budget *budget)
{
    int64_t over_ns = budget->left_ns < 0 ? -budget->left_ns : 0;
    int64_t some = SONDE__WATCH_SPREAD_SOME - SONDE__WATCH_SPREAD_NONE;
    int64_t more = SONDE__WATCH_SPREAD_MAX - SONDE__WATCH_SPREAD_SOME;
    int64_t spread = over_ns <= RESERVE
                         ? SONDE__WATCH_SPREAD_NONE + some * over_ns / RESERVE
                         : SONDE__WATCH_SPREAD_SOME + more * (over_ns - RESERVE) / RESERVE;
    return (uint32_t)spread;
}
