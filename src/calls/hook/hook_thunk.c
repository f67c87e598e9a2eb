// SPDX-License-Identifier: Apache-2.0
#include "hook_thunk.h"

#include "hook.h"
#include "probe_hook.h"

static _Atomic uint32_t used;
static uint32_t end = SONDE__PROBE_HOOKS;

void sonde__hook_reserve(uint32_t front, uint32_t back)
{
    atomic_store(&used, front);
    end = SONDE__PROBE_HOOKS - back;
}

uint64_t sonde__hook_thunk_of(uint64_t target, uint32_t function)
{
    uint32_t count = atomic_load(&used);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__probe_hook *hook = &sonde__probe_hooks[i];
        if (atomic_load(&hook->target) == target && hook->function == function) {
            atomic_store(&hook->on, 1);
            return sonde__probe_hook_thunk(i);
        }
    }
    do {
        if (count == end) {
            return 0;
        }
    } while (!atomic_compare_exchange_weak(&used, &count, count + 1));
    struct sonde__probe_hook *hook = &sonde__probe_hooks[count];
    hook->function = function; /* before the target, by which others find it */
    atomic_store(&hook->target, target);
    atomic_store(&hook->on, 1);
    return sonde__probe_hook_thunk(count);
}

void sonde__hook_thunks_off(void)
{
    uint32_t count = atomic_load(&used);
    for (uint32_t i = 0; i < count; i++) {
        atomic_store(&sonde__probe_hooks[i].on, 0);
    }
}
