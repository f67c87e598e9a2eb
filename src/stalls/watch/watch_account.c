// SPDX-License-Identifier: Apache-2.0
#include "watch_account.h"

#include "base_math.h"

void sonde__watch_account_begin(struct sonde__watch_account *account)
{
    account->turn_cpu_ns = account->turn_runqueue_ns = 0;
}

uint64_t sonde__watch_account_look(struct sonde__watch_account *a, uint64_t since_ns,
                                   uint64_t until_ns, uint64_t now_ns, uint64_t cpu_ns,
                                   uint64_t runqueue_ns)
{
    uint64_t from_ns = a->at_ns > since_ns ? a->at_ns : since_ns;
    uint64_t inside_ns = sonde__base_minus(until_ns, from_ns);
    uint64_t cpu = sonde__base_minus(cpu_ns, a->cpu_ns),
             runqueue = sonde__base_minus(runqueue_ns, a->runqueue_ns);
    uint64_t ran = a->at_ns != 0 ? cpu + runqueue : 0;
    a->turn_cpu_ns += sonde__base_min(cpu, inside_ns);
    a->turn_runqueue_ns += sonde__base_min(runqueue, inside_ns);
    a->at_ns = now_ns;
    a->cpu_ns = cpu_ns;
    a->runqueue_ns = runqueue_ns;
    return ran;
}
