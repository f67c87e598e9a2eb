// SPDX-License-Identifier: Apache-2.0
/* Opens a target: access to its memory, and the classes of blocks in its images. */
#include <string.h>

#include "arch_regs.h"
#include "base_status.h"
#include "blockheap_inside.h"
#include "mem_heap.h"

static bool read_target(void *ctx, uint64_t address, void *buffer, size_t size)
{
    struct sonde__blockheap *heap = ctx;
    return address + size >= address &&
           sonde__target_read(heap->target, address, buffer, size) == size;
}

static const char *name_at(void *ctx, uint64_t address)
{
    return blockheap_name_at(ctx, address);
}

const struct sonde__image_set *blockheap_images(const struct sonde__blockheap *heap)
{
    static const struct sonde__image_set none;
    if (heap->target != NULL) {
        return sonde__target_images(heap->target);
    }
    return heap->images != NULL ? heap->images : &none;
}

const struct sonde__image *blockheap_image_at(const struct sonde__blockheap *heap, uint64_t address)
{
    const struct sonde__image_set *set = blockheap_images(heap);
    for (uint32_t i = 0; i < set->image_count; i++) {
        if (address >= set->images[i].start && address < set->images[i].end) {
            return &set->images[i];
        }
    }
    return NULL;
}

enum sonde_status sonde__blockheap_open(struct sonde__target *target,
                                        struct sonde__symfile_cache *symbols, bool is_self,
                                        struct sonde__blockheap **ret_heap,
                                        struct sonde_error *ret_error)
{
    struct sonde__blockheap *heap = sonde__mem_alloc_zeroed(sizeof *heap);
    enum sonde_status status;
    if (heap == NULL) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "blocks", NULL, 0, 0);
    }
    heap->target = target;
    heap->symfile = symbols;
    heap->is_self = is_self;
    heap->pid = sonde__target_pid(target);
    heap->memory = (struct sonde__block_memory){
        .arch = sonde__target_arch(target), .read = read_target, .name = name_at, .ctx = heap};
    status = blockheap_read_symbols(heap);
    if (status == SONDE_OK && heap->class_count == 0) {
        status = SONDE_ABSENT;
    }
    if (status != SONDE_OK) {
        sonde__blockheap_close(heap);
        return sonde__base_fail(ret_error, status,
                                status == SONDE_ABSENT
                                    ? "it has no blocks, as far as symbols tell: "
                                      "no image of it has the classes of a block "
                                      "runtime; one in a stripped program is not "
                                      "seen"
                                    : "symbols of blocks",
                                NULL, 0, 0);
    }
    *ret_heap = heap;
    return SONDE_OK;
}

enum sonde_status sonde__blockheap_open_memory(const struct sonde__block_memory *memory,
                                               struct sonde__blockheap **ret_heap)
{
    struct sonde__blockheap *heap = sonde__mem_alloc_zeroed(sizeof *heap);
    if (heap == NULL) {
        return SONDE_MEMORY;
    }
    heap->memory = *memory;
    *ret_heap = heap;
    return SONDE_OK;
}

void sonde__blockheap_close(struct sonde__blockheap *heap)
{
    if (heap != NULL) {
        sonde__mem_free(heap->symbols);
        sonde__mem_free(heap->descs);
        sonde__mem_table_done(&heap->desc_table);
        blockheap_kept_done(heap);
        if (heap->target != NULL) {
            sonde__target_memory_done(&heap->own);
            sonde__target_allocations_done(&heap->listed);
        }
        sonde__mem_free(heap);
    }
}

const struct sonde__block_memory *sonde__blockheap_memory(const struct sonde__blockheap *heap)
{
    return &heap->memory;
}
