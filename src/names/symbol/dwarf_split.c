// SPDX-License-Identifier: Apache-2.0
#include "dwarf_split.h"

#include "dwarf_constants.h"

/* Limit of columns in an index; version 5 defines eight. */
enum { COLUMNS_MAX = 16 };

bool sonde__dwarf_split_find(const struct sonde__dwarf_sections *file, uint64_t id,
                             uint64_t *ret_offset)
{
    struct sonde__dwarf_abbrevs abbrevs = {0};
    struct sonde__dwarf_unit unit;
    enum sonde_status status;
    bool found = false;
    for (uint64_t offset = 0; !found; offset = unit.end) {
        status = sonde__dwarf_unit_read(file, offset, &unit);
        if (status == SONDE_ABSENT || status == SONDE_CORRUPT) {
            break;
        }
        if (status != SONDE_OK || unit.type == DW_UT_type || unit.type == DW_UT_split_type) {
            continue;
        }
        if (!unit.has_dwo_id) { /* before version 5 the DIE has it */
            if (sonde__dwarf_abbrevs_load(file, unit.abbrev_offset, &abbrevs) != SONDE_OK ||
                sonde__dwarf_unit_root(file, &abbrevs, &unit) != SONDE_OK) {
                continue;
            }
        }
        found = unit.has_dwo_id && unit.dwo_id == id;
        if (found) {
            *ret_offset = offset;
        }
    }
    sonde__dwarf_abbrevs_done(&abbrevs);
    return found;
}

/* --- packages --- */

struct package {
    struct sonde__bytes index;
    uint32_t version, columns, units, slots;
    size_t slots_at; /* followed by the slots' rows, and the columns' kinds, offsets and sizes */
};

static bool open_index(const struct sonde__bytes *index, struct package *ret_package)
{
    struct package p = {.index = *index};
    struct sonde__bytes *at = &p.index;
    at->failed = false;
    at->at = at->begin;
    p.version = sonde__base_bytes_u32(at) & 0xffff; /* in version 5 two bytes, and two of padding */
    p.columns = sonde__base_bytes_u32(at);
    p.units = sonde__base_bytes_u32(at);
    p.slots = sonde__base_bytes_u32(at);
    p.slots_at = sonde__base_bytes_offset(at);
    if (at->failed || (p.version != 2 && p.version != 5) || p.columns == 0 ||
        p.columns > COLUMNS_MAX || p.slots == 0 || (p.slots & (p.slots - 1)) != 0) {
        return false;
    }
    uint64_t needed =
        (uint64_t)p.slots * 12 + (uint64_t)p.columns * 4 + (uint64_t)p.units * p.columns * 8;
    if (!sonde__base_bytes_need(at, needed)) {
        return false;
    }
    *ret_package = p;
    return true;
}

static uint32_t index_u32(const struct package *p, uint64_t at)
{
    struct sonde__bytes b = p->index;
    (void)sonde__base_bytes_seek(&b, at);
    return sonde__base_bytes_u32(&b);
}

/* §7.3.5.3: open addressing, with the id's upper half as the step. */
static uint32_t row_of(const struct package *p, uint64_t id)
{
    uint32_t mask = p->slots - 1;
    uint32_t slot = (uint32_t)id & mask;
    uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;
    uint64_t rows_at = p->slots_at + (uint64_t)p->slots * 8;
    for (uint32_t i = 0; i < p->slots; i++, slot = (slot + step) & mask) {
        uint32_t row = index_u32(p, rows_at + (uint64_t)slot * 4);
        uint64_t at = p->slots_at + (uint64_t)slot * 8;
        uint64_t signature = index_u32(p, at) | (uint64_t)index_u32(p, at + 4) << 32;
        if (row == 0 && signature == 0) {
            return 0;
        }
        if (signature == id) {
            return row <= p->units ? row : 0;
        }
    }
    return 0;
}

/* The section of a column; null: unused. */
static struct sonde__bytes *column(struct sonde__dwarf_sections *s, uint32_t version, uint32_t kind)
{
    switch (kind) {
    case 1:
        return &s->info;
    case 2:
        return version == 2 ? &s->types : NULL;
    case 3:
        return &s->abbrev;
    case 6:
        return &s->str_offsets;
    case 8:
        return version == 5 ? &s->rnglists : NULL;
    default:
        return NULL;
    }
}

