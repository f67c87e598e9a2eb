// SPDX-License-Identifier: Apache-2.0
#include "decide_account.h"

#include "base_math.h"

void sonde__decide_account_begin(struct sonde__decide_account *account)
{
    account->turn_cpu_ns = account->turn_runqueue_ns = account->open_ns = 0;
}

uint64_t sonde__decide_account_look(struct sonde__decide_account *a, uint64_t since_ns,
                                    uint64_t until_ns, const struct sonde__decide_reading *reading)
{
    uint64_t from_ns = a->at_ns > since_ns ? a->at_ns : since_ns;
    uint64_t inside_ns = sonde__base_minus(until_ns, from_ns);
    uint64_t cpu = sonde__base_minus(reading->cpu_ns, a->cpu_ns),
             runqueue = sonde__base_minus(reading->runqueue_ns, a->runqueue_ns);
    uint64_t ran = a->at_ns != 0 ? cpu + runqueue : 0;
    uint64_t room_ns = inside_ns + a->open_ns;
    cpu = sonde__base_min(cpu, room_ns);
    runqueue = sonde__base_min(runqueue, room_ns - cpu);
    a->turn_cpu_ns += cpu;
    a->turn_runqueue_ns += runqueue;
    a->open_ns = reading->ready ? room_ns - cpu - runqueue : 0;
    a->at_ns = reading->now_ns;
    a->cpu_ns = reading->cpu_ns;
    a->runqueue_ns = reading->runqueue_ns;
    return ran;
}

struct sonde__decide_spent sonde__decide_account_since(const struct sonde__decide_account *a,
                                                       const struct sonde__decide_account *before,
                                                       uint64_t since_ns)
{
    struct sonde__decide_spent spent = {0};
    if (before->at_ns != 0) {
        bool began = since_ns >= before->at_ns;
        spent.cpu_ns = sonde__base_minus(a->cpu_ns, before->cpu_ns);
        spent.runqueue_ns = sonde__base_minus(a->runqueue_ns, before->runqueue_ns);
        spent.cpu_ns = sonde__base_minus(spent.cpu_ns, began ? a->turn_cpu_ns : 0);
        spent.runqueue_ns = sonde__base_minus(spent.runqueue_ns, began ? a->turn_runqueue_ns : 0);
    }
    return spent;
}

struct sonde__decide_spent sonde__decide_account_take(struct sonde__decide_spent *spent,
                                                      uint64_t length_ns)
{
    struct sonde__decide_spent taken;
    taken.cpu_ns = sonde__base_min(spent->cpu_ns, length_ns);
    taken.runqueue_ns = sonde__base_min(spent->runqueue_ns, length_ns - taken.cpu_ns);
    spent->cpu_ns -= taken.cpu_ns;
    spent->runqueue_ns -= taken.runqueue_ns;
    return taken;
}
