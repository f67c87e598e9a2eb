// SPDX-License-Identifier: Apache-2.0
#include "registry_group.h"

#include <stddef.h>

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

struct sonde__registry_group sonde__registry_group_of(const struct sonde__registry_block *block)
{
    return (struct sonde__registry_group){
        .stack = block->stack,
        .tid = block->tid,
        .invoke = block->invoke,
        .count = 1,
        .size_bytes = block->size_bytes,
        .oldest_ns = block->time_ns,
        .newest_ns = block->time_ns,
    };
}

int sonde__registry_group_order(const struct sonde__registry_group *a,
                                const struct sonde__registry_group *b)
{
    int order = ORDER(a->stack, b->stack);
    return order != 0 ? order : ORDER(a->invoke, b->invoke);
}

/* Restore the heap at groups[root], whose subtrees are heaps. */
static void sift(struct sonde__registry_group *groups, uint32_t root, uint32_t count)
{
    struct sonde__registry_group group = groups[root];
    for (uint64_t child = 2 * (uint64_t)root + 1; child < count; child = 2 * child + 1) {
        if (child + 1 < count &&
            sonde__registry_group_order(&groups[child], &groups[child + 1]) < 0) {
            child++;
        }
        if (sonde__registry_group_order(&group, &groups[child]) >= 0) {
            break;
        }
        groups[root] = groups[child];
        root = (uint32_t)child;
    }
    groups[root] = group;
}

/* Heapsort: in place, and fast on any input. */
static void sort(struct sonde__registry_group *groups, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;) {
        sift(groups, i, count);
    }
    for (uint32_t end = count; end-- > 1;) {
        struct sonde__registry_group largest = groups[0];
        groups[0] = groups[end];
        groups[end] = largest;
        sift(groups, 0, end);
    }
}

uint32_t sonde__registry_unite(struct sonde__registry_group *groups, uint32_t count)
{
    uint32_t kept = 0;
    sort(groups, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__registry_group *last = kept > 0 ? &groups[kept - 1] : NULL;
        const struct sonde__registry_group *next = &groups[i];
        if (last == NULL || sonde__registry_group_order(last, next) != 0) {
            groups[kept++] = *next;
            continue;
        }
        last->count += next->count;
        last->size_bytes += next->size_bytes;
        last->tid = last->tid == next->tid ? last->tid : 0;
        last->oldest_ns = next->oldest_ns < last->oldest_ns ? next->oldest_ns : last->oldest_ns;
        last->newest_ns = next->newest_ns > last->newest_ns ? next->newest_ns : last->newest_ns;
    }
    return kept;
}

uint32_t sonde__registry_count(const struct sonde__registry *registry)
{
    struct sonde__registry_block block;
    uint32_t live = 0;
    for (uint32_t i = 0; i < sonde__registry_places(registry); i++) {
        live += sonde__registry_get(registry, i, &block);
    }
    return live;
}

uint32_t sonde__registry_groups(const struct sonde__registry *registry,
                                struct sonde__registry_group *groups, uint32_t most,
                                uint32_t *ret_blocks)
{
    struct sonde__registry_block block;
    uint32_t count = 0;
    for (uint32_t i = 0; i < sonde__registry_places(registry) && count < most; i++) {
        if (sonde__registry_get(registry, i, &block)) {
            groups[count++] = sonde__registry_group_of(&block);
        }
    }
    *ret_blocks = count;
    return sonde__registry_unite(groups, count);
}
