// SPDX-License-Identifier: Apache-2.0
#include "registry_hooked.h"

static const struct sonde__registry_calls *_Atomic hooked;

void sonde__registry_set_hooked(const struct sonde__registry_calls *calls)
{
    atomic_store_explicit(&hooked, calls, memory_order_release);
}

uint64_t sonde__registry_hooked(const struct sonde__probe_hook *hook,
                                const struct sonde__regs *regs)
{
    const struct sonde__registry_calls *calls = atomic_load_explicit(&hooked, memory_order_acquire);
    return calls != NULL ? sonde__registry_call(calls, hook, regs)
                         : atomic_load_explicit(&hook->target, memory_order_relaxed);
}
