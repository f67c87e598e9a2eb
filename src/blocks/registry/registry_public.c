// SPDX-License-Identifier: Apache-2.0
/* The public functions of sonde/block_registry.h that may be called in a handler. A public registry
 * begins with its struct of calls (api_block_registry.c). */
#include <sonde/block_registry.h>

#include "base_sized.h"
#include "registry_call.h"

static const struct sonde__registry *table_of(const struct sonde_block_registry *registry)
{
    return &((const struct sonde__registry_calls *)(const void *)registry)->registry;
}

static struct sonde_block_made made_of(const struct sonde__registry_block *block)
{
    return (struct sonde_block_made){
        .struct_bytes = sizeof(struct sonde_block_made),
        .address = block->address,
        .invoke = block->invoke,
        .time_ns = block->time_ns,
        .stack = block->stack,
        .tid = block->tid,
        .size_bytes = block->size_bytes,
    };
}

enum sonde_status sonde_block_registry_find(const struct sonde_block_registry *registry,
                                            uint64_t address, struct sonde_block_made *ret_made)
{
    struct sonde__registry_block block;
    if (registry == NULL || !sonde__base_sized_is_set(ret_made)) {
        return SONDE_USAGE;
    }
    if (!sonde__registry_find(table_of(registry), address, &block)) {
        return SONDE_ABSENT;
    }
    const struct sonde_block_made made = made_of(&block);
    sonde__base_sized_give(ret_made, &made, sizeof made);
    return SONDE_OK;
}

enum sonde_status
sonde_block_registry_each(const struct sonde_block_registry *registry,
                          int (*each)(void *ctx, const struct sonde_block_made *made), void *ctx)
{
    struct sonde__registry_block block;
    if (registry == NULL || each == NULL) {
        return SONDE_USAGE;
    }
    const struct sonde__registry *table = table_of(registry);
    for (uint32_t i = 0; i < sonde__registry_places(table); i++) {
        if (sonde__registry_get(table, i, &block)) {
            const struct sonde_block_made made = made_of(&block);
            if (each(ctx, &made) != 0) {
                break;
            }
        }
    }
    return SONDE_OK;
}

enum sonde_status sonde_block_registry_stat(const struct sonde_block_registry *registry,
                                            struct sonde_block_registry_stat *ret_stat)
{
    if (registry == NULL || !sonde__base_sized_is_set(ret_stat)) {
        return SONDE_USAGE;
    }
    const struct sonde__registry_total total = sonde__registry_total(table_of(registry));
    const struct sonde_block_registry_stat stat = {
        .made = total.made,
        .ended = total.ended,
        .dropped = total.dropped,
        .unseen = total.unseen + total.replaced,
        .unknown = total.unknown,
    };
    sonde__base_sized_give(ret_stat, &stat, sizeof stat);
    return SONDE_OK;
}
