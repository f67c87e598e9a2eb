// SPDX-License-Identifier: Apache-2.0
/* Scopes and rows of one unit -> pieces: at each address the innermost scope, file and line.
 *
 * Where ranges overlap, the scope of the later DIE wins, as if each painted over its range. With
 * proper nesting that is the innermost scope. The ranges are sorted by their starts, stably, so
 * that outer ones stay before inner ones, and swept together with the rows. */
#include <string.h>

#include "convert.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, SMALL = 64 };

static void sort_few(struct scope_range *ranges, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct scope_range range = ranges[i];
        size_t at = i;
        for (; at > 0 && ranges[at - 1].low > range.low; at--) {
            ranges[at] = ranges[at - 1];
        }
        ranges[at] = range;
    }
}

/* LSD radix sort by low; skips digits that are equal in all. */
static void sort_ranges(struct convert *c)
{
    size_t count = c->scope_range_count;
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        uint32_t low = c->scope_ranges[i].low;
        sorted = sorted && low >= most;
        least = low < least ? low : least;
        most = low > most ? low : most;
    }
    if (sorted) {
        return;
    }
    if (count <= SMALL) {
        sort_few(c->scope_ranges, count);
        return;
    }
    if (!convert_reserve(c, &c->scope_scratch, count, &c->scope_scratch_capacity,
                         sizeof *c->scope_scratch)) {
        return;
    }
    for (unsigned shift = 0; shift < 32 && (most - least) >> shift != 0; shift += DIGIT_BITS) {
        uint32_t places[DIGITS] = {0};
        uint32_t place = 0;
        struct scope_range *from = c->scope_ranges;
        struct scope_range *to = c->scope_scratch;
        size_t capacity = c->scope_range_capacity;
        for (size_t i = 0; i < count; i++) {
            places[(from[i].low - least) >> shift & (DIGITS - 1)]++;
        }
        for (unsigned digit = 0; digit < DIGITS; digit++) {
            uint32_t here = places[digit];
            places[digit] = place;
            place += here;
        }
        for (size_t i = 0; i < count; i++) {
            to[places[(from[i].low - least) >> shift & (DIGITS - 1)]++] = from[i];
        }
        c->scope_ranges = to;
        c->scope_range_capacity = c->scope_scratch_capacity;
        c->scope_scratch = from;
        c->scope_scratch_capacity = capacity;
    }
}

struct sweep {
    struct convert *c;
    /* open ranges by ascending scope; the last one applies */
    struct open_range {
        uint32_t high, scope;
    } open[CONVERT_DEPTH_MAX];
    size_t open_count;
    size_t row; /* next */
    uint32_t file, line;
    uint32_t unit_resumes; /* in code of nobody: where the unit's code goes on */
    bool in_rows;
    bool in_chunk;
};

static void end_chunk(struct sweep *s, uint32_t at)
{
    struct convert *c = s->c;
    struct chunk *chunk = &c->chunks[c->chunk_count - 1];
    while (c->piece_count > chunk->first && c->pieces[c->piece_count - 1].start >= at) {
        c->piece_count--; /* covers nothing */
    }
    if (c->piece_count == chunk->first) {
        c->chunk_count--;
    }
    chunk->count = (uint32_t)(c->piece_count - chunk->first);
    chunk->end = at;
    s->in_chunk = false;
}

