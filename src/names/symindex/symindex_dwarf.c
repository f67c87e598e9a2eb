// SPDX-License-Identifier: Apache-2.0
/* Units are found by the ranges in their DIEs. A unit without ranges is converted on opening, and
 * the ranges of its code are used. If several units claim an address, one with a function there
 * wins over one with only a line, then the one whose range starts last. */
#include "symindex_dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "convert.h"
#include "dwarf_constants.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "symindex.h"

/* Work that each look-up gets at least; see CONVERT_WORK_FIRST. */
#define WORK_LOOK_UP ((uint64_t)1 << 20)
/* Pieces and scopes of converted units kept at most (some 150 MB); libjvm's debug information has
 * half as many. Beyond that, all are dropped. */
#define KEPT_MAX ((size_t)1 << 23)

struct unit {
    bool converted;
    uint32_t first_chunk, chunk_count;
};

struct unit_range {
    uint64_t low, high;
    uint32_t unit;
};

struct sonde__symindex_dwarf {
    struct convert c;
    struct sonde__symindex_source source;
    struct sonde__dwarf_sections sections;
    struct unit *units;        /* as c.main.unit_offsets */
    struct unit_range *ranges; /* sorted by low */
    size_t range_count, range_capacity;
    uint64_t *range_reach; /* greatest end of ranges[0..i], to stop a search early */
    const char **paths;    /* of each file; null: not composed yet */
    size_t path_count;
    bool out_of_memory;
};

/* --- one unit --- */

static void drop_units(struct sonde__symindex_dwarf *d)
{
    struct convert *c = &d->c;
    for (size_t i = 0; i < c->main.unit_count; i++) {
        d->units[i].converted = false;
    }
    c->scope_count = c->piece_count = c->chunk_count = 0;
    c->work_left = c->work_all;
}

static void convert(struct sonde__symindex_dwarf *d, uint32_t number)
{
    struct convert *c = &d->c;
    struct unit *u = &d->units[number];
    if (u->converted) {
        return;
    }
    if (c->piece_count + c->scope_count > KEPT_MAX) {
        drop_units(d);
    }
    size_t scopes = c->scope_count, pieces = c->piece_count, chunks = c->chunk_count;
    convert_unit_at(c, c->main.unit_offsets[number]);
    if (c->status != SONDE_OK) { /* not tried again */
        c->scope_count = scopes;
        c->piece_count = pieces;
        c->chunk_count = chunks;
        c->scope_range_count = 0;
        c->status = SONDE_OK;
    }
    *u = (struct unit){true, (uint32_t)chunks, (uint32_t)(c->chunk_count - chunks)};
}

static const struct piece *piece_at(const struct sonde__symindex_dwarf *d, const struct unit *u,
                                    uint32_t offset)
{
    if (u->chunk_count == 0) {
        return NULL;
    }
    const struct chunk *chunks = d->c.chunks + u->first_chunk;
    size_t behind = SONDE__SEARCH(0u, u->chunk_count, i, chunks[i].start <= offset);
    if (behind == 0 || chunks[behind - 1].end <= offset) {
        return NULL;
    }
    const struct chunk *chunk = &chunks[behind - 1];
    const struct piece *pieces = d->c.pieces + chunk->first;
    return &pieces[SONDE__SEARCH(1u, chunk->count, i, pieces[i].start <= offset) - 1];
}

/* --- opening --- */

static void add_range(void *ctx, uint64_t low, uint64_t high)
{
    struct sonde__symindex_dwarf *d = ctx;
    if (!convert_work(&d->c, 1)) {
        return;
    }
    if (!SONDE__MEM_ADD(d->ranges, d->range_count, d->range_capacity,
                        (struct unit_range){low, high, 0})) {
        d->out_of_memory = true;
        return;
    }
}

/* Add the ranges of a unit whose DIE was read: its own, or those of its code. */
static void add_unit_ranges(struct sonde__symindex_dwarf *d, uint32_t number)
{
    struct convert *c = &d->c;
    const struct sonde__dwarf_unit unit = c->unit;
    size_t first = d->range_count;
    if (unit.has_ranges) {
        (void)sonde__dwarf_each_range(c->sections, &unit, unit.ranges, add_range, d);
    } else if (unit.has_low_pc) {
        if (unit.low_pc < unit.high_pc && !sonde__dwarf_discarded(&unit, unit.low_pc)) {
            add_range(d, unit.low_pc, unit.high_pc);
        }
    } else if (unit.tag == DW_TAG_compile_unit || unit.tag == DW_TAG_skeleton_unit) {
        convert(d, number);
        for (uint32_t i = 0; i < d->units[number].chunk_count; i++) {
            const struct chunk *chunk = &c->chunks[d->units[number].first_chunk + i];
            add_range(d, c->base + chunk->start, c->base + chunk->end);
        }
    }
    for (size_t i = first; i < d->range_count; i++) {
        d->ranges[i].unit = number;
    }
}

static int by_low(const void *a, const void *b)
{
    const struct unit_range *x = a, *y = b;
    return SONDE__ORDER2(x, y, low, unit);
}

static bool sort_ranges(struct sonde__symindex_dwarf *d)
{
    uint64_t reach = 0;
    d->range_reach = sonde__mem_alloc_array(d->range_count, sizeof *d->range_reach);
    if (d->range_reach == NULL) {
        return false;
    }
    if (d->range_count > 0) {
        qsort(d->ranges, d->range_count, sizeof *d->ranges, by_low);
    }
    for (size_t i = 0; i < d->range_count; i++) {
        reach = d->ranges[i].high > reach ? d->ranges[i].high : reach;
        d->range_reach[i] = reach;
    }
    return true;
}

