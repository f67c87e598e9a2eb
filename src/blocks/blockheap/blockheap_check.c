// SPDX-License-Identifier: Apache-2.0
/* Is it a block? Freed blocks and other memory also contain words equal to a class. A live block
 * has a reference count above 0, only flags that compilers or runtimes set, code in executable
 * memory, and a descriptor in a file's constants. Blocks share descriptors, so the answer for each
 * is cached. */
#include <string.h>

#include "blockheap_inside.h"
#include "mem_heap.h"
#include "mem_table.h"

/* Unused flags: bits 16 to 20, and 27, the garbage collector's. */
#define BITS_OF_NONE 0x081f0000u
enum { DESCS_MAX = 1 << 19 };

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

/* Without memory for the cache, the descriptor is read each time. */
static bool good_desc(struct sonde__blockheap *heap, uint64_t address, uint32_t flags,
                      uint32_t *ret_size)
{
    struct blockheap_desc fresh = {.address = address, .flags = flags & BLOCKHEAP_DESC_BITS};
    uint32_t hash = sonde__mem_hash(address ^ (uint64_t)fresh.flags << 20);
    uint32_t known =
        SONDE__TABLE_FIND(&heap->desc_table, hash, i,
                          heap->descs[i].address == address && heap->descs[i].flags == fresh.flags);
    if (known != SONDE__TABLE_NONE) {
        *ret_size = heap->descs[known].size;
        return heap->descs[known].is_good;
    }
    fresh.is_good = read_desc(heap, address, flags, &fresh.size);
    if (heap->desc_count < DESCS_MAX &&
        sonde__mem_grow(&heap->descs, heap->desc_count, &heap->desc_capacity,
                        sizeof *heap->descs) &&
        sonde__mem_table_add(&heap->desc_table, hash, (uint32_t)heap->desc_count)) {
        heap->descs[heap->desc_count++] = fresh;
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
    memset(header, 0, sizeof header); /* else a later search would find this copy */
    __asm__ volatile("" : : "r"(header) : "memory");
    return is_block;
}
