// SPDX-License-Identifier: Apache-2.0
#include "hook_thunk.h"

#include "probe_hook.h"

static _Atomic uint32_t used;
static uint64_t resolvers[SONDE__PROBE_HOOKS]; /* of ifuncs, as they were */

bool sonde__hook_thunk_of(uint64_t target, uint32_t function, uint32_t *ret_index)
{
    uint32_t count = atomic_load(&used);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__probe_hook *hook = &sonde__probe_hooks[i];
        if (atomic_load(&hook->target) == target && hook->function == function) {
            atomic_store(&hook->on, 1);
            *ret_index = i;
            return true;
        }
    }
    do {
        if (count == SONDE__PROBE_HOOKS) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&used, &count, count + 1));
    struct sonde__probe_hook *hook = &sonde__probe_hooks[count];
    hook->function = function; /* before the target, by which others find it */
    atomic_store(&hook->target, target);
    atomic_store(&hook->on, 1);
    *ret_index = count;
    return true;
}

void sonde__hook_keep_resolver(uint32_t index, uint64_t resolver)
{
    resolvers[index] = resolver;
}

uint64_t sonde__hook_kept_resolver(uint32_t index)
{
    return resolvers[index];
}

void sonde__hook_switch(uint32_t function, bool is_on)
{
    uint32_t count = atomic_load(&used);
    for (uint32_t i = 0; i < count; i++) {
        if (function == SONDE__HOOK_ALL || sonde__probe_hooks[i].function == function) {
            atomic_store(&sonde__probe_hooks[i].on, is_on);
        }
    }
}
