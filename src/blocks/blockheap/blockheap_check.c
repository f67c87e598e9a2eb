// SPDX-License-Identifier: Apache-2.0
/* Is it a block? A word that equals a class is also in every freed block and in many places that
 * never were one. What tells: the count of a released block is 0; flags have bits that no compiler
 * and no runtime sets; the code is in executable memory; the descriptor is a file's constant.
 * Blocks share descriptors, so what was learned of one is kept. */
#include <string.h>

#include "blockheap_inside.h"
#include "mem_heap.h"

/* Bits 16 to 20, which nobody has used, and 27, the collector's. */
#define BITS_OF_NONE 0x081f0000u
enum { DESCS_AT_FIRST = 256, DESCS_MAX = 1 << 20 };

static bool is_code(const struct sonde__blockheap *heap, uint64_t address)
{
    return sonde__image_range_find(blockheap_images(heap), address) != NULL;
}

static bool read_desc(struct sonde__blockheap *heap, uint64_t address, uint32_t flags,
                      uint32_t *ret_size)
{
    struct sonde__block_desc desc;
    char text[SONDE__BLOCK_TEXT_MAX];
    size_t length;
    if (blockheap_image_at(heap, address) == NULL ||
        sonde__block_desc_read(&heap->memory, address, flags, &desc) != SONDE_OK ||
        (desc.copy != 0 && !is_code(heap, desc.copy)) ||
        (desc.dispose != 0 && !is_code(heap, desc.dispose)) ||
        (desc.signature != 0 &&
         !sonde__block_read_text(&heap->memory, desc.signature, text, sizeof text, &length))) {
        return false;
    }
    *ret_size = desc.size;
    return true;
}

static size_t desc_slot(const struct blockheap_desc *descs, size_t capacity, uint64_t address,
                        uint32_t flags)
{
    uint64_t hash = (address ^ (uint64_t)flags << 20) * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 32) & (capacity - 1);
    while (descs[slot].used && (descs[slot].address != address || descs[slot].flags != flags)) {
        slot = (slot + 1) & (capacity - 1);
    }
    return slot;
}

/* Room for one more. False: there is none; then it is read each time. */
static bool grow_descs(struct sonde__blockheap *heap)
{
    size_t capacity = heap->desc_capacity == 0 ? DESCS_AT_FIRST : 2 * heap->desc_capacity;
    struct blockheap_desc *descs;
    if (heap->desc_capacity != 0 && heap->desc_count < heap->desc_capacity / 2) {
        return true;
    }
    descs = capacity <= DESCS_MAX ? sonde__mem_alloc_zeroed(capacity * sizeof *descs) : NULL;
    if (descs == NULL) {
        return false;
    }
    for (size_t i = 0; i < heap->desc_capacity; i++) {
        if (heap->descs[i].used) {
            descs[desc_slot(descs, capacity, heap->descs[i].address, heap->descs[i].flags)] =
                heap->descs[i];
        }
    }
    sonde__mem_free(heap->descs);
    heap->descs = descs;
    heap->desc_capacity = capacity;
    return true;
}

static bool good_desc(struct sonde__blockheap *heap, uint64_t address, uint32_t flags,
                      uint32_t *ret_size)
{
    struct blockheap_desc fresh = {
        .address = address, .flags = flags & BLOCKHEAP_DESC_BITS, .used = true};
    size_t slot;
    if (heap->desc_capacity != 0) {
        slot = desc_slot(heap->descs, heap->desc_capacity, address, fresh.flags);
        if (heap->descs[slot].used) {
            *ret_size = heap->descs[slot].size;
            return heap->descs[slot].is_good;
        }
    }
    fresh.is_good = read_desc(heap, address, flags, &fresh.size);
    if (grow_descs(heap)) {
        heap->descs[desc_slot(heap->descs, heap->desc_capacity, address, fresh.flags)] = fresh;
        heap->desc_count++;
    }
    *ret_size = fresh.size;
    return fresh.is_good;
}

bool sonde__blockheap_check_header(struct sonde__blockheap *heap, uint64_t address,
                                   const uint64_t header[4], struct sonde__blockheap_item *ret_item)
{
    struct sonde__block_literal literal;
    struct sonde__block_state state;
    const struct sonde__blockheap_class *class;
    uint32_t size;
    if (sonde__block_literal_of(heap->memory.arch, address, header, &literal) != SONDE_OK ||
        (literal.flags & (BITS_OF_NONE | SONDE_BLOCK_GLOBAL)) != 0 ||
        (class = sonde__blockheap_class_at(heap, literal.isa)) == NULL) {
        return false;
    }
    sonde__block_state_of(&literal, class->runtime, class->kind, &state);
    if (state.place != SONDE__BLOCK_PLACE_HEAP || !is_code(heap, literal.invoke) ||
        !good_desc(heap, literal.descriptor, literal.flags, &size)) {
        return false;
    }
    *ret_item = (struct sonde__blockheap_item){.address = address,
                                               .invoke = literal.invoke,
                                               .descriptor = literal.descriptor,
                                               .flags = literal.flags,
                                               .size = size,
                                               .count = state.count,
                                               .runtime = class->runtime};
    return true;
}

bool sonde__blockheap_check(struct sonde__blockheap *heap, uint64_t address,
                            struct sonde__blockheap_item *ret_item)
{
    uint64_t header[4];
    bool is_block = heap->memory.read(heap->memory.ctx, address, header, sizeof header) &&
                    sonde__blockheap_check_header(heap, address, header, ret_item);
    memset(header, 0, sizeof header); /* a later search is not to find this copy */
    __asm__ volatile("" : : "r"(header) : "memory");
    return is_block;
}
