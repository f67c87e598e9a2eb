// SPDX-License-Identifier: Apache-2.0
/* Look-ups: bucket -> block -> range -> call -> its callers. */
#include <string.h>

#include "base_search.h"
#include "mem_heap.h"
#include "symindex.h"

/* A checked block: all of its fields lie in the section. */
struct block {
    uint32_t first, count; /* ranges */
    uint32_t start;        /* offset of its first range */
    uint32_t call_base;
    unsigned step_width, call_width, line_width;
    const uint8_t *data;
};

static bool read_block(const struct sonde__symindex *index, uint32_t number, struct block *ret)
{
    const struct sonde__symindex_part *stream = &index->parts[SYMINDEX_RANGES];
    const uint8_t *p = index->parts[SYMINDEX_BLOCKS].data + (size_t)number * SYMINDEX_BLOCK_BYTES;
    uint32_t at = sonde__base_le32(p + 4);
    uint64_t bits;
    ret->start = sonde__base_le32(p);
    ret->call_base = sonde__base_le32(p + 8);
    ret->step_width = p[12];
    ret->call_width = p[13];
    ret->line_width = p[14];
    ret->first = number * SYMINDEX_BLOCK_RANGES;
    ret->count = index->ranges - ret->first < SYMINDEX_BLOCK_RANGES ? index->ranges - ret->first
                                                                    : SYMINDEX_BLOCK_RANGES;
    bits = (uint64_t)(ret->count - 1) * ret->step_width +
           (uint64_t)ret->count * (ret->call_width + ret->line_width);
    ret->data = stream->data + at;
    return ret->step_width <= 32 && ret->call_width <= 32 && ret->line_width <= 32 &&
           at <= stream->size && (bits + 7) / 8 + SYMINDEX_PAD <= stream->size - at;
}

/* Blocks that can start in a KiB of code, plus the one that continues there: every range has at
 * least one byte. */
#define BUCKET_BLOCKS_MAX ((1u << SYMINDEX_BUCKET_SHIFT) / SYMINDEX_BLOCK_RANGES + 1)

/* The block that contains an offset. In a damaged file, whose blocks may be in any order, it finds
 * a wrong one or none. */
static bool find_block(const struct sonde__symindex *index, uint32_t offset, struct block *ret)
{
    const uint8_t *blocks = index->parts[SYMINDEX_BLOCKS].data;
    uint32_t block = sonde__base_le32(index->parts[SYMINDEX_BUCKETS].data +
                                      (size_t)(offset >> SYMINDEX_BUCKET_SHIFT) * 4);
    uint32_t limit = block + BUCKET_BLOCKS_MAX; /* may wrap: then nothing is searched */
    if (block >= index->block_count) {
        return false;
    }
    while (block + 1 < index->block_count && block < limit &&
           sonde__base_le32(blocks + (size_t)(block + 1) * SYMINDEX_BLOCK_BYTES) <= offset) {
        block++;
    }
    return read_block(index, block, ret);
}

/* Find the call and the line code of the range that covers the offset. */
static void find_range(const struct block *block, uint32_t offset, uint32_t *ret_call,
                       uint32_t *ret_line)
{
    uint32_t start = block->start;
    uint64_t at = 0;
    uint32_t i = 0;
    for (; i + 1 < block->count; i++, at += block->step_width) {
        start += symindex_bits(block->data, at, block->step_width);
        if (start > offset) {
            break;
        }
    }
    at = (uint64_t)(block->count - 1) * block->step_width;
    uint32_t call =
        symindex_bits(block->data, at + (uint64_t)i * block->call_width, block->call_width);
    at += (uint64_t)block->count * block->call_width;
    *ret_call = call != 0 ? block->call_base + call - 1 : 0;
    *ret_line = symindex_bits(block->data, at + (uint64_t)i * block->line_width, block->line_width);
}