/* Cut the package's sections to the parts in a row of the index. False: malformed. */
static bool cut_row(const struct package *p, uint32_t row, struct sonde__dwarf_sections *sections)
{
    uint64_t kinds_at = p->slots_at + (uint64_t)p->slots * 12;
    uint64_t offsets_at = kinds_at + (uint64_t)p->columns * 4;
    uint64_t sizes_at = offsets_at + (uint64_t)p->units * p->columns * 4;
    uint64_t cells = (uint64_t)(row - 1) * p->columns * 4;
    for (uint32_t i = 0; i < p->columns; i++) {
        struct sonde__bytes *section =
            column(sections, p->version, index_u32(p, kinds_at + 4 * (uint64_t)i));
        if (section == NULL) {
            continue;
        }
        struct sonde__bytes part =
            sonde__base_bytes_part(section, index_u32(p, offsets_at + cells + 4 * (uint64_t)i),
                                   index_u32(p, sizes_at + cells + 4 * (uint64_t)i));
        if (part.failed) {
            return false;
        }
        *section = part;
    }
    return true;
}

bool sonde__dwarf_package_find(const struct sonde__dwarf_sections *package, uint64_t id,
                               struct sonde__dwarf_sections *ret_sections, uint32_t *ret_row)
{
    struct sonde__dwarf_sections sections = *package;
    struct package p;
    uint32_t row = open_index(&package->cu_index, &p) ? row_of(&p, id) : 0;
    if (row == 0 || !cut_row(&p, row, &sections)) {
        return false;
    }
    *ret_sections = sections;
    *ret_row = row;
    return true;
}

bool sonde__dwarf_package_type(const struct sonde__dwarf_sections *package, uint64_t signature,
                               struct sonde__dwarf_sections *ret_sections)
{
    struct sonde__dwarf_sections sections = *package;
    struct package p;
    uint32_t row = open_index(&package->tu_index, &p) ? row_of(&p, signature) : 0;
    if (row == 0 || !cut_row(&p, row, &sections)) {
        return false;
    }
    if (p.version == 2) {
        sections.info = sections.types;
    }
    *ret_sections = sections;
    return true;
}

bool sonde__dwarf_package_type_at(const struct sonde__dwarf_sections *package, uint32_t index,
                                  uint64_t *ret_signature)
{
    struct package p;
    if (!open_index(&package->tu_index, &p) || index >= p.slots) {
        return false;
    }
    uint64_t at = p.slots_at + (uint64_t)index * 8;
    *ret_signature = index_u32(&p, at) | (uint64_t)index_u32(&p, at + 4) << 32;
    return true;
}

/* --- units --- */

void sonde__dwarf_split_join(struct sonde__dwarf_sections *split,
                             const struct sonde__dwarf_sections *skeleton)
{
    split->addr = skeleton->addr;
    split->line = skeleton->line;
    split->line_str = skeleton->line_str;
    split->ranges = skeleton->ranges;
    split->supplementary = NULL;
}

enum sonde_status sonde__dwarf_split_unit(const struct sonde__dwarf_split *split,
                                          const struct sonde__dwarf_unit *skeleton,
                                          struct sonde__dwarf_abbrevs *abbrevs,
                                          struct sonde__dwarf_unit *ret_unit)
{
    struct sonde__dwarf_unit unit;
    enum sonde_status status = sonde__dwarf_unit_read(&split->sections, split->offset, &unit);
    if (status != SONDE_OK) {
        return SONDE_CORRUPT;
    }
    abbrevs->valid = false; /* an offset in another file's section */
    SONDE_TRY(sonde__dwarf_abbrevs_load(&split->sections, unit.abbrev_offset, abbrevs));
    SONDE_TRY(sonde__dwarf_unit_root(&split->sections, abbrevs, &unit));
    if (!unit.has_dwo_id || unit.dwo_id != skeleton->dwo_id) {
        return SONDE_CORRUPT;
    }
    unit.addr_base = skeleton->addr_base;
    unit.split_ranges_base = skeleton->gnu_ranges_base;
    unit.comp_dir = skeleton->comp_dir;
    unit.low_pc = skeleton->low_pc;
    unit.has_low_pc = skeleton->has_low_pc;
    unit.stmt_list = skeleton->stmt_list;
    unit.has_stmt_list = skeleton->has_stmt_list;
    unit.dwo_name = NULL;
    *ret_unit = unit;
    return SONDE_OK;
}
