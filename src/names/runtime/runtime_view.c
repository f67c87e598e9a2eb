// SPDX-License-Identifier: Apache-2.0
#include "runtime_view.h"

#include <string.h>

/* Reserve room for a block. Null: no room. */
static struct sonde__view_block *place(struct sonde__view *view, uint64_t address, uint32_t size)
{
    struct sonde__view_block *block = &view->blocks[view->count];
    uint32_t room = SONDE__VIEW_BYTES - view->bytes_used;
    if (view->count == SONDE__VIEW_BLOCKS || size > room || address > UINT64_MAX - size) {
        return NULL;
    }
    *block = (struct sonde__view_block){address, size, view->bytes_used, false};
    view->count++;
    view->bytes_used += size + (0u - size) % 8; /* keep the next block aligned */
    return block;
}

static void read_batch(struct sonde__view *view, uint32_t first, uint32_t count)
{
    struct sonde__runtime_piece pieces[SONDE__VIEW_BATCH];
    for (uint32_t i = 0; i < count; i++) {
        const struct sonde__view_block *block = &view->blocks[first + i];
        pieces[i] = (struct sonde__runtime_piece){block->address, view->bytes + block->offset,
                                                  block->size, 0};
    }
    view->reads++;
    view->memory.read(view->memory.ctx, pieces, count);
    for (uint32_t i = 0; i < count; i++) {
        view->blocks[first + i].size = pieces[i].got;
    }
}

/* Read the blocks from `first` on; the size of a block becomes what could be read. */
static void read_from(struct sonde__view *view, uint32_t first)
{
    while (first < view->count) {
        uint32_t left = view->count - first;
        uint32_t count = left < SONDE__VIEW_BATCH ? left : SONDE__VIEW_BATCH;
        read_batch(view, first, count);
        first += count;
    }
}

void sonde__view_begin(struct sonde__view *view, const struct sonde__view_block *ahead,
                       uint32_t count)
{
    view->count = view->bytes_used = view->last = view->other = 0;
    view->looks++;
    for (uint32_t i = 0; i < count; i++) {
        if (place(view, ahead[i].address, ahead[i].size) == NULL) {
            break;
        }
    }
    read_from(view, 0);
}

static bool holds(const struct sonde__view_block *block, uint64_t address, uint32_t size)
{
    return address >= block->address && address - block->address <= block->size &&
           size <= block->size - (uint32_t)(address - block->address);
}

static bool is_at(const struct sonde__view *view, uint32_t index, uint64_t address, uint32_t size)
{
    return index < view->count && holds(&view->blocks[index], address, size);
}

/* Requests come in the order of the last look, or alternate between two places of that order. */
static struct sonde__view_block *find(struct sonde__view *view, uint64_t address, uint32_t size)
{
    const uint32_t near[] = {view->last, view->last + 1, view->other, view->other + 1};
    uint32_t i = 0;
    while (i < 4 && !is_at(view, near[i], address, size)) {
        i++;
    }
    if (i < 2) {
        view->last = near[i];
        return &view->blocks[near[i]];
    }
    uint32_t found = i < 4 ? near[i] : 0;
    while (found < view->count && !holds(&view->blocks[found], address, size)) {
        found++;
    }
    if (found == view->count) {
        return NULL;
    }
    view->other = view->last;
    view->last = found;
    return &view->blocks[found];
}

void sonde__view_ahead(struct sonde__view *view, const struct sonde__view_block *wanted,
                       uint32_t count)
{
    uint32_t first = view->count;
    for (uint32_t i = 0; i < count; i++) {
        if (find(view, wanted[i].address, wanted[i].size) == NULL) {
            (void)place(view, wanted[i].address, wanted[i].size);
        }
    }
    read_from(view, first);
}

/* Read a block of `wanted` bytes. Null: fewer than `size` could be read at `address`. */
static struct sonde__view_block *fetch(struct sonde__view *view, uint64_t start, uint32_t wanted,
                                       uint64_t address, uint32_t size)
{
    struct sonde__view_block *block = place(view, start, wanted);
    if (block == NULL) {
        return NULL;
    }
    read_from(view, view->count - 1);
    if (!holds(block, address, size)) {
        view->bytes_used = block->offset;
        view->count--;
        return NULL;
    }
    view->last = view->count - 1;
    return block;
}

const uint8_t *sonde__view_at(struct sonde__view *view, uint64_t address, uint32_t size, bool pages)
{
    struct sonde__view_block *block = find(view, address, size);
    uint64_t start = address & ~(uint64_t)(SONDE__VIEW_PAGE - 1);
    if (address > UINT64_MAX - size - SONDE__VIEW_PAGE) {
        return NULL;
    }
    if (block == NULL && pages) {
        uint64_t end = (address + size + SONDE__VIEW_PAGE - 1) & ~(uint64_t)(SONDE__VIEW_PAGE - 1);
        block = fetch(view, start, (uint32_t)(end - start), address, size);
    }
    if (block == NULL) {
        block = fetch(view, address, size, address, size);
    }
    if (block == NULL) {
        return NULL;
    }
    block->used = true;
    return view->bytes + block->offset + (address - block->address);
}
