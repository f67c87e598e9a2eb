// SPDX-License-Identifier: Apache-2.0
/* Finds blocks on the stack from stores: a function, and a descriptor in the next word. Storing the
 * second of the two adds the block; both words are then forgotten, so that the next block in this
 * place is not paired with half of this one. Context: any thread. */
#include <string.h>

#include "blockfile_inside.h"
#include "mem_heap.h"

#define WORD 8u

/* More than in any file; more is hostile. */
#define BLOCKS_MAX ((uint32_t)1 << 20)

/* Take only bits that compilers set; code does not store the runtime's. */
static void set_flags(struct blockfile_slots *slots, struct sonde__blockfile_block *block,
                      const struct blockfile_slot *slot)
{
    const uint32_t possible = 0xfee00000u;
    if (slot != NULL && (slot->value.number & ~(uint64_t)possible & UINT32_MAX) == 0) {
        block->flags = (uint32_t)slot->value.number;
        block->flags_known = true;
    }
    if (slot != NULL) {
        blockfile_release(slots, slot);
    }
}

/* desc, invoke: the two words after `flags_at`. */
static void add_block(struct blockfile_slots *slots, uint32_t desc, uint64_t invoke, uint8_t base,
                      uint64_t flags_at, uint64_t vaddr)
{
    struct sonde__blockfile *file = slots->file;
    struct blockfile_slot *flags = blockfile_find_number(slots, base, flags_at);
    struct sonde__blockfile_block block = {.desc = desc, .invoke = invoke, .at = vaddr};
    set_flags(slots, &block, flags);
    if (file->block_count == BLOCKS_MAX) {
        file->damage = "too many blocks; the rest is not read";
        return;
    }
    if (!sonde__mem_grow(&file->blocks, file->block_count, &file->block_capacity,
                         sizeof *file->blocks)) {
        slots->status = SONDE_MEMORY;
        return;
    }
    if (slots->open[slots->next_open % BLOCKFILE_OPEN].block != BLOCKFILE_NO_BLOCK) {
        blockfile_settle(slots);
    }
    slots->waiting = block.flags_known ? BLOCKFILE_NO_BLOCK : file->block_count;
    slots->waiting_base = base;
    slots->waiting_place = flags_at;
    slots->open[slots->next_open++ % BLOCKFILE_OPEN] =
        (struct blockfile_open){file->block_count, base, flags_at - WORD};
    file->blocks[file->block_count++] = block;
}

void blockfile_store(struct blockfile_slots *slots, const struct blockfile_value *where,
                     int64_t offset, const struct blockfile_value *value, unsigned size,
                     uint64_t vaddr)
{
    uint64_t place = where->number + (uint64_t)offset;
    struct blockfile_slot *other;
    uint32_t desc;
    if (where->kind != BLOCKFILE_PLACE) {
        return;
    }
    if (value->kind == BLOCKFILE_UNKNOWN || (value->kind == BLOCKFILE_PLACE && size != WORD)) {
        blockfile_forget(slots, where, offset);
        return;
    }
    blockfile_keep(slots, where->base, place, value, size);
    if (value->kind != BLOCKFILE_NUMBER) {
        return;
    }
    if (slots->waiting != BLOCKFILE_NO_BLOCK && slots->waiting_base == where->base &&
        slots->waiting_place == place) {
        set_flags(slots, &slots->file->blocks[slots->waiting],
                  blockfile_find_number(slots, where->base, place));
        slots->waiting = BLOCKFILE_NO_BLOCK;
    }
    if (size != WORD || slots->wanted != NULL) {
        return;
    }
    desc = blockfile_desc_at(slots->file, value->number);
    if (desc != BLOCKFILE_NO_DESC) {
        other = blockfile_find_number(slots, where->base, place - WORD);
        if (other == NULL || !blockfile_is_code(slots->loaded, other->value.number)) {
            return;
        }
        add_block(slots, desc, other->value.number, where->base, place - (uint64_t)2 * WORD, vaddr);
    } else if (blockfile_is_code(slots->loaded, value->number)) {
        other = blockfile_find_number(slots, where->base, place + WORD);
        desc =
            other != NULL ? blockfile_desc_at(slots->file, other->value.number) : BLOCKFILE_NO_DESC;
        if (desc == BLOCKFILE_NO_DESC) {
            return;
        }
        add_block(slots, desc, value->number, where->base, place - WORD, vaddr);
    } else {
        return;
    }
    blockfile_release(slots, other);
    blockfile_forget(slots, where, offset);
}

