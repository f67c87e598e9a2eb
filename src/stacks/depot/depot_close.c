// SPDX-License-Identifier: Apache-2.0
#include "depot_layout.h"

bool sonde__depot_is_closed(const struct sonde__depot *depot, uint32_t id)
{
    return id >= SONDE__DEPOT_FIRST && id < depot->capacity &&
           (__atomic_load_n(&depot->nodes[id].frame, __ATOMIC_RELAXED) & SONDE__DEPOT_CLOSED) != 0;
}

/* A return address may be the first address behind its code. */
static bool is_kept_frame(uint64_t frame, sonde__depot_is_kept *is_kept, void *ctx)
{
    uint64_t pc = (frame & SONDE__DEPOT_PC) - ((frame & SONDE__DEPOT_EXACT) == 0);
    return (frame & (SONDE__DEPOT_LABEL | SONDE__DEPOT_GAP | SONDE__DEPOT_SCRIPT)) != 0 ||
           is_kept(ctx, pc);
}

static uint32_t close_nodes(struct sonde__depot *depot, uint32_t from, uint32_t to,
                            sonde__depot_is_kept *is_kept, void *ctx)
{
    uint32_t count = 0;
    for (uint32_t id = from; id < to; id++) {
        struct sonde__depot_node *node = &depot->nodes[id];
        uint32_t caller = __atomic_load_n(&node->caller, __ATOMIC_RELAXED);
        uint64_t frame = __atomic_load_n(&node->frame, __ATOMIC_RELAXED);
        if (caller == SONDE__DEPOT_NONE) {
            continue; /* unused, or being written */
        }
        if ((frame & SONDE__DEPOT_CLOSED) == 0 &&
            (sonde__depot_is_closed(depot, caller) || !is_kept_frame(frame, is_kept, ctx))) {
            /* fails if the node is being written for another frame, which is newer */
            count += __atomic_compare_exchange_n(&node->frame, &frame, frame | SONDE__DEPOT_CLOSED,
                                                 false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        }
    }
    return count;
}

/* One pass suffices: a caller's node is before what it calls, and labels' nodes come last. */
uint32_t sonde__depot_close_others(struct sonde__depot *depot, sonde__depot_is_kept *is_kept,
                                   void *ctx)
{
    struct sonde__depot_taken taken = sonde__depot_taken(depot);
    uint32_t count =
        close_nodes(depot, SONDE__DEPOT_FIRST, taken.next, is_kept, ctx) +
        close_nodes(depot, depot->capacity - taken.labels, depot->capacity, is_kept, ctx);
    SONDE__DEPOT_ADD(depot, closed, count);
    return count;
}

struct range {
    uint64_t start, end;
};

static bool is_outside(void *ctx, uint64_t pc)
{
    const struct range *range = ctx;
    return pc < range->start || pc >= range->end;
}

uint32_t sonde__depot_close(struct sonde__depot *depot, uint64_t start, uint64_t end)
{
    struct range range = {start, end};
    return sonde__depot_close_others(depot, is_outside, &range);
}
