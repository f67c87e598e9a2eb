// SPDX-License-Identifier: Apache-2.0
#include "dwarf_scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

/* Reasons: the deepest nesting met in real files is below 100; the largest unit of ceph has about
 * 1e5 inlined calls. A hostile unit may not take more than this. */
#define DEPTH_MAX  1024
#define SCOPES_MAX (1u << 24)

struct scan {
    const struct sonde__dwarf_sections *sections;
    const struct sonde__dwarf_unit *unit;
    const struct sonde__dwarf_abbrevs *abbrevs;
    struct sonde__dwarf_scopes *out;
    uint32_t scope_at[DEPTH_MAX]; /* the scope that a DIE of this depth stands in */
    enum sonde_status status;
};

/* What the scan reads of a function's or inlined call's DIE. */
struct entry {
    struct sonde__dwarf_value low, high, ranges, call_file, call_line, call_column;
    uint64_t origin;
    bool declaration;
};

static void read_entry(const struct scan *s, const struct sonde__dwarf_abbrev *abbrev,
                       struct sonde__bytes *at, struct entry *e)
{
    for (uint32_t i = 0; i < abbrev->count; i++) {
        const struct sonde__dwarf_attr *attr = &s->abbrevs->attrs[abbrev->first + i];
        struct sonde__dwarf_value *to = NULL;
        struct sonde__dwarf_value value;
        switch (attr->name) {
        case DW_AT_low_pc:
            to = &e->low;
            break;
        case DW_AT_high_pc:
            to = &e->high;
            break;
        case DW_AT_ranges:
            to = &e->ranges;
            break;
        case DW_AT_call_file:
            to = &e->call_file;
            break;
        case DW_AT_call_line:
            to = &e->call_line;
            break;
        case DW_AT_call_column:
            to = &e->call_column;
            break;
        case DW_AT_declaration:
            e->declaration = true;
            break;
        case DW_AT_abstract_origin:
        case DW_AT_specification:
            value = sonde__dwarf_read(s->sections, s->unit, attr, at);
            if (value.kind == SONDE__DWARF_REF) {
                e->origin = value.u;
            }
            continue;
        default:
            break;
        }
        if (to != NULL) {
            *to = sonde__dwarf_read(s->sections, s->unit, attr, at);
        } else {
            sonde__dwarf_skip(s->unit, attr, at);
        }
    }
}

struct range_sink {
    struct scan *scan;
    uint32_t scope;
    bool any;
};

static void add_range(void *ctx, uint64_t low, uint64_t high)
{
    struct range_sink *sink = ctx;
    struct sonde__dwarf_scopes *out = sink->scan->out;
    if (out->range_count >= SCOPES_MAX ||
        !sonde__mem_grow(&out->ranges, out->range_count, &out->range_capacity,
                         sizeof *out->ranges)) {
        sink->scan->status = out->range_count >= SCOPES_MAX ? SONDE_LIMIT : SONDE_MEMORY;
        return;
    }
    out->ranges[out->range_count++] = (struct sonde__dwarf_range){low, high, sink->scope};
    sink->any = true;
}

static void add_ranges(struct range_sink *sink, const struct entry *e)
{
    struct scan *s = sink->scan;
    if (e->ranges.kind != SONDE__DWARF_NONE) {
        if (!sonde__dwarf_each_range(s->sections, s->unit, e->ranges.u, add_range, sink)) {
            s->out->damaged = true;
        }
    } else if (e->low.kind == SONDE__DWARF_ADDRESS && e->high.kind != SONDE__DWARF_NONE) {
        uint64_t high = e->high.kind == SONDE__DWARF_CONSTANT ? e->low.u + e->high.u : e->high.u;
        if (e->low.u < high && !sonde__dwarf_discarded(s->unit, e->low.u)) {
            add_range(sink, e->low.u, high);
        }
    }
}

/* The scope that children of this DIE stand in. */
static uint32_t add_scope(struct scan *s, uint64_t die, unsigned tag, const struct entry *e,
                          uint32_t enclosing)
{
    struct sonde__dwarf_scopes *out = s->out;
    bool inlined = tag == DW_TAG_inlined_subroutine;
    struct range_sink sink = {s, (uint32_t)out->count, false};
    if (e->declaration || (inlined && enclosing == SONDE__DWARF_NO_SCOPE)) {
        return SONDE__DWARF_NO_SCOPE;
    }
    if (out->count >= SCOPES_MAX ||
        !sonde__mem_grow(&out->scopes, out->count, &out->capacity, sizeof *out->scopes)) {
        s->status = out->count >= SCOPES_MAX ? SONDE_LIMIT : SONDE_MEMORY;
        return SONDE__DWARF_NO_SCOPE;
    }
    add_ranges(&sink, e);
    /* An inlined call without ranges (version 2 has no way to write several) may hold ones with
     * code, which were then inlined through it; a function without code is abstract or discarded.
     */
    if (!sink.any && !inlined) {
        return SONDE__DWARF_NO_SCOPE;
    }
    out->scopes[out->count] = (struct sonde__dwarf_scope){
        .name_die = e->origin != 0 ? e->origin : die,
        .parent = inlined ? enclosing : SONDE__DWARF_NO_SCOPE,
        .depth = inlined ? out->scopes[enclosing].depth + 1 : 0,
        .call_file = (uint32_t)e->call_file.u,
        .call_line = (uint32_t)e->call_line.u,
        .call_column = (uint32_t)e->call_column.u,
    };
    return (uint32_t)out->count++;
}

