// SPDX-License-Identifier: Apache-2.0
#include "record_hooked.h"

static struct sonde__record *_Atomic hooked;

void sonde__record_set_hooked(struct sonde__record *record)
{
    atomic_store_explicit(&hooked, record, memory_order_release);
}

uint64_t sonde__record_hooked(const struct sonde__probe_hook *hook, const struct sonde__regs *regs)
{
    struct sonde__record *record = atomic_load_explicit(&hooked, memory_order_acquire);
    if (record != NULL) {
        (void)sonde__record_call(record, hook->function, sonde__record_stack(record, regs, 0));
    }
    return atomic_load_explicit(&hook->target, memory_order_relaxed);
}
