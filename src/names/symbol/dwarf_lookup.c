// SPDX-License-Identifier: Apache-2.0
#include "dwarf_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "dwarf_constants.h"
#include "dwarf_line.h"
#include "dwarf_scan.h"
#include "mem_arena.h"
#include "mem_heap.h"

/* abstract_origin -> specification -> …: longer chains are malformed (a cycle). */
#define NAME_HOPS_MAX 8
#define PATH_MAX_SIZE 4096
/* What may be read again: abbreviations, line tables and range lists are shared by units, and a
 * hostile file has many units of one large table. In entries; opening has so many and this for each
 * byte, a look-up what is left, but at least the last. Real files need a tenth. */
#define WORK_FIRST   (1u << 24)
#define WORK_FACTOR  8u
#define WORK_LOOK_UP (1u << 20)

struct unit {
    struct sonde__dwarf_unit head;
    bool bad;
    bool loaded;
    struct sonde__dwarf_scopes scopes;
    struct sonde__dwarf_lines lines;
    const char **paths; /* of each file, composed at first use; null: not yet */
};

struct unit_range {
    uint64_t low, high;
    uint32_t unit;
};

struct sonde__dwarf {
    struct sonde__dwarf_sections sections;
    struct sonde__dwarf_abbrevs abbrevs; /* of the unit read last */
    struct sonde__arena arena;
    struct unit *units; /* by offset */
    size_t count, capacity;
    struct unit_range *ranges; /* sorted by low */
    size_t range_count, range_capacity;
    uint64_t *range_reach; /* greatest high of ranges[0..i]: where a search may stop */
    uint64_t work_left;
    bool out_of_memory;
};

static bool spend(struct sonde__dwarf *d, uint64_t amount)
{
    if (amount > d->work_left) {
        d->work_left = 0;
        return false;
    }
    d->work_left -= amount;
    return true;
}

static enum sonde_status load_abbrevs(struct sonde__dwarf *d, const struct sonde__dwarf_unit *unit)
{
    bool kept = d->abbrevs.valid && d->abbrevs.offset == unit->abbrev_offset;
    enum sonde_status status;
    if (d->work_left == 0) {
        return SONDE_LIMIT;
    }
    status = sonde__dwarf_abbrevs_load(&d->sections, unit->abbrev_offset, &d->abbrevs);
    if (!kept) {
        (void)spend(d, d->abbrevs.attr_count + d->abbrevs.count);
    }
    return status;
}

/* --- opening --- */

struct range_sink {
    struct sonde__dwarf *dwarf;
    uint32_t unit;
    bool any;
};

static void add_range(void *ctx, uint64_t low, uint64_t high)
{
    struct range_sink *sink = ctx;
    struct sonde__dwarf *d = sink->dwarf;
    if (!spend(d, 1)) {
        return;
    }
    if (!sonde__mem_grow(&d->ranges, d->range_count, &d->range_capacity, sizeof *d->ranges)) {
        d->out_of_memory = true;
        return;
    }
    d->ranges[d->range_count++] = (struct unit_range){low, high, sink->unit};
    sink->any = true;
}

static bool load(struct sonde__dwarf *d, struct unit *u);

/* The unit's own list of ranges, else those of its functions. */
static void add_unit_ranges(struct sonde__dwarf *d, struct unit *u)
{
    struct range_sink sink = {d, (uint32_t)(u - d->units), false};
    if (u->head.has_ranges) {
        (void)sonde__dwarf_each_range(&d->sections, &u->head, u->head.ranges, add_range, &sink);
    } else if (u->head.has_low_pc && u->head.low_pc < u->head.high_pc &&
               !sonde__dwarf_discarded(&u->head, u->head.low_pc)) {
        add_range(&sink, u->head.low_pc, u->head.high_pc);
    }
    if (!sink.any && !u->head.has_low_pc && !u->head.has_ranges &&
        u->head.tag == DW_TAG_compile_unit && load(d, u)) {
        for (size_t i = 0; i < u->scopes.range_count; i++) {
            add_range(&sink, u->scopes.ranges[i].low, u->scopes.ranges[i].high);
        }
    }
}

static enum sonde_status read_units(struct sonde__dwarf *d)
{
    uint64_t offset = 0;
    for (;;) {
        struct sonde__dwarf_unit head;
        enum sonde_status status = sonde__dwarf_unit_read(&d->sections, offset, &head);
        if (status == SONDE_ABSENT || status == SONDE_CORRUPT) {
            return SONDE_OK; /* behind a broken header nothing can be found */
        }
        if (d->count == UINT32_MAX ||
            !sonde__mem_grow(&d->units, d->count, &d->capacity, sizeof *d->units)) {
            return SONDE_MEMORY;
        }
        struct unit *u = &d->units[d->count++];
        *u = (struct unit){.head = head, .bad = status != SONDE_OK};
        if (!u->bad) {
            status = load_abbrevs(d, &head);
            if (status == SONDE_OK) {
                status = sonde__dwarf_unit_root(&d->sections, &d->abbrevs, &u->head);
            }
            if (status == SONDE_MEMORY) {
                return status;
            }
            u->bad = status != SONDE_OK;
        }
        offset = head.end;
    }
}

