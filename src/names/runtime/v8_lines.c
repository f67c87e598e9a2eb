// SPDX-License-Identifier: Apache-2.0
/* From an instruction to a position in the source, by the bytecode's table, and from that to a
 * line, by the ends of the script's lines. V8 may have listed these; if not, we read the source. */
#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"
#include "v8.h"

/* Limits: bytes of a table of positions; characters of a source. */
enum { TABLE_MAX = 1 << 18, SOURCE_MAX = 1 << 24, CHUNK = 16384 };

void v8_lines_done(struct v8 *v8)
{
    for (unsigned i = 0; i < V8_LINES; i++) {
        sonde__mem_free(v8->lines[i].ends);
    }
}

/* --- positions --- */

struct table {
    const uint8_t *at, *end;
};

/* Seven bits in a byte, the lowest first. */
static bool next(struct table *table, uint64_t *ret_bits)
{
    uint64_t bits = 0;
    for (unsigned shift = 0; table->at < table->end && shift < 64; shift += 7) {
        uint8_t byte = *table->at++;
        bits |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_bits = bits;
            return true;
        }
    }
    return false;
}

/* A number whose sign is in the lowest bit. */
static int64_t with_sign(uint64_t bits)
{
    return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

/* The character that the instruction at `code` comes from; -1: unknown. Entries are pairs of
 * differences; a code offset of an expression is written as -offset - 1. */
static int64_t position_of(const struct v8 *v8, struct table table, int64_t code)
{
    int64_t at = -1, place = 0, found = -1; /* -1: the entry, ahead of the first instruction */
    uint64_t step = 0, move = 0;
    while (next(&table, &step) && next(&table, &move)) {
        int64_t signed_step = with_sign(step);
        uint64_t by = (uint64_t)(signed_step >= 0 ? signed_step : -(signed_step + 1));
        at = (int64_t)((uint64_t)at + (v8->layout.has_step_bits ? step >> 2 : by));
        place = (int64_t)((uint64_t)place + (uint64_t)with_sign(move));
        if (at > code) {
            break;
        }
        found = ((place >> 1) & 0x3fffffff) - 1;
    }
    return found;
}

static bool table_of(struct v8 *v8, struct sonde__view *view, uint64_t bytecode,
                     struct table *ret_table)
{
    const int32_t *of = v8->layout.of;
    uint64_t bytes = v8_word(v8, view, bytecode, v8->layout.bytecode_positions);
    int32_t type = v8_type(v8, view, bytes);
    uint64_t length = v8_word(v8, view, bytes, of[V8_ARRAY_LENGTH]);
    if ((type != of[V8_TYPE_BYTES] && type != of[V8_TYPE_TRUSTED_BYTES]) || !v8_is_small(length) ||
        length >> 32 == 0 || length >> 32 > TABLE_MAX) {
        return false;
    }
    uint32_t size = (uint32_t)(length >> 32);
    ret_table->at = sonde__view_at(view, bytes - 1 + (uint64_t)of[V8_ARRAY_DATA], size, false);
    ret_table->end = ret_table->at != NULL ? ret_table->at + size : NULL;
    return ret_table->at != NULL;
}

/* --- ends of lines --- */

struct source {
    uint64_t address;
    uint32_t length;
    bool is_wide;
};

static bool is_end(uint32_t c, uint32_t following)
{
    return c == '\n' || (c == '\r' && following != '\n') || c == 0x2028 || c == 0x2029;
}

static bool add_end(struct v8_lines *lines, uint32_t *capacity, uint32_t end)
{
    if (lines->count == *capacity) {
        uint32_t more = *capacity != 0 ? 2 * *capacity : 256;
        uint32_t *ends = sonde__mem_resize_array(lines->ends, more, sizeof *ends);
        if (ends == NULL) {
            return false;
        }
        lines->ends = ends;
        *capacity = more;
    }
    lines->ends[lines->count++] = end;
    return true;
}

/* Read the whole source, in chunks. */
static bool list_ends(struct sonde__view *view, const struct source *source, struct v8_lines *lines)
{
    uint8_t chunk[CHUNK];
    uint32_t width = source->is_wide ? 2 : 1, capacity = 0, before = 0;
    lines->count = 0;
    for (uint32_t done = 0; done < source->length;) {
        uint32_t left = source->length - done;
        uint32_t n = left < CHUNK / width ? left : CHUNK / width;
        struct sonde__runtime_piece piece = {source->address + (uint64_t)done * width, chunk,
                                             n * width, 0};
        view->memory.read(view->memory.ctx, &piece, 1);
        view->reads++;
        if (piece.got != n * width) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++, done++) {
            uint32_t c = width == 1
                             ? chunk[i]
                             : chunk[(size_t)2 * i] | (uint32_t)chunk[(size_t)2 * i + 1] << 8;
            if (done > 0 && is_end(before, c) && !add_end(lines, &capacity, done - 1)) {
                return false;
            }
            before = c;
        }
    }
    return true;
}

static struct v8_lines *room_for(struct v8 *v8)
{
    struct v8_lines *oldest = &v8->lines[0];
    for (unsigned i = 0; i < V8_LINES; i++) {
        oldest = v8->lines[i].age < oldest->age ? &v8->lines[i] : oldest;
    }
    sonde__mem_free(oldest->ends);
    *oldest = (struct v8_lines){.age = 0};
    return oldest;
}

static const struct v8_lines *lines_of(struct v8 *v8, struct sonde__view *view, uint64_t script)
{
    struct source source;
    uint64_t id = v8_word(v8, view, script, v8->layout.script_id);
    uint64_t text = v8_word(v8, view, script, v8->layout.of[V8_SCRIPT_SOURCE]);
    if (!v8_flat_text(v8, view, text, &source.address, &source.length, &source.is_wide) ||
        source.length > SOURCE_MAX) {
        return NULL;
    }
    v8->age++;
    for (unsigned i = 0; i < V8_LINES; i++) {
        struct v8_lines *lines = &v8->lines[i];
        if (lines->age != 0 && lines->id == id && lines->source == source.address &&
            lines->length == source.length) {
            lines->age = v8->age;
            return lines;
        }
    }
    if (source.length > v8->source_left) {
        return NULL;
    }
    v8->source_left -= source.length;
    struct v8_lines *lines = room_for(v8);
    if (!list_ends(view, &source, lines)) {
        return NULL;
    }
    lines->id = id;
    lines->source = source.address;
    lines->length = source.length;
    lines->age = v8->age;
    return lines;
}

/* The number of ends before a position. */
static uint32_t ends_before(const struct v8_lines *lines, uint64_t position)
{
    uint32_t low = 0, high = lines->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (lines->ends[middle] < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t v8_line_of(struct v8 *v8, struct sonde__view *view, uint64_t script, uint64_t bytecode,
                    int64_t offset)
{
    struct table table;
    uint64_t first = v8_word(v8, view, script, v8->layout.script_line_offset);
    if (!v8_is_small(first) || !table_of(v8, view, bytecode, &table)) {
        return 0;
    }
    int64_t position = position_of(v8, table, offset - (v8->layout.of[V8_BYTECODE_DATA] - 1));
    const struct v8_lines *lines = position >= 0 ? lines_of(v8, view, script) : NULL;
    if (lines == NULL || (uint64_t)position > lines->length) {
        return 0;
    }
    return ends_before(lines, (uint64_t)position) + (uint32_t)(first >> 32) + 1;
}
