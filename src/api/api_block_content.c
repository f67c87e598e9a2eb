// SPDX-License-Identifier: Apache-2.0
/* What the captures of a block lead to: the block or closure in a wrapper, and descriptions of
 * objects. */
#include <string.h>

#include "api_block.h"
#include "base_sized.h"
#include "base_status.h"
#include "mem_heap.h"

enum sonde_status sonde_block_unwrap(struct sonde_blocks *blocks, uint64_t address,
                                     struct sonde_block_wrapped *ret_wrapped)
{
    const struct sonde__blockheap_captures *captures;
    struct sonde__block_wrapped wrapped;
    struct sonde_block block;
    struct block_body body;
    enum sonde_status status;
    if (blocks == NULL || !sonde__base_sized_is_set(ret_wrapped)) {
        return SONDE_USAGE;
    }
    status = block_read(blocks, address, &body, &block, &captures);
    block_forget(&body);
    if (status != SONDE_OK) {
        return status;
    }
    if (!sonde__blockheap_unwrap(blocks->heap, address, block.size_bytes, &wrapped)) {
        return SONDE_ABSENT;
    }
    const struct sonde_block_wrapped known = {.wrapper = wrapped.form == SONDE__BLOCK_WRAPPED_SWIFT
                                                             ? SONDE_BLOCK_WRAPPER_SWIFT
                                                             : SONDE_BLOCK_WRAPPER_DISPATCH,
                                              .function = wrapped.function,
                                              .block = wrapped.block,
                                              .queue = wrapped.queue,
                                              .group = wrapped.group,
                                              .context = wrapped.context};
    sonde__base_sized_give(ret_wrapped, &known, sizeof known);
    return SONDE_OK;
}

enum sonde_status sonde_blocks_set_describer(struct sonde_blocks *blocks,
                                             sonde_block_describer *describer, void *ctx)
{
    if (blocks == NULL) {
        return SONDE_USAGE;
    }
    if (blocks->target == NULL || !sonde__target_is_live(blocks->target)) {
        return SONDE_UNSUPPORTED;
    }
    blocks->describer = describer;
    blocks->describer_ctx = ctx;
    return SONDE_OK;
}

/* Is there an owned capture of this kind at the offset? */
static bool holds(const struct sonde__blockheap_captures *captures, uint32_t offset, uint8_t kind)
{
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *capture = &captures->items[i];
        if (capture->offset == offset && capture->kind == kind && capture->owned) {
            return true;
        }
    }
    return false;
}

static bool read_word(const struct sonde_blocks *blocks, uint64_t address, uint64_t *ret_word)
{
    const struct sonde__block_memory *memory = sonde__blockheap_memory(blocks->heap);
    return memory->read(memory->ctx, address, ret_word, sizeof *ret_word);
}

/* Get the object in a box on the heap. */
static enum sonde_status object_in_box(struct sonde_blocks *blocks, uint64_t box, uint32_t offset,
                                       uint64_t *ret_object)
{
    struct sonde__blockheap_captures *captures = sonde__mem_alloc(sizeof *captures);
    struct sonde__block_byref byref;
    enum sonde_status status;
    if (captures == NULL) {
        return SONDE_MEMORY;
    }
    status = sonde__blockheap_byref(blocks->heap, box, NULL, &byref, captures);
    if (status == SONDE_OK && (!byref.is_heap || !holds(captures, offset, SONDE_BLOCK_STRONG))) {
        status = SONDE_DENIED;
    }
    if (status == SONDE_OK && !read_word(blocks, byref.address + offset, ret_object)) {
        status = SONDE_UNREADABLE;
    }
    sonde__mem_free(captures);
    return status;
}

static enum sonde_status find_object(struct sonde_blocks *blocks, uint64_t address, uint32_t offset,
                                     int32_t box_offset, uint64_t *ret_object)
{
    const struct sonde__blockheap_captures *captures;
    struct sonde__blockheap_item item;
    struct sonde_block block;
    struct block_body body;
    enum sonde_status status = block_read(blocks, address, &body, &block, &captures);
    uint64_t word;
    block_forget(&body);
    if (status != SONDE_OK) {
        return status;
    }
    if (!holds(captures, offset, box_offset < 0 ? SONDE_BLOCK_STRONG : SONDE_BLOCK_BYREF) ||
        !sonde__blockheap_check(blocks->heap, address, &item)) {
        return SONDE_DENIED;
    }
    if (!read_word(blocks, address + offset, &word)) {
        return SONDE_UNREADABLE;
    }
    if (box_offset >= 0) {
        return object_in_box(blocks, word, (uint32_t)box_offset, ret_object);
    }
    *ret_object = word;
    return SONDE_OK;
}

enum sonde_status sonde_block_describe(struct sonde_blocks *blocks, uint64_t address,
                                       uint32_t offset, int32_t box_offset, char *text,
                                       size_t size_bytes)
{
    struct sonde__blockheap_object object;
    uint64_t at = 0;
    if (blocks == NULL || text == NULL || size_bytes == 0) {
        return SONDE_USAGE;
    }
    if (blocks->describer == NULL) {
        return SONDE_ABSENT;
    }
    SONDE_TRY(find_object(blocks, address, offset, box_offset, &at));
    if (at == 0) {
        return SONDE_ABSENT;
    }
    if (!sonde__blockheap_object_at(blocks->heap, at, &object)) {
        return SONDE_DENIED;
    }
    text[0] = '\0';
    if (blocks->describer(blocks->describer_ctx, at, object.name, text, size_bytes) == 0) {
        return SONDE_ABSENT;
    }
    text[size_bytes - 1] = '\0';
    return SONDE_OK;
}
