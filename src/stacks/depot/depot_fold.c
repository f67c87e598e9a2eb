// SPDX-License-Identifier: Apache-2.0
#include "depot_layout.h"

enum { AT_ONCE = 64 }; /* nodes of a path, on the stack of a handler */

static uint32_t folded_of(const struct sonde__depot *depot, uint32_t id)
{
    return id < SONDE__DEPOT_FIRST ? (uint32_t)SONDE__DEPOT_FOLDED
                                   : __atomic_load_n(&depot->nodes[id].folded, __ATOMIC_RELAXED);
}

static uint32_t fold_one(struct sonde__depot *depot, uint32_t id, sonde__depot_is_kept *is_kept,
                         void *ctx)
{
    struct sonde__depot_node *node = &depot->nodes[id];
    uint64_t frame = __atomic_load_n(&node->frame, __ATOMIC_RELAXED);
    uint32_t folded = folded_of(depot, node->caller);
    bool is_frame = (frame & (SONDE__DEPOT_LABEL | SONDE__DEPOT_GAP)) == 0;
    uint64_t call = (frame & SONDE__DEPOT_PC) - ((frame & SONDE__DEPOT_EXACT) == 0);
    if ((frame & SONDE__DEPOT_LABEL) != 0 || (is_frame && is_kept(ctx, call))) {
        folded = sonde__depot_child(depot, folded, frame & ~SONDE__DEPOT_CLOSED);
    }
    __atomic_store_n(&node->folded, folded, __ATOMIC_RELAXED);
    return folded;
}

uint32_t sonde__depot_fold(struct sonde__depot *depot, uint32_t id, sonde__depot_is_kept *is_kept,
                           void *ctx)
{
    uint64_t frame;
    uint32_t caller;
    if (id == SONDE__DEPOT_NONE ||
        (id >= SONDE__DEPOT_FIRST && !sonde__depot_node(depot, id, &frame, &caller))) {
        return SONDE__DEPOT_NONE;
    }
    while (folded_of(depot, id) == SONDE__DEPOT_NONE) {
        /* the outermost nodes that were not asked for, so many at once */
        uint32_t path[AT_ONCE], count = 0;
        for (uint32_t at = id; folded_of(depot, at) == SONDE__DEPOT_NONE;
             at = depot->nodes[at].caller) {
            path[count++ % AT_ONCE] = at;
        }
        for (uint32_t i = 0; i < AT_ONCE && i < count; i++) {
            if (fold_one(depot, path[(count - 1 - i) % AT_ONCE], is_kept, ctx) ==
                SONDE__DEPOT_NONE) {
                return SONDE__DEPOT_NONE;
            }
        }
    }
    return folded_of(depot, id);
}
