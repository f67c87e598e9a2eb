// SPDX-License-Identifier: Apache-2.0
/* From an instruction to a position in the source, by the bytecode's table, and from that to a
 * line, by the ends of the script's lines. V8 may have listed these; if not, we read the source. */
#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"
#include "v8_read.h"

/* Limit: characters of a source. */
enum { SOURCE_MAX = 1 << 24, CHUNK = 16384 };

void v8_lines_done(struct v8_read *read)
{
    for (unsigned i = 0; i < V8_LINES; i++) {
        sonde__mem_free(read->lines[i].ends);
    }
}

/* --- ends of lines --- */

struct source {
    uint64_t address;
    uint32_t length;
    bool is_wide;
};

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
            if (done > 0 && v8_is_line_end(before, c) && !add_end(lines, &capacity, done - 1)) {
                return false;
            }
            before = c;
        }
    }
    return true;
}

static struct v8_lines *room_for(struct v8_read *read)
{
    struct v8_lines *oldest = &read->lines[0];
    for (unsigned i = 0; i < V8_LINES; i++) {
        oldest = read->lines[i].age < oldest->age ? &read->lines[i] : oldest;
    }
    sonde__mem_free(oldest->ends);
    *oldest = (struct v8_lines){.age = 0};
    return oldest;
}

static const struct v8_lines *lines_of(struct v8_read *read, uint64_t script)
{
    struct v8 *v8 = &read->v8;
    struct source source;
    uint64_t id = sonde__v8_word(v8, script, v8->layout.script_id);
    uint64_t text = sonde__v8_word(v8, script, v8->layout.of[V8_SCRIPT_SOURCE]);
    if (!sonde__v8_flat_text(v8, text, &source.address, &source.length, &source.is_wide) ||
        source.length > SOURCE_MAX) {
        return NULL;
    }
    read->age++;
    for (unsigned i = 0; i < V8_LINES; i++) {
        struct v8_lines *lines = &read->lines[i];
        if (lines->age != 0 && lines->id == id && lines->source == source.address &&
            lines->length == source.length) {
            lines->age = read->age;
            return lines;
        }
    }
    if (source.length > read->source_left) {
        return NULL;
    }
    read->source_left -= source.length;
    struct v8_lines *lines = room_for(read);
    if (!list_ends(read->view, &source, lines)) {
        return NULL;
    }
    lines->id = id;
    lines->source = source.address;
    lines->length = source.length;
    lines->age = read->age;
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

uint32_t v8_line_of(struct v8_read *read, uint64_t script, uint64_t bytecode, int64_t offset)
{
    uint64_t first = sonde__v8_word(&read->v8, script, read->v8.layout.script_line_offset);
    int64_t position = v8_is_small(first) ? sonde__v8_position(&read->v8, bytecode, offset) : -1;
    const struct v8_lines *lines = position >= 0 ? lines_of(read, script) : NULL;
    if (lines == NULL || (uint64_t)position > lines->length) {
        return 0;
    }
    return ends_before(lines, (uint64_t)position) + (uint32_t)(first >> 32) + 1;
}
