// SPDX-License-Identifier: Apache-2.0
/* Where the thunks are, by their place in the tables of probe_thunks.S. Separate from
 * probe_hook.c, whose functions the assembler calls. */
#include <stddef.h>

#include "probe_hook.h"

#define THUNK_BYTES 16u

extern const uint8_t sonde__probe_thunks[(size_t)SONDE__PROBE_HOOKS * THUNK_BYTES]
    __attribute__((visibility("hidden")));
extern const uint8_t sonde__probe_resolvers[(size_t)SONDE__PROBE_HOOKS * THUNK_BYTES]
    __attribute__((visibility("hidden")));

uint64_t sonde__probe_hook_thunk(uint32_t index)
{
    return (uint64_t)(uintptr_t)sonde__probe_thunks + (uint64_t)index * THUNK_BYTES;
}

static bool index_in(const uint8_t *table, uint64_t address, uint32_t *ret_index)
{
    uint64_t offset = address - (uint64_t)(uintptr_t)table;
    if (offset >= (uint64_t)SONDE__PROBE_HOOKS * THUNK_BYTES || offset % THUNK_BYTES != 0) {
        return false;
    }
    *ret_index = (uint32_t)(offset / THUNK_BYTES);
    return true;
}

bool sonde__probe_hook_index(uint64_t address, uint32_t *ret_index)
{
    return index_in(sonde__probe_thunks, address, ret_index);
}

uint64_t sonde__probe_hook_resolver(uint32_t index)
{
    return (uint64_t)(uintptr_t)sonde__probe_resolvers + (uint64_t)index * THUNK_BYTES;
}

bool sonde__probe_hook_resolver_index(uint64_t address, uint32_t *ret_index)
{
    return index_in(sonde__probe_resolvers, address, ret_index);
}