static int by_low(const void *a, const void *b)
{
    const struct unit_range *x = a;
    const struct unit_range *y = b;
    if (x->low != y->low) {
        return x->low < y->low ? -1 : 1;
    }
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static enum sonde_status sort_ranges(struct sonde__dwarf *d)
{
    uint64_t reach = 0;
    for (size_t i = 0; i < d->count; i++) {
        if (!d->units[i].bad) {
            add_unit_ranges(d, &d->units[i]);
        }
    }
    d->range_reach = sonde__mem_alloc_array(d->range_count, sizeof *d->range_reach);
    if (d->out_of_memory || d->range_reach == NULL) {
        return SONDE_MEMORY;
    }
    if (d->range_count > 0) {
        qsort(d->ranges, d->range_count, sizeof *d->ranges, by_low);
    }
    for (size_t i = 0; i < d->range_count; i++) {
        reach = d->ranges[i].high > reach ? d->ranges[i].high : reach;
        d->range_reach[i] = reach;
    }
    return SONDE_OK;
}

enum sonde_status sonde__dwarf_open(const struct sonde__dwarf_sections *sections,
                                    struct sonde__dwarf **ret_dwarf)
{
    struct sonde__dwarf *d = sonde__mem_alloc_zeroed(sizeof *d);
    enum sonde_status status;
    if (d == NULL) {
        return SONDE_MEMORY;
    }
    d->sections = *sections;
    d->work_left = WORK_FIRST + WORK_FACTOR * (sonde__base_bytes_left(&sections->info) +
                                               sonde__base_bytes_left(&sections->abbrev));
    sonde__arena_init(&d->arena);
    status = read_units(d);
    if (status == SONDE_OK) {
        status = d->count == 0 ? SONDE_ABSENT : sort_ranges(d);
    }
    if (status != SONDE_OK) {
        sonde__dwarf_close(d);
        return status;
    }
    *ret_dwarf = d;
    return SONDE_OK;
}

void sonde__dwarf_close(struct sonde__dwarf *d)
{
    if (d == NULL) {
        return;
    }
    for (size_t i = 0; i < d->count; i++) {
        sonde__dwarf_scopes_done(&d->units[i].scopes);
        sonde__dwarf_lines_done(&d->units[i].lines);
        sonde__mem_free(d->units[i].paths);
    }
    sonde__dwarf_abbrevs_done(&d->abbrevs);
    sonde__arena_done(&d->arena);
    sonde__mem_free(d->units);
    sonde__mem_free(d->ranges);
    sonde__mem_free(d->range_reach);
    sonde__mem_free(d);
}

/* --- one unit --- */

static bool load(struct sonde__dwarf *d, struct unit *u)
{
    if (u->loaded || u->bad) {
        return u->loaded;
    }
    u->bad = true; /* until all has gone well */
    if (load_abbrevs(d, &u->head) != SONDE_OK ||
        sonde__dwarf_scan(&d->sections, &u->head, &d->abbrevs, &u->scopes) != SONDE_OK) {
        return false;
    }
    if (u->head.has_stmt_list && d->work_left != 0) {
        /* without lines the functions are still right */
        (void)!sonde__dwarf_lines_load(&d->sections, &u->head, &u->lines);
        (void)spend(d, u->lines.row_count + u->lines.file_count + u->lines.directory_count);
    }
    u->paths = sonde__mem_alloc_zeroed((u->lines.file_count + 1) * sizeof *u->paths);
    if (u->paths == NULL) {
        return false;
    }
    u->bad = false;
    u->loaded = true;
    return true;
}

static const char *file_path(struct sonde__dwarf *d, struct unit *u, uint32_t file)
{
    char text[PATH_MAX_SIZE];
    if (file >= u->lines.file_count) {
        return "";
    }
    if (u->paths[file] == NULL) {
        u->paths[file] = "";
        if (sonde__dwarf_file_path(&u->lines, &u->head, file, text, sizeof text)) {
            const char *copy = sonde__arena_copy_string(&d->arena, text);
            u->paths[file] = copy != NULL ? copy : "";
        }
    }
    return u->paths[file];
}

/* --- names --- */

static struct unit *unit_of_offset(struct sonde__dwarf *d, uint64_t offset)
{
    size_t after = SONDE__SEARCH(0, d->count, i, d->units[i].head.offset <= offset);
    if (after == 0 || offset >= d->units[after - 1].head.end || d->units[after - 1].bad) {
        return NULL;
    }
    return &d->units[after - 1];
}

/* Read name and onward reference of one DIE. */
static bool read_name(struct sonde__dwarf *d, uint64_t die, const char **name, const char **linkage,
                      uint64_t *onward)
{
    struct unit *u = unit_of_offset(d, die);
    struct sonde__bytes at;
    if (u == NULL || load_abbrevs(d, &u->head) != SONDE_OK) {
        return false;
    }
    at = sonde__base_bytes_part(&d->sections.info, 0, u->head.end);
    (void)sonde__base_bytes_seek(&at, die);
    const struct sonde__dwarf_abbrev *abbrev =
        sonde__dwarf_abbrev_find(&d->abbrevs, sonde__base_bytes_uleb(&at));
    for (uint32_t i = 0; abbrev != NULL && i < abbrev->count && !at.failed; i++) {
        const struct sonde__dwarf_attr *attr = &d->abbrevs.attrs[abbrev->first + i];
        struct sonde__dwarf_value value = sonde__dwarf_read(&d->sections, &u->head, attr, &at);
        bool text = value.kind == SONDE__DWARF_STRING && value.s[0] != '\0';
        if (attr->name == DW_AT_name && text && *name == NULL) {
            *name = value.s;
        } else if ((attr->name == DW_AT_linkage_name || attr->name == DW_AT_MIPS_linkage_name) &&
                   text) {
            *linkage = value.s;
        } else if ((attr->name == DW_AT_abstract_origin || attr->name == DW_AT_specification) &&
                   value.kind == SONDE__DWARF_REF) {
            *onward = value.u;
        }
    }
    return abbrev != NULL && !at.failed;
}

static const char *function_name(struct sonde__dwarf *d, uint64_t die)
{
    const char *name = NULL;
    const char *linkage = NULL;
    for (int hop = 0; hop < NAME_HOPS_MAX && linkage == NULL; hop++) {
        uint64_t onward = 0;
        if (!read_name(d, die, &name, &linkage, &onward) || onward == 0) {
            break;
        }
        die = onward;
    }
    return linkage != NULL ? linkage : name != NULL ? name : "";
}

/* --- look-up --- */

/* The frames of one unit at an address; 0: it knows nothing of it. */
static size_t unit_frames(struct sonde__dwarf *d, struct unit *u, uint64_t vaddr,
                          struct sonde__dwarf_frame *frames, size_t max)
{
    const struct sonde__dwarf_row *row;
    struct sonde__dwarf_frame frame = {"", "", 0, 0, false};
    size_t n = 0;
    if (!load(d, u)) {
        return 0;
    }
    row = sonde__dwarf_lines_find(&u->lines, vaddr);
    if (row != NULL) {
        frame.file = file_path(d, u, row->file);
        frame.line = row->line;
        frame.column = row->column;
    }
    uint32_t scope = sonde__dwarf_scope_at(&u->scopes, vaddr);
    if (scope == SONDE__DWARF_NO_SCOPE) {
        if (row == NULL) {
            return 0;
        }
        if (max > 0) {
            frames[0] = frame;
        }
        return 1;
    }
    for (; scope != SONDE__DWARF_NO_SCOPE; n++) {
        const struct sonde__dwarf_scope *s = &u->scopes.scopes[scope];
        if (n < max) {
            frame.name = function_name(d, s->name_die);
            frame.inlined = s->parent != SONDE__DWARF_NO_SCOPE;
            frames[n] = frame;
        }
        frame = (struct sonde__dwarf_frame){"", file_path(d, u, s->call_file), s->call_line,
                                            s->call_column, false};
        scope = s->parent;
    }
    return n;
}

size_t sonde__dwarf_lookup(struct sonde__dwarf *d, uint64_t vaddr,
                           struct sonde__dwarf_frame *ret_frames, size_t max)
{
    size_t lines_only = 0;
    d->work_left = d->work_left > WORK_LOOK_UP ? d->work_left : WORK_LOOK_UP;
    /* the first range that starts above */
    size_t after = SONDE__SEARCH(0, d->range_count, i, d->ranges[i].low <= vaddr);
    for (size_t i = after; i > 0 && d->range_reach[i - 1] > vaddr; i--) {
        if (!spend(d, 1)) {
            break;
        }
        if (d->ranges[i - 1].high <= vaddr) {
            continue;
        }
        size_t n = unit_frames(d, &d->units[d->ranges[i - 1].unit], vaddr, ret_frames, max);
        if (n > 1 || (n == 1 && (max == 0 || ret_frames[0].name[0] != '\0'))) {
            return n;
        }
        lines_only = n > lines_only ? n : lines_only;
    }
    return lines_only;
}

struct sonde__dwarf_counts sonde__dwarf_counts(const struct sonde__dwarf *d)
{
    struct sonde__dwarf_counts counts = {(uint32_t)d->count, 0};
    for (size_t i = 0; i < d->count; i++) {
        counts.bad_units += d->units[i].bad;
    }
    return counts;
}