/* Spend one look-up. False: none left, because hostile code can make everything look like a
 * block. */
static bool may_look(struct blockfile_slots *slots)
{
    if (slots->file->lookups_left == 0) {
        slots->file->damage = "too much code looks like blocks; the rest is not followed";
        return false;
    }
    slots->file->lookups_left--;
    return true;
}

/* Collect the descriptors of blocks whose first word is the wanted class. */
static void take_wanted(struct blockfile_slots *slots)
{
    struct blockfile_wanted *wanted = slots->wanted;
    for (BLOCKFILE_EACH_USED(slots, i)) {
        const struct blockfile_slot *isa = &slots->slots[i], *invoke, *desc;
        if (isa->size != WORD || isa->value.kind != BLOCKFILE_NUMBER ||
            isa->value.number != wanted->class_at) {
            continue;
        }
        if (!may_look(slots)) {
            return;
        }
        invoke = blockfile_find_number(slots, isa->base, isa->place + (uint64_t)2 * WORD);
        desc = blockfile_find_number(slots, isa->base, isa->place + (uint64_t)3 * WORD);
        if (invoke == NULL || desc == NULL || desc->size != WORD ||
            !blockfile_is_code(slots->loaded, invoke->value.number)) {
            continue; /* the class is in a variable, for later use */
        }
        blockfile_release(slots, isa);
        if (blockfile_desc_at(slots->file, desc->value.number) != BLOCKFILE_NO_DESC) {
            continue;
        }
        if (wanted->count == BLOCKS_MAX) {
            slots->file->damage = "too many blocks; the rest is not read";
        } else if (!sonde__mem_grow(&wanted->vaddrs, wanted->count, &wanted->capacity,
                                    sizeof *wanted->vaddrs)) {
            slots->status = SONDE_MEMORY;
        } else {
            wanted->vaddrs[wanted->count++] = desc->value.number;
        }
    }
}

static void take_first(struct blockfile_slots *slots, const struct blockfile_open *open)
{
    const struct blockfile_slot *slot =
        blockfile_find_number(slots, open->base, open->place + SONDE__BLOCK_HEADER_BYTES);
    if (slot != NULL && slot->size == WORD &&
        blockfile_is_code(slots->loaded, slot->value.number)) {
        slots->file->blocks[open->block].first = slot->value.number;
    }
}

void blockfile_settle(struct blockfile_slots *slots)
{
    if (slots->wanted != NULL) {
        take_wanted(slots);
        return;
    }
    for (unsigned i = 0; i < BLOCKFILE_OPEN; i++) {
        struct blockfile_open open = slots->open[i];
        uint32_t size;
        slots->open[i].block = BLOCKFILE_NO_BLOCK;
        if (open.block == BLOCKFILE_NO_BLOCK) {
            continue;
        }
        take_first(slots, &open);
        size = slots->file->descs[slots->file->blocks[open.block].desc].size;
        for (BLOCKFILE_EACH_USED(slots, k)) {
            const struct blockfile_slot *slot = &slots->slots[k];
            uint64_t offset = slot->place - open.place;
            if (slot->base == open.base && slot->value.kind == BLOCKFILE_PLACE &&
                offset >= SONDE__BLOCK_HEADER_BYTES && offset % WORD == 0 && size >= WORD &&
                offset <= size - WORD && may_look(slots)) {
                blockfile_take_box(slots, open.block, (uint32_t)offset, &slot->value);
            }
        }
    }
}

void blockfile_begin_function(struct blockfile_slots *slots)
{
    blockfile_settle(slots);
    memset(slots->used, 0, sizeof slots->used);
    slots->waiting = BLOCKFILE_NO_BLOCK;
}
