// SPDX-License-Identifier: Apache-2.0
/* Blocks of this process, or of memory that callbacks read. */
#include <sonde/block.h>
#include <stdio.h>
#include <string.h>

#include "api_block.h"
#include "arch_regs.h"
#include "base_sized.h"
#include "base_status.h"
#include "blockheap_graph.h"
#include "mem_heap.h"
#include "os.h"
#include "symfile_cache.h"
#include "target.h"

void sonde_blocks_close(struct sonde_blocks *blocks)
{
    if (blocks == NULL) {
        return;
    }
    sonde__blockheap_close(blocks->heap);
    sonde__symfile_cache_destroy(blocks->symfile);
    if (blocks->target != NULL) {
        sonde__target_close(blocks->target);
    }
    sonde__mem_free(blocks);
}

/* Takes ownership of the target. */
static enum sonde_status open_target(struct sonde__target *target, bool is_self,
                                     struct sonde_blocks **ret_blocks,
                                     struct sonde_error *ret_error)
{
    struct sonde__symfile_options options = {.no_inflate = is_self,
                                             .root = sonde__target_root(target)};
    struct sonde_blocks *blocks = sonde__mem_alloc_zeroed(sizeof *blocks);
    enum sonde_status status;
    if (blocks == NULL) {
        sonde__target_close(target);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "blocks", NULL, 0, 0);
    }
    blocks->target = target;
    status = sonde__symfile_cache_create(&options, &blocks->symfile);
    if (status == SONDE_OK) {
        status = sonde__blockheap_open(target, blocks->symfile, is_self, &blocks->heap, ret_error);
    }
    if (status != SONDE_OK) {
        sonde_blocks_close(blocks);
        return status;
    }
    *ret_blocks = blocks;
    return SONDE_OK;
}

enum sonde_status sonde_blocks_open(struct sonde_blocks **ret_blocks, struct sonde_error *ret_error)
{
    struct sonde__target *target;
    if (ret_blocks == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "needs a pointer for the result", NULL, 0,
                                0);
    }
    SONDE_TRY(sonde__target_open_process(sonde__os_pid(), NULL, &target, ret_error));
    return open_target(target, true, ret_blocks, ret_error);
}

enum sonde_status sonde_blocks_open_core(const char *path, const char *program,
                                         struct sonde_blocks **ret_blocks,
                                         struct sonde_error *ret_error)
{
    struct sonde__target_options where = {.executable = program};
    struct sonde__target *target;
    if (path == NULL || ret_blocks == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE,
                                "needs the path of a core, and a pointer for the result", NULL, 0,
                                0);
    }
    SONDE_TRY(sonde__target_open_core(path, &where, &target, ret_error));
    return open_target(target, false, ret_blocks, ret_error);
}

static bool read_by_callback(void *ctx, uint64_t address, void *buffer, size_t size)
{
    const struct sonde_blocks *blocks = ctx;
    return blocks->memory.read(blocks->memory.ctx, address, buffer, size) != 0;
}

static const char *name_by_callback(void *ctx, uint64_t address)
{
    const struct sonde_blocks *blocks = ctx;
    return blocks->memory.name != NULL ? blocks->memory.name(blocks->memory.ctx, address) : NULL;
}

enum sonde_status sonde_blocks_open_memory(const struct sonde_block_memory *memory,
                                           struct sonde_blocks **ret_blocks)
{
    struct sonde_blocks *blocks;
    struct sonde__block_memory door = {.read = read_by_callback, .name = name_by_callback};
    struct sonde_block_memory known;
    if (ret_blocks == NULL || !sonde__base_sized_take(memory, &known, sizeof known) ||
        known.read == NULL ||
        (known.arch != SONDE_ARCH_X86_64 && known.arch != SONDE_ARCH_AARCH64)) {
        return SONDE_USAGE;
    }
    blocks = sonde__mem_alloc_zeroed(sizeof *blocks);
    if (blocks == NULL) {
        return SONDE_MEMORY;
    }
    blocks->memory = known;
    door.arch = known.arch;
    door.ctx = blocks;
    if (sonde__blockheap_open_memory(&door, &blocks->heap) != SONDE_OK) {
        sonde_blocks_close(blocks);
        return SONDE_MEMORY;
    }
    *ret_blocks = blocks;
    return SONDE_OK;
}

