// SPDX-License-Identifier: Apache-2.0
#include "depot_layout.h"

static uint64_t word_of(const struct sonde_stack *stack, uint32_t i)
{
    uint8_t how = stack->how[i];
    return (stack->pcs[i] & SONDE__DEPOT_PC) |
           ((how & SONDE_HOW_EXACT) != 0 ? SONDE__DEPOT_EXACT : 0) |
           ((how & SONDE_HOW_SIGNAL) != 0 ? SONDE__DEPOT_SIGNAL : 0);
}

uint32_t sonde__depot_put(struct sonde__depot *depot, const struct sonde_stack *stack)
{
    uint32_t id = sonde__depot_root(stack->end);
    for (uint32_t i = stack->count; i-- > 0;) {
        if (i + 1 == stack->lost_at && stack->lost_at < stack->count) {
            id = sonde__depot_child(depot, id,
                                    SONDE__DEPOT_GAP | (stack->lost_count & SONDE__DEPOT_PC));
        }
        id = sonde__depot_child(depot, id, word_of(stack, i));
    }
    return id;
}

bool sonde__depot_node(const struct sonde__depot *depot, uint32_t id, uint64_t *ret_frame,
                       uint32_t *ret_caller)
{
    struct sonde__depot_taken taken = sonde__depot_taken(depot);
    if (id < SONDE__DEPOT_FIRST || id >= depot->capacity ||
        (id >= taken.next && depot->capacity - 1 - id >= taken.labels)) {
        return false;
    }
    *ret_frame = __atomic_load_n(&depot->nodes[id].frame, __ATOMIC_RELAXED);
    *ret_caller = __atomic_load_n(&depot->nodes[id].caller, __ATOMIC_RELAXED);
    return *ret_caller != SONDE__DEPOT_NONE;
}

uint32_t sonde__depot_label(struct sonde__depot *depot, uint32_t id, uint32_t label)
{
    return sonde__depot_child(depot, id, SONDE__DEPOT_LABEL | label);
}

uint32_t sonde__depot_label_number(const struct sonde__depot *depot, uint32_t id)
{
    return depot->capacity - 1 - id;
}

uint32_t sonde__depot_labelled(const struct sonde__depot *depot, uint32_t number,
                               uint32_t *ret_label)
{
    uint64_t frame = 0;
    uint32_t caller = SONDE__DEPOT_NONE;
    if (number >= depot->capacity ||
        !sonde__depot_node(depot, depot->capacity - 1 - number, &frame, &caller) ||
        (frame & SONDE__DEPOT_LABEL) == 0) {
        return SONDE__DEPOT_NONE;
    }
    *ret_label = (uint32_t)frame;
    return caller;
}

bool sonde__depot_is_open(const struct sonde__depot *depot, uint32_t id)
{
    uint64_t frame;
    uint32_t caller;
    if (id != SONDE__DEPOT_NONE && id < SONDE__DEPOT_FIRST) {
        return true;
    }
    return sonde__depot_node(depot, id, &frame, &caller) && (frame & SONDE__DEPOT_CLOSED) == 0;
}

static void put_frame(struct sonde_stack *stack, uint64_t frame)
{
    if (stack->count == stack->capacity) { /* the innermost frames are kept */
        stack->lost_count++;
        return;
    }
    stack->pcs[stack->count] = frame & SONDE__DEPOT_PC;
    stack->how[stack->count++] =
        (uint8_t)(SONDE_FOUND_CFI | ((frame & SONDE__DEPOT_EXACT) != 0 ? SONDE_HOW_EXACT : 0) |
                  ((frame & SONDE__DEPOT_SIGNAL) != 0 ? SONDE_HOW_SIGNAL : 0));
}

bool sonde__depot_get(const struct sonde__depot *depot, uint32_t id, struct sonde_stack *stack)
{
    uint64_t frame;
    uint32_t caller, depth = 0, lost_at = UINT32_MAX;
    stack->count = 0;
    stack->lost_count = 0;
    stack->end_at = 0;
    stack->async_count = 0;
    stack->async_at = SONDE_NO_FRAME;
    stack->async_met = stack->async_cut = 0;
    stack->task_id = 0;
    if (id == SONDE__DEPOT_NONE) {
        return false;
    }
    while (id >= SONDE__DEPOT_FIRST) {
        if (!sonde__depot_node(depot, id, &frame, &caller) || caller >= id ||
            depth++ == depot->depth_max) {
            return false; /* a caller is older than what it calls */
        }
        bool is_link = (frame & SONDE__DEPOT_SCRIPT) != 0;
        if (!is_link && (frame & SONDE__DEPOT_GAP) != 0) {
            lost_at = stack->count;
            stack->lost_count += frame & SONDE__DEPOT_PC;
        } else if (!is_link && (frame & SONDE__DEPOT_LABEL) == 0) {
            put_frame(stack, frame);
        }
        id = caller;
    }
    stack->end = (uint8_t)(id - SONDE__DEPOT_ROOT);
    stack->lost_at = lost_at < stack->count ? lost_at : stack->count;
    stack->end_at =
        stack->end == SONDE_END_NO_CODE && stack->count > 0 ? stack->pcs[stack->count - 1] : 0;
    return true;
}