static enum sonde_status find_units(struct sonde__symindex_dwarf *d)
{
    struct convert *c = &d->c;
    if (!convert_begin(c)) {
        return c->status;
    }
    convert_find_units(c, &c->main);
    if (c->supplementary.sections != NULL) {
        convert_find_units(c, &c->supplementary);
    }
    SONDE_TRY(c->status);
    if (c->main.unit_count == 0) {
        return SONDE_ABSENT;
    }
    d->units = sonde__mem_alloc_zeroed(c->main.unit_count * sizeof *d->units);
    if (d->units == NULL) {
        return SONDE_MEMORY;
    }
    for (size_t i = 0; i < c->main.unit_count; i++) {
        if (convert_unit_root(c, c->main.unit_offsets[i])) {
            add_unit_ranges(d, (uint32_t)i);
        }
        SONDE_TRY(c->status);
    }
    return d->out_of_memory || !sort_ranges(d) ? SONDE_MEMORY : SONDE_OK;
}

enum sonde_status sonde__symindex_dwarf_open(const struct sonde__symindex_source *source,
                                             uint64_t start, uint64_t end,
                                             struct sonde__symindex_dwarf **ret_dwarf)
{
    struct sonde__symindex_dwarf *d = sonde__mem_alloc_zeroed(sizeof *d);
    enum sonde_status status;
    if (d == NULL) {
        return SONDE_MEMORY;
    }
    d->source = *source;
    d->sections = *source->sections;
    struct convert *c = &d->c;
    c->source = &d->source;
    c->sections = c->main.sections = &d->sections;
    c->supplementary.sections = d->sections.supplementary;
    c->base = start;
    c->size = end - start < (uint64_t)1 << 32 ? end - start : (uint64_t)1 << 32;
    c->calls_only = true;
    c->work_all =
        CONVERT_WORK_FIRST + CONVERT_WORK_FACTOR * (sonde__base_bytes_left(&d->sections.info) +
                                                    sonde__base_bytes_left(&d->sections.abbrev));
    c->work_left = c->work_all;
    status = find_units(d);
    if (status != SONDE_OK) {
        sonde__symindex_dwarf_close(d);
        return status;
    }
    *ret_dwarf = d;
    return SONDE_OK;
}

void sonde__symindex_dwarf_close(struct sonde__symindex_dwarf *d)
{
    if (d == NULL) {
        return;
    }
    convert_done(&d->c);
    sonde__mem_free(d->units);
    sonde__mem_free(d->ranges);
    sonde__mem_free(d->range_reach);
    sonde__mem_free(d->paths);
    sonde__mem_free(d);
}

/* --- strings --- */

static const char *text_of(const struct sonde__symindex_dwarf *d, uint32_t string)
{
    return string != 0 ? d->c.strings.all[string].text : "";
}

static const char *path_of(struct sonde__symindex_dwarf *d, uint32_t file)
{
    const struct convert *c = &d->c;
    if (file == 0) {
        return "";
    }
    if (file >= d->path_count) {
        const char **paths = sonde__mem_resize_array(d->paths, c->file_count, sizeof *paths);
        if (paths == NULL) {
            return "";
        }
        memset(paths + d->path_count, 0, (c->file_count - d->path_count) * sizeof *paths);
        d->paths = paths;
        d->path_count = c->file_count;
    }
    if (d->paths[file] == NULL) {
        const struct string *base = &c->strings.all[c->files[file].base];
        const struct string *directory = &c->strings.all[c->files[file].directory];
        d->paths[file] =
            symindex_path(&d->c.arena, directory->text, directory->size, base->text, base->size);
    }
    return d->paths[file];
}

/* --- look-up --- */

/* The calls of one unit at a vaddr; 0: none. */
static size_t unit_calls(struct sonde__symindex_dwarf *d, uint32_t unit, uint64_t vaddr,
                         struct sonde__call *calls, size_t max)
{
    const struct convert *c = &d->c;
    convert(d, unit);
    const struct piece *piece = piece_at(d, &d->units[unit], (uint32_t)(vaddr - c->base));
    if (piece == NULL) {
        return 0;
    }
    uint32_t scope = piece->scope, file = piece->file, line = piece->line;
    size_t n = 0;
    do {
        const struct scope *s = scope != CONVERT_NONE ? &c->scopes[scope] : NULL;
        if (n < max) {
            calls[n].name = s != NULL ? text_of(d, s->name) : "";
            calls[n].file = path_of(d, file);
            calls[n].line = line;
        }
        n++;
        if (s == NULL) {
            break;
        }
        file = s->call_file;
        line = s->call_line;
        scope = s->parent;
    } while (scope != CONVERT_NONE);
    return n;
}

size_t sonde__symindex_dwarf_find(struct sonde__symindex_dwarf *d, uint64_t vaddr,
                                  struct sonde__call *ret_calls, size_t max)
{
    struct convert *c = &d->c;
    size_t lines_only = 0;
    if (vaddr < c->base || vaddr - c->base >= c->size) {
        return 0;
    }
    c->work_left = c->work_left > WORK_LOOK_UP ? c->work_left : WORK_LOOK_UP;
    size_t above = SONDE__SEARCH((size_t)0, d->range_count, i, d->ranges[i].low <= vaddr);
    for (size_t i = above; i > 0 && d->range_reach[i - 1] > vaddr && convert_work(c, 1); i--) {
        if (d->ranges[i - 1].high <= vaddr) {
            continue;
        }
        size_t n = unit_calls(d, d->ranges[i - 1].unit, vaddr, ret_calls, max);
        if (n > 1 || (n == 1 && (max == 0 || ret_calls[0].name[0] != '\0'))) {
            return n;
        }
        lines_only = n > lines_only ? n : lines_only;
    }
    return lines_only;
}