/* Find the values of a call that do not fit its fields. */
static bool find_escape(const struct sonde__symindex *index, uint32_t call, uint32_t *distance,
                        uint32_t *line)
{
    const uint8_t *escapes = index->parts[SYMINDEX_ESCAPES].data;
    uint32_t at =
        SONDE__SEARCH(0, index->escapes, i, sonde__base_le32(escapes + (size_t)i * 12) < call);
    if (at == index->escapes || sonde__base_le32(escapes + (size_t)at * 12) != call) {
        return false;
    }
    *distance = sonde__base_le32(escapes + (size_t)at * 12 + 4);
    *line = sonde__base_le32(escapes + (size_t)at * 12 + 8);
    return true;
}

static size_t chain(const struct sonde__symindex *index, uint32_t call, uint32_t line,
                    struct sonde__symindex_frame *frames, size_t max)
{
    const uint8_t *calls = index->parts[SYMINDEX_CALLS].data;
    const uint8_t *functions = index->parts[SYMINDEX_FUNCTIONS].data;
    unsigned function_width = index->widths[SYMINDEX_WIDTH_CALL_FUNCTION];
    unsigned parent_width = index->widths[SYMINDEX_WIDTH_CALL_PARENT];
    unsigned line_width = index->widths[SYMINDEX_WIDTH_CALL_LINE];
    unsigned name_width = index->widths[SYMINDEX_WIDTH_FUNCTION_NAME];
    unsigned file_width = index->widths[SYMINDEX_WIDTH_FUNCTION_FILE];
    unsigned base_width = index->widths[SYMINDEX_WIDTH_FUNCTION_LINE];
    uint32_t escape = (uint32_t)(((uint64_t)1 << parent_width) - 1);
    unsigned call_bits = function_width + parent_width + line_width;
    unsigned function_bits = name_width + file_width + base_width;
    size_t n = 0;
    while (n < max && call != 0 && call < index->calls) {
        uint64_t at = (uint64_t)call * call_bits;
        uint32_t function = symindex_bits(calls, at, function_width);
        uint32_t distance = symindex_bits(calls, at + function_width, parent_width);
        uint32_t call_line = symindex_bits(calls, at + function_width + parent_width, line_width);
        uint32_t base;
        if (function >= index->functions) {
            break;
        }
        at = (uint64_t)function * function_bits;
        base = symindex_bits(functions, at + name_width + file_width, base_width);
        frames[n].name = symindex_bits(functions, at, name_width);
        frames[n].file = symindex_bits(functions, at + name_width, file_width);
        frames[n].line = line != 0 ? base + line - 1 : 0;
        n++;
        if (distance == escape && !find_escape(index, call, &distance, &call_line)) {
            break;
        }
        if (distance == 0 || distance > call) {
            break;
        }
        call -= distance; /* > 0: numbers only decrease, so every chain ends */
        line = call_line;
    }
    return n;
}

size_t sonde__symindex_find(const struct sonde__symindex *index, uint64_t vaddr,
                            struct sonde__symindex_frame *ret_frames, size_t max)
{
    uint64_t offset = vaddr - index->base;
    struct block block;
    uint32_t call, line;
    if (offset >= index->code_bytes || !find_block(index, (uint32_t)offset, &block)) {
        return 0;
    }
    find_range(&block, (uint32_t)offset, &call, &line);
    return chain(index, call, line, ret_frames, max);
}

/* --- many --- */

struct asked {
    uint64_t vaddr;
    uint32_t number;
};

/* LSD radix sort by vaddr; skips bytes that are equal in all. */
static void sort_asked(struct asked **all, struct asked **scratch, size_t count)
{
    uint64_t different = 0;
    for (size_t i = 1; i < count; i++) {
        different |= (*all)[i].vaddr ^ (*all)[0].vaddr;
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t places[256] = {0};
        size_t place = 0;
        struct asked *from = *all;
        struct asked *to = *scratch;
        if ((different >> shift & 0xff) == 0) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            places[from[i].vaddr >> shift & 0xff]++;
        }
        for (unsigned digit = 0; digit < 256; digit++) {
            size_t here = places[digit];
            places[digit] = place;
            place += here;
        }
        for (size_t i = 0; i < count; i++) {
            to[places[from[i].vaddr >> shift & 0xff]++] = from[i];
        }
        *all = to;
        *scratch = from;
    }
}

