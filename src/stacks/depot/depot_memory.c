// SPDX-License-Identifier: Apache-2.0
#include "depot_layout.h"

enum { LINE = 64 };

static uint64_t round_up(uint64_t size)
{
    return (size + LINE - 1) & ~(uint64_t)(LINE - 1);
}

/* The number of tables for so many nodes; the last one is at most three quarters full. */
static uint32_t level_count(uint32_t nodes)
{
    uint32_t count = 1;
    while (count < SONDE__DEPOT_LEVELS && sonde__depot_limit(count - 1) < nodes) {
        count++;
    }
    return count;
}

uint64_t sonde__depot_size(uint32_t nodes)
{
    uint64_t size = round_up(sizeof(struct sonde__depot));
    for (uint32_t level = 0; level < level_count(nodes); level++) {
        size += round_up((uint64_t)sonde__depot_slot_count(level) * sizeof(uint32_t));
    }
    return size + ((uint64_t)nodes + SONDE__DEPOT_FIRST) * sizeof(struct sonde__depot_node);
}

/* Set the addresses of the parts of a depot at `memory`. */
static void lay_out(struct sonde__depot *depot, void *memory, uint32_t nodes)
{
    uint8_t *at = (uint8_t *)memory + round_up(sizeof *depot);
    uint32_t room = SONDE__DEPOT_NODES_MAX - SONDE__DEPOT_FIRST;
    depot->level_count = level_count(nodes);
    for (uint32_t level = 0; level < depot->level_count; level++) {
        depot->slots[level] = (uint32_t *)(void *)at;
        at += round_up((uint64_t)sonde__depot_slot_count(level) * sizeof(uint32_t));
    }
    depot->nodes = (struct sonde__depot_node *)(void *)at;
    depot->capacity = SONDE__DEPOT_FIRST + (nodes < room ? nodes : room);
}

struct sonde__depot *sonde__depot_init(void *memory, uint32_t nodes)
{
    struct sonde__depot *depot = memory;
    lay_out(depot, memory, nodes);
    depot->taken = SONDE__DEPOT_FIRST;
    depot->depth_max = UINT32_MAX;
    return depot;
}

struct sonde__depot *sonde__depot_share(void *header, void *memory, uint32_t nodes)
{
    struct sonde__depot *depot = header;
    lay_out(depot, memory, nodes);
    depot->taken = SONDE__DEPOT_FIRST;
    depot->depth_max = UINT32_MAX;
    depot->shown = memory;
    depot->shown->taken = SONDE__DEPOT_FIRST;
    return depot;
}

uint64_t sonde__depot_header_size(void)
{
    return sizeof(struct sonde__depot);
}

const struct sonde__depot *sonde__depot_view(void *header, const void *memory, uint32_t nodes)
{
    struct sonde__depot *view = header;
    const struct sonde__depot *depot = memory;
    struct sonde__depot_taken taken = sonde__depot_taken(depot);
    lay_out(view, (void *)(uintptr_t)memory, nodes); /* a view is never written */
    taken.next = taken.next < view->capacity ? taken.next : view->capacity;
    taken.labels =
        taken.labels < view->capacity - taken.next ? taken.labels : view->capacity - taken.next;
    view->depth_max = SONDE__DEPOT_VIEW_DEPTH;
    view->taken = (uint64_t)taken.labels << 32 | taken.next;
    view->level = __atomic_load_n(&depot->level, __ATOMIC_RELAXED);
    view->level = view->level < view->level_count ? view->level : view->level_count - 1;
    view->closed = __atomic_load_n(&depot->closed, __ATOMIC_RELAXED);
    view->wasted = __atomic_load_n(&depot->wasted, __ATOMIC_RELAXED);
    view->dropped = __atomic_load_n(&depot->dropped, __ATOMIC_RELAXED);
    return view;
}

uint32_t sonde__depot_next(const struct sonde__depot *depot)
{
    return sonde__depot_taken(depot).next;
}

uint32_t sonde__depot_part(struct sonde__depot *depot)
{
    uint32_t next = sonde__depot_next(depot);
    __atomic_store_n(&depot->spares_from, next, __ATOMIC_RELEASE);
    return next;
}

struct sonde__depot_stat sonde__depot_stat(const struct sonde__depot *depot)
{
    struct sonde__depot_taken taken = sonde__depot_taken(depot);
    uint32_t nodes = taken.next - SONDE__DEPOT_FIRST + taken.labels;
    uint32_t level = __atomic_load_n(&depot->level, __ATOMIC_RELAXED);
    struct sonde__depot_stat stat = {
        .closed = __atomic_load_n(&depot->closed, __ATOMIC_RELAXED),
        .wasted = __atomic_load_n(&depot->wasted, __ATOMIC_RELAXED),
        .dropped = __atomic_load_n(&depot->dropped, __ATOMIC_RELAXED),
    };
    stat.nodes = nodes - stat.wasted;
    stat.labels = taken.labels;
    stat.bytes = sizeof *depot + (uint64_t)nodes * sizeof *depot->nodes;
    for (uint32_t i = 0; i <= level; i++) {
        stat.bytes += (uint64_t)sonde__depot_slot_count(i) * sizeof(uint32_t);
    }
    return stat;
}
