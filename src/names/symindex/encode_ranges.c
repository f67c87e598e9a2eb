// SPDX-License-Identifier: Apache-2.0
/* Ranges in blocks of 32, as columns of fields as wide as the block needs. */
#include "encode.h"

#include "mem_heap.h"

/* A line is encoded as its distance from the function's lowest line, + 1; 0: unknown. */
static uint32_t line_code(const struct convert *c, const struct range *range)
{
    return range->line != 0
               ? range->line - c->functions[c->calls[range->call].function].line_base + 1
               : 0;
}

static void encode_block(struct encode *e, const struct range *ranges, uint32_t count)
{
    const struct convert *c = e->c;
    uint32_t calls[SYMINDEX_BLOCK_RANGES];
    uint32_t lines[SYMINDEX_BLOCK_RANGES];
    uint32_t least = UINT32_MAX;
    uint32_t step_bits = 0;
    uint32_t call_bits = 0;
    uint32_t line_bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (ranges[i].call != 0 && ranges[i].call < least) {
            least = ranges[i].call;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        calls[i] = ranges[i].call != 0 ? ranges[i].call - least + 1 : 0;
        lines[i] = line_code(c, &ranges[i]);
        call_bits |= calls[i];
        line_bits |= lines[i];
        if (i > 0) {
            step_bits |= ranges[i].start - ranges[i - 1].start;
        }
    }
    unsigned step_width = encode_width(step_bits);
    unsigned call_width = encode_width(call_bits);
    unsigned line_width = encode_width(line_bits);
    size_t bits = (size_t)(count - 1) * step_width + (size_t)count * (call_width + line_width);
    size_t place = e->sections[SYMINDEX_RANGES].size;
    struct packer packer = {encode_room(e, SYMINDEX_RANGES, (bits + 7) / 8), 0};
    uint8_t *block = encode_room(e, SYMINDEX_BLOCKS, SYMINDEX_BLOCK_BYTES);
    if (packer.data == NULL || block == NULL) {
        return;
    }
    if (place > UINT32_MAX) {
        e->c->status = SONDE_LIMIT;
        return;
    }
    sonde__base_put_le32(block, ranges[0].start);
    sonde__base_put_le32(block + 4, (uint32_t)place);
    sonde__base_put_le32(block + 8, least != UINT32_MAX ? least : 0);
    block[12] = (uint8_t)step_width;
    block[13] = (uint8_t)call_width;
    block[14] = (uint8_t)line_width;
    for (uint32_t i = 1; i < count; i++) {
        encode_bits(&packer, ranges[i].start - ranges[i - 1].start, step_width);
    }
    for (uint32_t i = 0; i < count; i++) {
        encode_bits(&packer, calls[i], call_width);
    }
    for (uint32_t i = 0; i < count; i++) {
        encode_bits(&packer, lines[i], line_width);
    }
}

/* For each KiB of code, the last block that begins at or before it. */
static void encode_buckets(struct encode *e)
{
    const struct convert *c = e->c;
    const uint8_t *blocks = e->sections[SYMINDEX_BLOCKS].data;
    size_t block_count = e->sections[SYMINDEX_BLOCKS].size / SYMINDEX_BLOCK_BYTES;
    size_t count = (size_t)((c->size >> SYMINDEX_BUCKET_SHIFT) + 1);
    uint8_t *to = encode_room(e, SYMINDEX_BUCKETS, count * 4);
    size_t block = 0;
    for (size_t i = 0; to != NULL && i < count; i++) {
        while (block + 1 < block_count &&
               sonde__base_le32(blocks + (block + 1) * SYMINDEX_BLOCK_BYTES) <=
                   i << SYMINDEX_BUCKET_SHIFT) {
            block++;
        }
        sonde__base_put_le32(to + i * 4, (uint32_t)block);
    }
}

void encode_ranges(struct encode *e)
{
    struct convert *c = e->c;
    for (size_t i = 0; i < c->range_count && c->status == SONDE_OK; i += SYMINDEX_BLOCK_RANGES) {
        size_t left = c->range_count - i;
        encode_block(e, &c->ranges[i],
                     (uint32_t)(left < SYMINDEX_BLOCK_RANGES ? left : SYMINDEX_BLOCK_RANGES));
    }
    (void)encode_room(e, SYMINDEX_RANGES, SYMINDEX_PAD);
    encode_buckets(e);
}

/* --- calls and functions --- */

