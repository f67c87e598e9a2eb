// SPDX-License-Identifier: Apache-2.0
/* Groups live blocks by function and stack. Context: handler; the caller provides the memory. */
#ifndef SONDE_REGISTRY_GROUP_H
#define SONDE_REGISTRY_GROUP_H

#include "registry.h"

struct sonde__registry_group {
    uint64_t invoke;
    uint64_t tid;   /* 0: several threads */
    uint32_t stack; /* id in the depot */
    uint64_t count, size_bytes;
    uint64_t oldest_ns, newest_ns;
};

struct sonde__registry_group sonde__registry_group_of(const struct sonde__registry_block *block);

/* The order of groups: by stack, then by function. */
int sonde__registry_group_order(const struct sonde__registry_group *a,
                                const struct sonde__registry_group *b);

/* Sort the groups and merge those with equal stack and function. Returns their number. */
uint32_t sonde__registry_unite(struct sonde__registry_group *groups, uint32_t count);

/* Number of live blocks, which may change before they are read. */
uint32_t sonde__registry_count(const struct sonde__registry *registry);

/* Sorted groups of all live blocks.
 * most: room for blocks; more are left out.
 * ret_blocks: number of blocks read. */
uint32_t sonde__registry_groups(const struct sonde__registry *registry,
                                struct sonde__registry_group *groups, uint32_t most,
                                uint32_t *ret_blocks);

#endif