static void scan_dies(struct scan *s)
{
    struct sonde__bytes at = sonde__base_bytes_part(&s->sections->info, 0, s->unit->end);
    unsigned depth = 0;
    (void)sonde__base_bytes_seek(&at, s->unit->die_offset);
    s->scope_at[0] = SONDE__DWARF_NO_SCOPE;
    while (sonde__base_bytes_left(&at) > 0 && s->status == SONDE_OK) {
        uint64_t die = sonde__base_bytes_offset(&at);
        uint64_t code = sonde__base_bytes_uleb(&at);
        if (code == 0) {
            if (depth == 0) {
                break; /* padding behind the last DIE */
            }
            depth--;
            continue;
        }
        const struct sonde__dwarf_abbrev *abbrev = sonde__dwarf_abbrev_find(s->abbrevs, code);
        if (abbrev == NULL || at.failed) {
            (void)sonde__base_bytes_fail(&at);
            break;
        }
        uint32_t scope = s->scope_at[depth];
        if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine) {
            struct entry e = {0};
            read_entry(s, abbrev, &at, &e);
            if (!at.failed) {
                scope = add_scope(s, die, abbrev->tag, &e, scope);
            }
        } else {
            for (uint32_t i = 0; i < abbrev->count; i++) {
                sonde__dwarf_skip(s->unit, &s->abbrevs->attrs[abbrev->first + i], &at);
            }
        }
        if (abbrev->children) {
            if (depth + 1 >= DEPTH_MAX) {
                (void)sonde__base_bytes_fail(&at);
                break;
            }
            s->scope_at[++depth] = scope;
        }
    }
    s->out->damaged = s->out->damaged || at.failed;
}

/* --- flattening --- */

struct keyed {
    struct sonde__dwarf_range range;
    uint32_t depth;
};

static int by_start(const void *a, const void *b)
{
    const struct keyed *x = a;
    const struct keyed *y = b;
    if (x->range.low != y->range.low) {
        return x->range.low < y->range.low ? -1 : 1;
    }
    if (x->depth != y->depth) {
        return x->depth < y->depth ? -1 : 1;
    }
    return x->range.high > y->range.high ? -1 : x->range.high < y->range.high;
}

static bool add_segment(struct sonde__dwarf_scopes *out, uint64_t start, uint32_t scope)
{
    if (out->segment_count > 0 && out->segments[out->segment_count - 1].start == start) {
        out->segments[out->segment_count - 1].scope = scope;
        return true;
    }
    if (!sonde__mem_grow(&out->segments, out->segment_count, &out->segment_capacity,
                         sizeof *out->segments)) {
        return false;
    }
    out->segments[out->segment_count++] = (struct sonde__dwarf_segment){start, scope};
    return true;
}

/* Open ranges, outermost first. Depth of nesting of ranges is at most the depth of DIEs, but
 * malformed ranges may overlap in any way: what does not fit is left out. */
struct open_range {
    uint64_t high;
    uint32_t scope;
};

static bool sweep(struct sonde__dwarf_scopes *out, const struct keyed *keyed)
{
    static_assert(DEPTH_MAX <= 4096, "the array lies on the stack");
    struct open_range open[DEPTH_MAX];
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; i <= out->range_count && ok; i++) {
        bool last = i == out->range_count;
        while (ok && n > 0 && (last || open[n - 1].high <= keyed[i].range.low)) {
            n--;
            ok = add_segment(out, open[n].high, n > 0 ? open[n - 1].scope : SONDE__DWARF_NO_SCOPE);
        }
        if (last || n == DEPTH_MAX || !ok) {
            continue;
        }
        uint64_t high = keyed[i].range.high;
        if (n > 0 && high > open[n - 1].high) {
            high = open[n - 1].high;
        }
        ok = add_segment(out, keyed[i].range.low, keyed[i].range.scope);
        open[n++] = (struct open_range){high, keyed[i].range.scope};
    }
    return ok;
}

static enum sonde_status flatten(struct sonde__dwarf_scopes *out)
{
    struct keyed *keyed = sonde__mem_alloc_array(out->range_count, sizeof *keyed);
    bool ok;
    if (keyed == NULL) {
        return SONDE_MEMORY;
    }
    for (size_t i = 0; i < out->range_count; i++) {
        keyed[i] = (struct keyed){out->ranges[i], out->scopes[out->ranges[i].scope].depth};
    }
    qsort(keyed, out->range_count, sizeof *keyed, by_start);
    ok = sweep(out, keyed);
    sonde__mem_free(keyed);
    return ok ? SONDE_OK : SONDE_MEMORY;
}

enum sonde_status sonde__dwarf_scan(const struct sonde__dwarf_sections *sections,
                                    const struct sonde__dwarf_unit *unit,
                                    const struct sonde__dwarf_abbrevs *abbrevs,
                                    struct sonde__dwarf_scopes *scopes)
{
    struct scan s = {.sections = sections, .unit = unit, .abbrevs = abbrevs, .out = scopes};
    scan_dies(&s);
    SONDE_TRY(s.status);
    return flatten(scopes);
}

void sonde__dwarf_scopes_done(struct sonde__dwarf_scopes *scopes)
{
    sonde__mem_free(scopes->scopes);
    sonde__mem_free(scopes->ranges);
    sonde__mem_free(scopes->segments);
    memset(scopes, 0, sizeof *scopes);
}

uint32_t sonde__dwarf_scope_at(const struct sonde__dwarf_scopes *scopes, uint64_t address)
{
    size_t after = SONDE__SEARCH(0, scopes->segment_count, i, scopes->segments[i].start <= address);
    return after == 0 ? SONDE__DWARF_NO_SCOPE : scopes->segments[after - 1].scope;
}
