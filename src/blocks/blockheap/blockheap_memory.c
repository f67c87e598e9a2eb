// SPDX-License-Identifier: Apache-2.0
/* Extent of memory of unknown layout. An allocator that tells is asked; where allocations begin is
 * known from the last search. In glibc's heap, the word
 * before an allocation has its size, with flags in the lowest bits, and a flag of the next such
 * word says that it is in use (malloc.c, "Details"). In other heaps a window is read. */
#include <string.h>

#include "base_search.h"
#include "blockheap_graph.h"
#include "blockheap_inside.h"

enum { HEADER = 16, CHUNK_MIN = 32, PREV_INUSE = 1, IS_MAPPED = 2, FLAGS = 7, BACK_MAX = 4096 };

enum sonde_status blockheap_read_own(struct sonde__blockheap *heap, struct sonde_error *ret_error)
{
    if (heap->target == NULL) { /* the caller provides the memory */
        return SONDE_OK;
    }
    sonde__target_memory_done(&heap->own);
    heap->own = (struct sonde__target_memory){0};
    return sonde__target_own_memory(heap->target, &heap->own, ret_error);
}

/* Ranges are sorted, and none overlaps another. */
static const struct sonde__target_range *find(const struct sonde__target_range *ranges,
                                              size_t count, uint64_t address)
{
    size_t after = SONDE__SEARCH(0, count, i, ranges[i].end <= address);
    return after < count && ranges[after].start <= address ? &ranges[after] : NULL;
}

static const struct sonde__target_range *range_at(const struct sonde__blockheap *heap,
                                                  uint64_t address)
{
    return find(heap->own.ranges, heap->own.count, address);
}

const struct sonde__target_range *blockheap_listed(const struct sonde__blockheap *heap,
                                                   uint64_t address)
{
    return find(heap->listed.ranges, heap->listed.count, address);
}

/* Only where an allocation begins does the allocator know its size now. */
static bool ask_allocator(struct sonde__blockheap *heap, uint64_t address, uint64_t *ret_start,
                          uint64_t *ret_size)
{
    const struct sonde__target_range *listed = blockheap_listed(heap, address);
    uint64_t start, size;
    if (!sonde__target_allocation(heap->target, listed != NULL ? listed->start : address, &start,
                                  &size) ||
        address - start >= size) {
        return false;
    }
    *ret_start = start;
    *ret_size = size;
    return true;
}

uint64_t blockheap_own_left(const struct sonde__blockheap *heap, uint64_t address)
{
    const struct sonde__target_range *range = range_at(heap, address);
    return range != NULL ? range->end - address : 0;
}

static bool read_word(struct sonde__blockheap *heap, uint64_t address, uint64_t *ret_word)
{
    return heap->memory.read(heap->memory.ctx, address, ret_word, sizeof *ret_word);
}

/* Is there an allocation at `start` with the size word `word`? */
static bool is_chunk(struct sonde__blockheap *heap, const struct sonde__target_range *range,
                     uint64_t start, uint64_t word, uint64_t *ret_size)
{
    uint64_t size = word & ~(uint64_t)FLAGS, next;
    if (size < CHUNK_MIN || size % HEADER != 0 || size > range->end - (start - HEADER)) {
        return false;
    }
    if ((word & IS_MAPPED) != 0) {
        *ret_size = size - HEADER;
        return size % 4096 == 0 && start % 4096 == HEADER;
    }
    if (size + HEADER > range->end - (start - HEADER) ||
        !read_word(heap, start + size - 8, &next) || (next & PREV_INUSE) == 0 ||
        (next & ~(uint64_t)FLAGS) % HEADER != 0 || (next & ~(uint64_t)FLAGS) < HEADER ||
        (next & ~(uint64_t)FLAGS) > range->end - (start + size - HEADER)) {
        return false;
    }
    *ret_size = size - 8; /* it may use the first word of the next chunk */
    return true;
}

bool sonde__blockheap_allocation(struct sonde__blockheap *heap, uint64_t address,
                                 uint64_t *ret_start, uint64_t *ret_size)
{
    const struct sonde__target_range *range = range_at(heap, address);
    uint64_t words[BACK_MAX / 8], from, start = address & ~(uint64_t)(HEADER - 1);
    size_t count;
    if (range != NULL && heap->target != NULL && sonde__target_tells_allocations(heap->target)) {
        return ask_allocator(heap, address, ret_start, ret_size);
    }
    if (range == NULL || start < range->start + HEADER ||
        blockheap_image_at(heap, address) != NULL) {
        return false;
    }
    from = start - range->start > BACK_MAX ? start - BACK_MAX : range->start;
    from = (from + HEADER - 1) & ~(uint64_t)(HEADER - 1);
    count = (size_t)(start - from) / 8;
    if (!heap->memory.read(heap->memory.ctx, from, words, count * 8)) {
        return false;
    }
    for (; start > from; start -= HEADER) {
        uint64_t word = words[(start - from) / 8 - 1], size;
        if (is_chunk(heap, range, start, word, &size) && size > address - start) {
            *ret_start = start;
            *ret_size = size;
            return true;
        }
    }
    return false;
}

bool blockheap_extent(struct sonde__blockheap *heap, uint64_t address, uint64_t *ret_start,
                      uint64_t *ret_size)
{
    uint64_t left = blockheap_own_left(heap, address);
    if (left == 0 || blockheap_image_at(heap, address) != NULL) {
        return false;
    }
    if (!sonde__blockheap_allocation(heap, address, ret_start, ret_size)) {
        *ret_start = address;
        *ret_size = left < BLOCKHEAP_WINDOW ? left : BLOCKHEAP_WINDOW;
    }
    return true;
}