enum sonde_status block_read(struct sonde_blocks *blocks, uint64_t address, struct block_body *body,
                             struct sonde_block *ret_block,
                             const struct sonde__blockheap_captures **ret_captures)
{
    const struct sonde__block_memory *memory = sonde__blockheap_memory(blocks->heap);
    const struct sonde__blockheap_captures *captures;
    struct sonde__block_literal literal;
    struct sonde__blockheap_item item;
    uint64_t header[4];
    body->size = FIRST_BYTES;
    if (!memory->read(memory->ctx, address, body->bytes, body->size)) {
        body->size = SONDE__BLOCK_HEADER_BYTES;
        if (!memory->read(memory->ctx, address, body->bytes, body->size)) {
            return SONDE_UNREADABLE;
        }
    }
    memcpy(header, body->bytes, sizeof header);
    SONDE_TRY(sonde__block_literal_of(memory->arch, address, header, &literal));
    if (blocks->target != NULL && sonde__blockheap_class_at(blocks->heap, literal.isa) == NULL) {
        return SONDE_CORRUPT;
    }
    captures = sonde__blockheap_captures(blocks->heap, literal.descriptor, literal.flags, 0);
    if (captures == NULL) {
        return SONDE_CORRUPT;
    }
    *ret_block = (struct sonde_block){.address = address,
                                      .invoke = literal.invoke,
                                      .descriptor = literal.descriptor,
                                      .flags = literal.flags,
                                      .size_bytes = captures->block_size,
                                      .captures = captures->count};
    if (blocks->target != NULL &&
        sonde__blockheap_check_header(blocks->heap, address, header, &item)) {
        ret_block->references = item.count;
    }
    if (body->size < captures->block_size) {
        body->size = captures->block_size < BODY_BYTES ? captures->block_size : BODY_BYTES;
        if (!memory->read(memory->ctx, address, body->bytes, body->size)) {
            return SONDE_UNREADABLE;
        }
    }
    *ret_captures = captures;
    return SONDE_OK;
}

void block_forget(struct block_body *body)
{
    memset(body->bytes, 0, body->size);
    __asm__ volatile("" : : "r"(body) : "memory");
}

enum sonde_status sonde_block_inspect(struct sonde_blocks *blocks, uint64_t address,
                                      struct sonde_block *ret_block)
{
    const struct sonde__blockheap_captures *captures;
    struct sonde_block block;
    struct block_body body;
    enum sonde_status status;
    if (blocks == NULL || !sonde__base_sized_is_set(ret_block)) {
        return SONDE_USAGE;
    }
    status = block_read(blocks, address, &body, &block, &captures);
    block_forget(&body);
    if (status == SONDE_OK) {
        sonde__base_sized_give(ret_block, &block, sizeof block);
    }
    return status;
}

/* ret_capture: struct_bytes is set, and stays. */
static void fill_capture(const struct sonde__blockheap_capture *from, const struct block_body *body,
                         struct sonde_block_capture *ret_capture)
{
    uint32_t left = from->offset < body->size ? body->size - from->offset : 0;
    uint32_t wanted = from->size != 0 && from->size < 8 ? from->size : 8;
    *ret_capture = (struct sonde_block_capture){.struct_bytes = ret_capture->struct_bytes,
                                                .offset = from->offset,
                                                .size_bytes = from->size,
                                                .kind = from->kind,
                                                .is_owned = from->owned,
                                                .is_part = from->inside,
                                                .denied = from->denied,
                                                .denied_by = from->denied_by,
                                                .sources = from->sources};
    memcpy(&ret_capture->value, body->bytes + (left != 0 ? from->offset : 0),
           left < wanted ? left : wanted);
}

enum sonde_status sonde_block_captures(struct sonde_blocks *blocks, uint64_t address,
                                       struct sonde_block_capture *captures, size_t max,
                                       size_t *ret_count)
{
    const struct sonde__blockheap_captures *known;
    struct sonde_block block;
    struct block_body body;
    enum sonde_status status;
    if (blocks == NULL || ret_count == NULL || (max != 0 && !sonde__base_sized_is_set(captures))) {
        return SONDE_USAGE;
    }
    status = block_read(blocks, address, &body, &block, &known);
    if (status == SONDE_OK) {
        for (uint32_t i = 0; i < known->count && i < max; i++) {
            struct sonde_block_capture one;
            struct sonde_block_capture *to = sonde__base_sized_place(captures, i, sizeof one);
            to = to != NULL ? to : &one;
            to->struct_bytes = captures->struct_bytes;
            fill_capture(&known->items[i], &body, to);
            if (to == &one) {
                sonde__base_sized_give_at(captures, i, &one, sizeof one);
            }
        }
        *ret_count = known->count;
        status = known->count > max ? SONDE_LIMIT : SONDE_OK;
    }
    block_forget(&body);
    return status;
}

