// SPDX-License-Identifier: Apache-2.0
/* The budget for sampling: three quarters of 1 % of a core, with a reserve for bursts. A pure
 * function of time.
 *
 * The reserve pays for some seconds of sampling at full rate. A single stall is sampled densely
 * from its begin; a program whose turns are all long costs less than 1 %. Context: any thread. */
#ifndef SONDE_DECIDE_BUDGET_H
#define SONDE_DECIDE_BUDGET_H

#include <stdint.h>

#include "decide.h"

#define SONDE__DECIDE_BUDGET_PART    133u      /* 0.75 % of the time: the reserve comes on top */
#define SONDE__DECIDE_BUDGET_RESERVE 22500000u /* ns of CPU time: 3 s worth of it */

struct sonde__decide_budget {
    uint64_t now_ns;
    int64_t left_ns; /* of the reserve; negative: overspent, by at most two reserves */
};

void sonde__decide_budget_init(struct sonde__decide_budget *budget, uint64_t now_ns);
/* spent_ns: CPU time since the last call. Returns how often samples may be taken now. */
enum sonde__decide_means sonde__decide_budget_spend(struct sonde__decide_budget *budget,
                                                    uint64_t now_ns, uint64_t spent_ns);
/* How far apart samples must be to pay what is overspent: SONDE__DECIDE_SPREAD_NONE to _MAX. What
 * samples cost depends on the machine and the program, so it is not known before. */
uint32_t sonde__decide_budget_spread(const struct sonde__decide_budget *budget);

#endif
