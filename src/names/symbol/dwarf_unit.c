// SPDX-License-Identifier: Apache-2.0
/* Unit headers (DWARF 5 §7.5.1) and the unit's own DIE.
 *
 * The DIE is read twice, because bases (for strx, addrx, rnglistx) may come after attributes that
 * need them. */
#include "dwarf_unit.h"
#include "dwarf_constants.h"

/* The size of everything before the DIEs, by version and unit type. */
static void read_header(struct sonde__bytes *at, struct sonde__dwarf_unit *unit)
{
    if (unit->version >= 5) {
        unit->type = sonde__base_bytes_u8(at);
        unit->address_size = sonde__base_bytes_u8(at);
        unit->abbrev_offset = sonde__base_bytes_uint(at, unit->offset_size);
        if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile) {
            unit->dwo_id = sonde__base_bytes_u64(at);
            unit->has_dwo_id = true;
        } else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type) {
            (void)sonde__base_bytes_u64(at); /* type signature */
            (void)sonde__base_bytes_uint(at, unit->offset_size);
        }
    } else {
        unit->type = DW_UT_compile;
        unit->abbrev_offset = sonde__base_bytes_uint(at, unit->offset_size);
        unit->address_size = sonde__base_bytes_u8(at);
    }
}

enum sonde_status sonde__dwarf_unit_read(const struct sonde__dwarf_sections *sections,
                                         uint64_t offset, struct sonde__dwarf_unit *ret_unit)
{
    struct sonde__bytes at = sections->info;
    struct sonde__dwarf_unit unit = {.offset = offset, .offset_size = 4};
    uint64_t length;
    at.failed = false;
    if (offset >= (uint64_t)(at.end - at.begin)) {
        return SONDE_ABSENT;
    }
    (void)sonde__base_bytes_seek(&at, offset);
    length = sonde__base_bytes_u32(&at);
    if (length == 0xffffffffu) { /* 64-bit DWARF, §7.4 */
        unit.offset_size = 8;
        length = sonde__base_bytes_u64(&at);
    } else if (length >= 0xfffffff0u) {
        return SONDE_CORRUPT;
    }
    if (at.failed || length > sonde__base_bytes_left(&at)) {
        return SONDE_CORRUPT;
    }
    at.end = at.at + length;
    unit.end = (uint64_t)(at.end - at.begin);
    unit.version = sonde__base_bytes_u16(&at);
    if (unit.version < 2 || unit.version > 5) {
        *ret_unit = unit;
        return SONDE_UNSUPPORTED;
    }
    read_header(&at, &unit);
    unit.die_offset = sonde__base_bytes_offset(&at);
    /* before version 5 the string offsets of a split unit have no header; a version 5 unit without
     * a base uses the table's first entry (§7.26) */
    unit.str_offsets_base = unit.version >= 5 ? (unit.offset_size == 8 ? 16 : 8) : 0;
    unit.addr_base = unit.version >= 5 ? (unit.offset_size == 8 ? 16 : 8) : 0;
    unit.rnglists_base = unit.offset_size == 8 ? 20 : 12;
    *ret_unit = unit;
    if (at.failed || (unit.address_size != 4 && unit.address_size != 8)) {
        return SONDE_UNSUPPORTED;
    }
    return SONDE_OK;
}

static bool is_base(unsigned name)
{
    return name == DW_AT_str_offsets_base || name == DW_AT_addr_base ||
           name == DW_AT_rnglists_base || name == DW_AT_GNU_addr_base ||
           name == DW_AT_GNU_ranges_base;
}

static void set_base(struct sonde__dwarf_unit *unit, unsigned name, uint64_t value)
{
    if (name == DW_AT_str_offsets_base) {
        unit->str_offsets_base = value;
    } else if (name == DW_AT_rnglists_base) {
        unit->rnglists_base = value;
    } else if (name == DW_AT_GNU_ranges_base) {
        unit->gnu_ranges_base = value;
    } else {
        unit->addr_base = value;
    }
}

static void set_attribute(struct sonde__dwarf_unit *unit, unsigned name,
                          struct sonde__dwarf_value value, uint64_t *high, bool *high_is_size)
{
    switch (name) {
    case DW_AT_name:
        unit->name = value.kind == SONDE__DWARF_STRING ? value.s : unit->name;
        break;
    case DW_AT_comp_dir:
        unit->comp_dir = value.kind == SONDE__DWARF_STRING ? value.s : unit->comp_dir;
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        unit->dwo_name = value.kind == SONDE__DWARF_STRING ? value.s : unit->dwo_name;
        break;
    case DW_AT_GNU_dwo_id:
        unit->dwo_id = value.u;
        unit->has_dwo_id = true;
        break;
    case DW_AT_language:
        unit->language = (uint16_t)value.u;
        break;
    case DW_AT_stmt_list:
        unit->stmt_list = value.u;
        unit->has_stmt_list = true;
        break;
    case DW_AT_low_pc:
        unit->low_pc = value.u;
        unit->has_low_pc = value.kind == SONDE__DWARF_ADDRESS;
        break;
    case DW_AT_high_pc:
        *high = value.u;
        *high_is_size = value.kind == SONDE__DWARF_CONSTANT;
        break;
    case DW_AT_ranges:
        unit->ranges = value.u;
        unit->has_ranges = value.kind != SONDE__DWARF_NONE;
        break;
    default:
        break;
    }
}

enum sonde_status sonde__dwarf_unit_root(const struct sonde__dwarf_sections *sections,
                                         const struct sonde__dwarf_abbrevs *abbrevs,
                                         struct sonde__dwarf_unit *unit)
{
    uint64_t high = 0;
    bool high_is_size = false;
    for (int pass = 0; pass < 2; pass++) {
        struct sonde__bytes at = sonde__base_bytes_part(&sections->info, 0, unit->end);
        (void)sonde__base_bytes_seek(&at, unit->die_offset);
        const struct sonde__dwarf_abbrev *abbrev =
            sonde__dwarf_abbrev_find(abbrevs, sonde__base_bytes_uleb(&at));
        if (abbrev == NULL || at.failed) {
            return SONDE_CORRUPT;
        }
        unit->tag = abbrev->tag;
        for (uint32_t i = 0; i < abbrev->count; i++) {
            const struct sonde__dwarf_attr *attr = &abbrevs->attrs[abbrev->first + i];
            if (is_base(attr->name) != (pass == 0)) {
                sonde__dwarf_skip(unit, attr, &at);
                continue;
            }
            struct sonde__dwarf_value value = sonde__dwarf_read(sections, unit, attr, &at);
            if (pass == 0) {
                set_base(unit, attr->name, value.u);
            } else {
                set_attribute(unit, attr->name, value, &high, &high_is_size);
            }
        }
        if (at.failed) {
            return SONDE_CORRUPT;
        }
    }
    unit->high_pc = high_is_size ? unit->low_pc + high : high;
    return SONDE_OK;
}
