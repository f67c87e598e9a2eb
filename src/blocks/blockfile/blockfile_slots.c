// SPDX-License-Identifier: Apache-2.0
/* The last words that code stored on its stack. Context: any thread. */
#include <string.h>

#include "blockfile_inside.h"

#define WORD 8u

void blockfile_slots_begin(struct blockfile_slots *slots, const struct sonde__loaded *loaded,
                           struct sonde__blockfile *file)
{
    memset(slots, 0, sizeof *slots);
    slots->loaded = loaded;
    slots->file = file;
    slots->waiting = BLOCKFILE_NO_BLOCK;
    for (unsigned i = 0; i < BLOCKFILE_OPEN; i++) {
        slots->open[i].block = BLOCKFILE_NO_BLOCK;
    }
    slots->status = SONDE_OK;
}

void blockfile_release(struct blockfile_slots *slots, const struct blockfile_slot *slot)
{
    size_t i = (size_t)(slot - slots->slots);
    slots->used[i / 64] &= ~((uint64_t)1 << i % 64);
}

/* A free slot, or the next one in turn. */
static struct blockfile_slot *claim_slot(struct blockfile_slots *slots)
{
    unsigned i = 0;
    while (i < BLOCKFILE_SLOTS / 64 && slots->used[i] == UINT64_MAX) {
        i++;
    }
    i = i < BLOCKFILE_SLOTS / 64 ? i * 64 + (unsigned)__builtin_ctzll(~slots->used[i])
                                 : slots->next++ % BLOCKFILE_SLOTS;
    slots->used[i / 64] |= (uint64_t)1 << i % 64;
    return &slots->slots[i];
}

static struct blockfile_slot *find_slot(struct blockfile_slots *slots, uint8_t base, uint64_t place)
{
    for (BLOCKFILE_EACH_USED(slots, i)) {
        struct blockfile_slot *slot = &slots->slots[i];
        if (slot->place == place && slot->base == base) {
            return slot;
        }
    }
    return NULL;
}

struct blockfile_slot *blockfile_find_number(struct blockfile_slots *slots, uint8_t base,
                                             uint64_t place)
{
    struct blockfile_slot *slot = find_slot(slots, base, place);
    return slot != NULL && slot->value.kind == BLOCKFILE_NUMBER ? slot : NULL;
}

void blockfile_keep(struct blockfile_slots *slots, uint8_t base, uint64_t place,
                    const struct blockfile_value *value, unsigned size)
{
    struct blockfile_slot *slot = find_slot(slots, base, place);
    slot = slot != NULL ? slot : claim_slot(slots);
    *slot = (struct blockfile_slot){
        .base = base, .size = (uint8_t)size, .place = place, .value = *value};
}

void blockfile_forget(struct blockfile_slots *slots, const struct blockfile_value *where,
                      int64_t offset)
{
    struct blockfile_slot *slot =
        where->kind == BLOCKFILE_PLACE
            ? find_slot(slots, where->base, where->number + (uint64_t)offset)
            : NULL;
    if (slot != NULL) {
        blockfile_release(slots, slot);
    }
}

void blockfile_forget_below(struct blockfile_slots *slots, const struct blockfile_value *stack)
{
    if (stack->kind != BLOCKFILE_PLACE) {
        return;
    }
    for (BLOCKFILE_EACH_USED(slots, i)) {
        const struct blockfile_slot *slot = &slots->slots[i];
        if (slot->base == stack->base && (int64_t)(slot->place - stack->number) < 0) {
            blockfile_release(slots, slot);
        }
    }
}

struct blockfile_value blockfile_load(struct blockfile_slots *slots,
                                      const struct blockfile_value *where, int64_t offset,
                                      unsigned size)
{
    struct blockfile_value value = {.kind = BLOCKFILE_UNKNOWN};
    uint64_t at = where->number + (uint64_t)offset;
    uint8_t bytes[WORD] = {0};
    if (where->kind == BLOCKFILE_NUMBER) {
        if (!sonde__loaded_read(slots->loaded, at, bytes, size)) {
            return value;
        }
        value.number = sonde__base_le64(bytes);
        value.kind = BLOCKFILE_NUMBER;
    } else if (where->kind == BLOCKFILE_PLACE) {
        const struct blockfile_slot *slot = find_slot(slots, where->base, at);
        if (slot != NULL && slot->size >= size) {
            value = slot->value;
            if (size != WORD && value.kind == BLOCKFILE_NUMBER) {
                value.number &= UINT32_MAX;
            } else if (size != WORD) {
                value.kind = BLOCKFILE_UNKNOWN;
            }
        }
    }
    return value;
}