/* Start a piece at `at` with this scope and the sweep's file and line. */
static void put_scope(struct sweep *s, uint32_t at, uint32_t scope)
{
    struct convert *c = s->c;
    struct piece piece = {at, scope, 0, 0};
    bool has_line =
        s->in_rows && (scope != CONVERT_NONE || convert_is_in_unit(c, at, &s->unit_resumes));
    if (has_line) {
        piece.file = s->file;
        piece.line = s->line;
    }
    if (scope == CONVERT_NONE && !has_line) {
        if (s->in_chunk) {
            end_chunk(s, at);
        }
        return;
    }
    if (!s->in_chunk) {
        if (!CONVERT_ROOM(c, chunks, chunk_count, chunk_capacity)) {
            return;
        }
        c->chunks[c->chunk_count++] = (struct chunk){.start = at, .first = c->piece_count};
        s->in_chunk = true;
    } else {
        struct piece *last = &c->pieces[c->piece_count - 1];
        if (last->scope == scope && last->file == piece.file && last->line == piece.line) {
            return;
        }
        if (last->start == at) {
            *last = piece;
            return;
        }
    }
    if (!CONVERT_ROOM(c, pieces, piece_count, piece_capacity)) {
        s->in_chunk = false;
        return;
    }
    c->pieces[c->piece_count++] = piece;
}

static uint32_t innermost(const struct sweep *s)
{
    return s->open_count != 0 ? s->open[s->open_count - 1].scope : CONVERT_NONE;
}

/* A row in code of nobody counts again where the unit's code goes on, if that is before `limit`. */
static void resume_unit(struct sweep *s, uint32_t limit)
{
    uint32_t at = s->unit_resumes;
    if (at < limit) {
        s->unit_resumes = UINT32_MAX;
        put_scope(s, at, innermost(s));
    }
}

/* Process the rows before `limit`. */
static void take_rows(struct sweep *s, uint32_t limit)
{
    struct convert *c = s->c;
    for (; s->row < c->row_count && c->rows[s->row].start < limit; s->row++) {
        const struct row *row = &c->rows[s->row];
        resume_unit(s, row->start);
        s->in_rows = row->file != CONVERT_NONE;
        if (s->in_rows) {
            s->file = convert_file(c, row->file);
            s->line = row->line;
        }
        put_scope(s, row->start, innermost(s));
    }
}

/* Close the ranges that end at or before `limit`, innermost first. */
static void close_ranges(struct sweep *s, uint64_t limit)
{
    while (s->open_count != 0 && s->open[s->open_count - 1].high <= limit) {
        uint32_t high = s->open[s->open_count - 1].high;
        take_rows(s, high);
        while (s->open_count != 0 && s->open[s->open_count - 1].high <= high) {
            s->open_count--;
        }
        put_scope(s, high, innermost(s));
    }
}

static void open_range(struct sweep *s, const struct scope_range *range)
{
    size_t at = s->open_count;
    if (at == CONVERT_DEPTH_MAX) { /* drop ranges that have ended below an open one */
        size_t kept = 0;
        for (size_t i = 0; i < s->open_count; i++) {
            if (s->open[i].high > range->low) {
                s->open[kept++] = s->open[i];
            }
        }
        s->open_count = at = kept;
        if (at == CONVERT_DEPTH_MAX) {
            convert_damage(s->c, "too many ranges over one address");
            return;
        }
    }
    for (; at > 0 && s->open[at - 1].scope > range->scope; at--) {
        s->open[at] = s->open[at - 1];
    }
    resume_unit(s, range->low);
    s->unit_resumes = UINT32_MAX;
    s->open[at] = (struct open_range){range->high, range->scope};
    s->open_count++;
    put_scope(s, range->low, innermost(s));
}

void convert_flatten(struct convert *c)
{
    struct sweep s;
    s.c = c;
    s.open_count = 0;
    s.row = 0;
    s.unit_resumes = UINT32_MAX;
    s.in_rows = false;
    s.in_chunk = false;
    convert_bounds_begin(c);
    sort_ranges(c);
    for (size_t i = 0; i < c->scope_range_count && c->status == SONDE_OK; i++) {
        const struct scope_range *range = &c->scope_ranges[i];
        close_ranges(&s, range->low);
        take_rows(&s, range->low); /* a row that starts here comes later and replaces the line */
        open_range(&s, range);
    }
    close_ranges(&s, UINT64_MAX);
    take_rows(&s, UINT32_MAX);
    if (s.in_chunk) { /* a range that ends at the last address that fits */
        end_chunk(&s, UINT32_MAX);
    }
}
