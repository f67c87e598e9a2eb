// SPDX-License-Identifier: Apache-2.0
/* Boxes of __block variables on the stack of code that makes a block. Until it is copied, a box'
 * `forwarding` pointer points to the box itself, which nothing else does. The header describes the
 * variable. Context: any thread. */
#include <stdlib.h>

#include "blockfile_inside.h"
#include "mem_heap.h"
#include "mem_sort.h"

#define WORD 8u

/* More than in any file; more is hostile. */
#define BOXES_MAX ((uint32_t)1 << 20)

enum {
    BOX_FORWARDING = 8,
    BOX_FLAGS = 16,
    BOX_SIZE = 20,
    BOX_COPY = 24,
    BOX_DISPOSE = 32,
    BOX_HEADER = 24,
};

#define BOX_HAS_HELPERS 0x02000000u
#define BOX_KIND_LAYOUT 1u
/* Flags that compilers set: HAS_HELPERS and the kind. */
#define BOX_FLAGS_POSSIBLE 0xf2000000u

/* Load a number of 4 or 8 bytes from the box. False: unknown. */
static bool number_at(struct blockfile_slots *slots, const struct blockfile_value *box,
                      uint32_t offset, unsigned size, uint64_t *ret_number)
{
    struct blockfile_value at = *box;
    struct blockfile_value value;
    at.number += offset;
    value = blockfile_load(slots, &at, 0, size);
    *ret_number = value.number;
    return value.kind == BLOCKFILE_NUMBER;
}

/* The flags are stored with the size as one word of 8 bytes, or as two of 4. */
static bool read_flags(struct blockfile_slots *slots, const struct blockfile_value *value,
                       struct sonde__blockfile_box *box)
{
    uint64_t flags, size;
    if (number_at(slots, value, BOX_FLAGS, WORD, &flags)) {
        size = flags >> 32;
        flags &= UINT32_MAX;
    } else if (!number_at(slots, value, BOX_FLAGS, 4, &flags) ||
               !number_at(slots, value, BOX_SIZE, 4, &size)) {
        return false;
    }
    box->flags = (uint32_t)flags;
    box->size = (uint32_t)size;
    return (flags & ~(uint64_t)BOX_FLAGS_POSSIBLE) == 0;
}

static bool read_box(struct blockfile_slots *slots, const struct blockfile_value *value,
                     struct sonde__blockfile_box *box)
{
    struct blockfile_value at = *value;
    struct blockfile_value forwarding;
    bool has_helpers;
    uint32_t header = BOX_HEADER;
    at.number += BOX_FORWARDING;
    forwarding = blockfile_load(slots, &at, 0, WORD);
    if (forwarding.kind != BLOCKFILE_PLACE || forwarding.base != value->base ||
        forwarding.number != value->number || !read_flags(slots, value, box)) {
        return false;
    }
    has_helpers = (box->flags & BOX_HAS_HELPERS) != 0;
    if (has_helpers && (!number_at(slots, value, BOX_COPY, WORD, &box->copy) ||
                        !number_at(slots, value, BOX_DISPOSE, WORD, &box->dispose) ||
                        !blockfile_is_code(slots->loaded, box->copy) ||
                        !blockfile_is_code(slots->loaded, box->dispose))) {
        return false;
    }
    header += has_helpers ? 2 * WORD : 0;
    if (box->flags >> 28 == BOX_KIND_LAYOUT) {
        if (!number_at(slots, value, header, WORD, &box->layout)) {
            return false;
        }
        header += WORD;
    }
    return box->size >= header && box->size <= SONDE__BLOCK_BYREF_MAX;
}

void blockfile_take_box(struct blockfile_slots *slots, uint32_t block, uint32_t offset,
                        const struct blockfile_value *value)
{
    struct sonde__blockfile *file = slots->file;
    struct sonde__blockfile_box box = {
        .desc = file->blocks[block].desc, .invoke = file->blocks[block].invoke, .offset = offset};
    if (!read_box(slots, value, &box)) {
        return;
    }
    if (file->box_count == BOXES_MAX) {
        file->damage = "too many boxes of __block variables; the rest is not read";
    } else if (!sonde__mem_grow(&file->boxes, file->box_count, &file->box_capacity,
                                sizeof *file->boxes)) {
        slots->status = SONDE_MEMORY;
    } else {
        file->boxes[file->box_count++] = box;
    }
}

static int by_capture(const void *a, const void *b)
{
    const struct sonde__blockfile_box *x = a, *y = b;
    return SONDE__ORDER3(x, y, desc, invoke, offset);
}

void blockfile_end_boxes(struct sonde__blockfile *file)
{
    uint32_t kept = 0;
    if (file->box_count > 1) {
        qsort(file->boxes, file->box_count, sizeof *file->boxes, by_capture);
    }
    for (uint32_t i = 0; i < file->box_count; i++) {
        if (kept == 0 || by_capture(&file->boxes[kept - 1], &file->boxes[i]) != 0) {
            file->boxes[kept++] = file->boxes[i];
        }
    }
    file->box_count = kept;
}

const struct sonde__blockfile_box *
sonde__blockfile_box_of(const struct sonde__blockfile *file,
                        const struct sonde__blockfile_block *block, uint32_t offset)
{
    const struct sonde__blockfile_box key = {
        .desc = block->desc, .invoke = block->invoke, .offset = offset};
    return file->box_count != 0
               ? bsearch(&key, file->boxes, file->box_count, sizeof key, by_capture)
               : NULL;
}

void sonde__blockfile_box_read(const struct sonde__blockfile_box *box,
                               struct sonde__block_byref *ret_byref)
{
    bool has_helpers = (box->flags & BOX_HAS_HELPERS) != 0;
    bool has_layout = box->flags >> 28 == BOX_KIND_LAYOUT;
    *ret_byref = (struct sonde__block_byref){.flags = box->flags,
                                             .size = box->size,
                                             .kind = (uint8_t)(box->flags >> 28),
                                             .copy = box->copy,
                                             .dispose = box->dispose,
                                             .layout = box->layout,
                                             .variable = BOX_HEADER + (has_helpers ? 2 * WORD : 0) +
                                                         (has_layout ? WORD : 0)};
}