enum sonde_status sonde__symindex_find_many(const struct sonde__symindex *index,
                                            const uint64_t *vaddrs, size_t count,
                                            struct sonde__symindex_frame *ret_frames, size_t max,
                                            uint32_t *ret_first, uint32_t *ret_count)
{
    struct asked *all, *scratch;
    enum sonde_status status = SONDE_OK;
    size_t used = 0;
    if (count > UINT32_MAX || max > UINT32_MAX) {
        return SONDE_LIMIT;
    }
    all = sonde__mem_alloc_array(count, sizeof *all);
    scratch = sonde__mem_alloc_array(count, sizeof *scratch);
    if (all == NULL || scratch == NULL) {
        status = SONDE_MEMORY;
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct asked){vaddrs[i], (uint32_t)i};
    }
    sort_asked(&all, &scratch, count);
    for (size_t i = 0; i < count; i++) {
        size_t n = sonde__symindex_find(index, all[i].vaddr, ret_frames + used, max - used);
        ret_first[all[i].number] = (uint32_t)used;
        ret_count[all[i].number] = (uint32_t)n;
        used += n;
        if (used == max) {
            status = SONDE_LIMIT;
        }
    }
    sonde__mem_free(all);
    sonde__mem_free(scratch);
    return status;
}

/* --- symbols --- */

bool sonde__symindex_symbol_at(const struct sonde__symindex *index, uint32_t number,
                               struct sonde__symindex_symbol *ret_symbol)
{
    const uint8_t *aliases = index->parts[SYMINDEX_ALIASES].data;
    if (number >= index->symbols) {
        return false;
    }
    const uint8_t *p = index->parts[SYMINDEX_SYMBOLS].data + (size_t)number * 12;
    /* its first alias */
    uint32_t at =
        SONDE__SEARCH(0, index->aliases, i, sonde__base_le32(aliases + (size_t)i * 8) < number);
    *ret_symbol = (struct sonde__symindex_symbol){.start = index->base + sonde__base_le32(p),
                                                  .size = sonde__base_le32(p + 4),
                                                  .name = sonde__base_le32(p + 8),
                                                  .index = number,
                                                  .first_alias = at};
    while (at < index->aliases && sonde__base_le32(aliases + (size_t)at * 8) == number) {
        at++;
    }
    ret_symbol->alias_count = at - ret_symbol->first_alias;
    return true;
}

bool sonde__symindex_symbol(const struct sonde__symindex *index, uint64_t vaddr,
                            struct sonde__symindex_symbol *ret_symbol)
{
    const uint8_t *symbols = index->parts[SYMINDEX_SYMBOLS].data;
    uint64_t offset = vaddr - index->base;
    /* the first symbol behind it */
    uint32_t after =
        SONDE__SEARCH(0, index->symbols, i, sonde__base_le32(symbols + (size_t)i * 12) <= offset);
    if (after == 0 || offset > UINT32_MAX) {
        return false;
    }
    const uint8_t *p = symbols + (size_t)(after - 1) * 12;
    return offset - sonde__base_le32(p) < sonde__base_le32(p + 4) &&
           sonde__symindex_symbol_at(index, after - 1, ret_symbol);
}

uint32_t sonde__symindex_alias(const struct sonde__symindex *index,
                               const struct sonde__symindex_symbol *symbol, uint32_t i)
{
    if (i >= symbol->alias_count || symbol->first_alias + i >= index->aliases) {
        return 0;
    }
    return sonde__base_le32(index->parts[SYMINDEX_ALIASES].data +
                            (size_t)(symbol->first_alias + i) * 8 + 4);
}
