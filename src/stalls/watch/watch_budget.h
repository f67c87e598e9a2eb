// SPDX-License-Identifier: Apache-2.0
/* What sampling may cost: 1 % of a core, with a reserve for bursts. A pure function of time.
 *
 * The reserve pays for some seconds of sampling at full rate, so a single stall is sampled densely
 * from its begin, while a program whose every turn is long costs no more than the 1 %. Context: any
 * thread. */
#ifndef SONDE_WATCH_BUDGET_H
#define SONDE_WATCH_BUDGET_H

#include <stdint.h>

#include "watch_decide.h"

#define SONDE__WATCH_BUDGET_PART    100u      /* one part in so many of the time */
#define SONDE__WATCH_BUDGET_RESERVE 30000000u /* ns of CPU time: 3 s worth of it */

struct sonde__watch_budget {
    uint64_t now_ns;
    int64_t left_ns; /* of the reserve; less than 0: overspent */
};

void sonde__watch_budget_init(struct sonde__watch_budget *budget, uint64_t now_ns);
/* spent_ns: CPU time since the last call. Returns what may be done now. */
enum sonde__watch_means sonde__watch_budget_spend(struct sonde__watch_budget *budget,
                                                  uint64_t now_ns, uint64_t spent_ns);

#endif
