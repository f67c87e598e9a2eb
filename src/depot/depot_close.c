// SPDX-License-Identifier: Apache-2.0
#include "depot_layout.h"

bool sonde__depot_is_closed(const struct sonde__depot *depot, uint32_t id)
{
    return id >= SONDE__DEPOT_FIRST &&
           (__atomic_load_n(&depot->nodes[id].frame, __ATOMIC_RELAXED) & SONDE__DEPOT_CLOSED) != 0;
}

/* Is the code of this frame in the range? A return address may be the first address behind it. */
static bool is_in(uint64_t frame, uint64_t start, uint64_t end)
{
    uint64_t pc = (frame & SONDE__DEPOT_PC) - ((frame & SONDE__DEPOT_EXACT) == 0);
    return (frame & (SONDE__DEPOT_LABEL | SONDE__DEPOT_GAP)) == 0 && pc >= start && pc < end;
}

static uint32_t close_nodes(struct sonde__depot *depot, uint32_t from, uint32_t to, uint64_t start,
                            uint64_t end)
{
    uint32_t count = 0;
    for (uint32_t id = from; id < to; id++) {
        struct sonde__depot_node *node = &depot->nodes[id];
        uint64_t frame = __atomic_load_n(&node->frame, __ATOMIC_RELAXED);
        if ((frame & SONDE__DEPOT_CLOSED) == 0 &&
            (is_in(frame, start, end) ||
             sonde__depot_is_closed(depot, __atomic_load_n(&node->caller, __ATOMIC_RELAXED)))) {
            __atomic_store_n(&node->frame, frame | SONDE__DEPOT_CLOSED, __ATOMIC_RELAXED);
            count++;
        }
    }
    return count;
}

/* One pass: the node of a caller stands in front of what it calls, and those of labels behind all.
 */
uint32_t sonde__depot_close(struct sonde__depot *depot, uint64_t start, uint64_t end)
{
    struct sonde__depot_taken taken = sonde__depot_taken(depot);
    uint32_t count =
        close_nodes(depot, SONDE__DEPOT_FIRST, taken.next, start, end) +
        close_nodes(depot, depot->capacity - taken.labels, depot->capacity, start, end);
    __atomic_fetch_add(&depot->closed, count, __ATOMIC_RELAXED);
    return count;
}