static enum sonde_status scan(struct sonde_blocks *blocks, struct sonde__blockheap_found *ret_found)
{
    struct sonde_error error = {.what = ""};
    if (blocks->target == NULL) {
        return SONDE_UNSUPPORTED;
    }
    blocks->search_status = sonde__blockheap_scan(blocks->heap, 0, ret_found, &error);
    blocks->search = (struct sonde_block_search){.struct_bytes = sizeof blocks->search,
                                                 .searched_bytes = ret_found->bytes,
                                                 .unreadable_bytes = ret_found->unreadable,
                                                 .left_out_bytes = ret_found->left_out,
                                                 .stale = ret_found->stale,
                                                 .allocations = ret_found->allocations,
                                                 .zones = ret_found->zones,
                                                 .zones_unlisted = ret_found->unlisted};
    snprintf(blocks->search.note, sizeof blocks->search.note, "%.*s",
             (int)sizeof blocks->search.note - 1,
             blocks->search_status == SONDE_OK ? ret_found->note : error.what);
    return blocks->search_status;
}

enum sonde_status sonde_blocks_searched(const struct sonde_blocks *blocks,
                                        struct sonde_block_search *ret_search)
{
    if (blocks == NULL || !sonde__base_sized_is_set(ret_search)) {
        return SONDE_USAGE;
    }
    if (blocks->search.struct_bytes == 0) {
        return SONDE_ABSENT;
    }
    sonde__base_sized_give(ret_search, &blocks->search, sizeof blocks->search);
    return blocks->search_status;
}

enum sonde_status sonde_blocks_scan(struct sonde_blocks *blocks, struct sonde_block *items,
                                    size_t max, size_t *ret_count)
{
    struct sonde__blockheap_found found;
    size_t count;
    if (blocks == NULL || ret_count == NULL || (max != 0 && !sonde__base_sized_is_set(items))) {
        return SONDE_USAGE;
    }
    SONDE_TRY(scan(blocks, &found));
    for (size_t i = 0; i < found.count && i < max; i++) {
        const struct sonde__blockheap_item *from = &found.items[i];
        const struct sonde__blockheap_captures *captures =
            sonde__blockheap_captures(blocks->heap, from->descriptor, from->flags, 0);
        const struct sonde_block one = {.address = from->address,
                                        .invoke = from->invoke,
                                        .descriptor = from->descriptor,
                                        .flags = from->flags,
                                        .size_bytes = from->size,
                                        .references = from->count,
                                        .captures = captures != NULL ? captures->count : 0};
        sonde__base_sized_give_at(items, i, &one, sizeof one);
    }
    count = found.count;
    sonde__blockheap_found_done(&found);
    *ret_count = count;
    return count > max ? SONDE_LIMIT : SONDE_OK;
}

enum sonde_status sonde_block_holders(struct sonde_blocks *blocks, uint64_t address,
                                      struct sonde_block_holder *holders, size_t max,
                                      size_t *ret_count)
{
    struct sonde__blockheap_found found;
    struct sonde__blockheap_graph graph;
    enum sonde_status status;
    size_t first, count;
    if (blocks == NULL || ret_count == NULL || (max != 0 && !sonde__base_sized_is_set(holders))) {
        return SONDE_USAGE;
    }
    SONDE_TRY(scan(blocks, &found));
    status = sonde__blockheap_graph(blocks->heap, &found, &graph, NULL);
    if (status == SONDE_OK) {
        count = sonde__blockheap_to(&graph, address, &first);
        for (size_t i = 0; i < count && i < max; i++) {
            const struct sonde__blockheap_edge *edge = &graph.edges[graph.by_to[first + i]];
            const struct sonde_block_holder one = {.holder = edge->from,
                                                   .offset = edge->offset,
                                                   .box_offset = edge->inner,
                                                   .kind = edge->kind,
                                                   .is_owned = edge->owned,
                                                   .is_block = !edge->by_object,
                                                   .is_certain = !edge->maybe};
            sonde__base_sized_give_at(holders, i, &one, sizeof one);
        }
        *ret_count = count;
        status = count > max ? SONDE_LIMIT : SONDE_OK;
        sonde__blockheap_graph_done(&graph);
    }
    sonde__blockheap_found_done(&found);
    return status;
}

const char *sonde_block_kind_text(unsigned kind)
{
#define KIND_TEXT(name, text) text,
    static const char *const texts[] = {SONDE_BLOCK_KIND_MAP(KIND_TEXT)};
    return kind < sizeof texts / sizeof texts[0] ? texts[kind] : "?";
}

const char *sonde_block_source_text(unsigned source)
{
#define SOURCE_TEXT(name, text) text,
    static const char *const texts[] = {SONDE_BLOCK_SOURCE_MAP(SOURCE_TEXT)};
    return source < sizeof texts / sizeof texts[0] ? texts[source] : "?";
}