/* The line of the call, relative to the lowest line of the caller. */
static uint32_t call_line_code(const struct convert *c, const struct call *call)
{
    return call->line != 0
               ? call->line - c->functions[c->calls[call->parent].function].line_base + 1
               : 0;
}

/* Bits that an escape must save: it takes 96 bits, and look-ups must search for it. */
#define ESCAPE_COST 400u

/* The width with the smallest sum of fields and escapes. A field of all ones marks an escape. */
static unsigned best_width(const uint32_t histogram[33], size_t count)
{
    uint64_t beyond = 0;
    uint64_t best = UINT64_MAX;
    unsigned width = 32;
    for (unsigned w = 32; w > 0; w--) {
        uint64_t cost = (uint64_t)count * w + beyond * ESCAPE_COST;
        if (cost < best) {
            best = cost;
            width = w;
        }
        beyond += histogram[w];
    }
    return width;
}

void encode_calls(struct encode *e)
{
    struct convert *c = e->c;
    uint32_t parents[33] = {0};
    uint32_t lines[33] = {0};
    /* + 1: all ones is reserved, so a value that fills a width needs one more bit */
    for (size_t i = 1; i < c->call_count; i++) {
        const struct call *call = &c->calls[i];
        uint32_t distance = call->parent != 0 ? (uint32_t)i - call->parent : 0;
        parents[encode_width(distance + 1)]++;
        lines[encode_width(call_line_code(c, call) + 1)]++;
    }
    unsigned function_width = encode_width((uint32_t)c->function_count - 1);
    unsigned parent_width = best_width(parents, c->call_count);
    unsigned line_width = best_width(lines, c->call_count);
    uint32_t parent_escape = (uint32_t)(((uint64_t)1 << parent_width) - 1);
    uint32_t line_escape = (uint32_t)(((uint64_t)1 << line_width) - 1);
    size_t bits = c->call_count * (size_t)(function_width + parent_width + line_width);
    struct packer packer = {encode_room(e, SYMINDEX_CALLS, (bits + 7) / 8 + SYMINDEX_PAD), 0};
    e->widths[SYMINDEX_WIDTH_CALL_FUNCTION] = (uint8_t)function_width;
    e->widths[SYMINDEX_WIDTH_CALL_PARENT] = (uint8_t)parent_width;
    e->widths[SYMINDEX_WIDTH_CALL_LINE] = (uint8_t)line_width;
    for (size_t i = 0; packer.data != NULL && i < c->call_count; i++) {
        const struct call *call = &c->calls[i];
        uint32_t distance = call->parent != 0 ? (uint32_t)i - call->parent : 0;
        uint32_t line = call_line_code(c, call);
        encode_bits(&packer, call->function, function_width);
        if (distance >= parent_escape || line >= line_escape) {
            uint8_t *escape = encode_room(e, SYMINDEX_ESCAPES, 12);
            if (escape == NULL) {
                return;
            }
            sonde__base_put_le32(escape, (uint32_t)i);
            sonde__base_put_le32(escape + 4, distance);
            sonde__base_put_le32(escape + 8, line);
            e->escape_count++;
            distance = parent_escape;
            line = line_escape;
        }
        encode_bits(&packer, distance, parent_width);
        encode_bits(&packer, line, line_width);
    }
    uint32_t most_line = 0;
    for (size_t i = 0; i < c->function_count; i++) {
        most_line |= c->functions[i].line_base;
    }
    unsigned name_width = encode_width(e->name_count);
    unsigned file_width = encode_width((uint32_t)c->file_count - 1);
    line_width = encode_width(most_line);
    bits = c->function_count * (size_t)(name_width + file_width + line_width);
    packer = (struct packer){encode_room(e, SYMINDEX_FUNCTIONS, (bits + 7) / 8 + SYMINDEX_PAD), 0};
    e->widths[SYMINDEX_WIDTH_FUNCTION_NAME] = (uint8_t)name_width;
    e->widths[SYMINDEX_WIDTH_FUNCTION_FILE] = (uint8_t)file_width;
    e->widths[SYMINDEX_WIDTH_FUNCTION_LINE] = (uint8_t)line_width;
    for (size_t i = 0; packer.data != NULL && i < c->function_count; i++) {
        const struct function *f = &c->functions[i];
        encode_bits(&packer, e->name_ids[f->name], name_width);
        encode_bits(&packer, f->file, file_width);
        encode_bits(&packer, f->line_base, line_width);
    }
}
