// SPDX-License-Identifier: Apache-2.0
/* Attribute values by form (DWARF 5 §7.5.6), and the tables that some of them point through. */
#include "dwarf_constants.h"
#include "dwarf_unit.h"

static uint64_t u24(struct sonde__bytes *at)
{
    return sonde__base_bytes_uint(at, 3);
}

static void skip_bytes(struct sonde__bytes *at, uint64_t size)
{
    if (sonde__base_bytes_need(at, size)) {
        at->at += size;
    }
}

void sonde__dwarf_skip(const struct sonde__dwarf_unit *unit, const struct sonde__dwarf_attr *attr,
                       struct sonde__bytes *at)
{
    switch (attr->form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        skip_bytes(at, 1);
        return;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        skip_bytes(at, 2);
        return;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        skip_bytes(at, 3);
        return;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        skip_bytes(at, 4);
        return;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        skip_bytes(at, 8);
        return;
    case DW_FORM_data16:
        skip_bytes(at, 16);
        return;
    case DW_FORM_addr:
        skip_bytes(at, unit->address_size);
        return;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        skip_bytes(at, unit->offset_size);
        return;
    case DW_FORM_ref_addr: /* version 2: as large as an address (DWARF 3 §7.4 changed it) */
        skip_bytes(at, unit->version == 2 ? unit->address_size : unit->offset_size);
        return;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        (void)sonde__base_bytes_uleb(at);
        return;
    case DW_FORM_string:
        (void)sonde__base_bytes_string(at);
        return;
    case DW_FORM_block1:
        skip_bytes(at, sonde__base_bytes_u8(at));
        return;
    case DW_FORM_block2:
        skip_bytes(at, sonde__base_bytes_u16(at));
        return;
    case DW_FORM_block4:
        skip_bytes(at, sonde__base_bytes_u32(at));
        return;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        skip_bytes(at, sonde__base_bytes_uleb(at));
        return;
    case DW_FORM_indirect: {
        struct sonde__dwarf_attr actual = {attr->name, (uint16_t)sonde__base_bytes_uleb(at), 0};
        if (actual.form == DW_FORM_indirect || actual.form == DW_FORM_implicit_const) {
            (void)sonde__base_bytes_fail(at);
            return;
        }
        sonde__dwarf_skip(unit, &actual, at);
        return;
    }
    default:
        (void)sonde__base_bytes_fail(at);
        return;
    }
}

static struct sonde__dwarf_value string_at(const struct sonde__bytes *section, uint64_t offset)
{
    struct sonde__bytes at = *section;
    struct sonde__dwarf_value value = {SONDE__DWARF_STRING, 0, ""};
    at.failed = false;
    if (sonde__base_bytes_seek(&at, offset)) {
        value.s = sonde__base_bytes_string(&at);
    }
    return value;
}

static struct sonde__dwarf_value string_indexed(const struct sonde__dwarf_sections *sections,
                                                const struct sonde__dwarf_unit *unit,
                                                uint64_t index)
{
    struct sonde__bytes at = sections->str_offsets;
    uint64_t offset = 0;
    at.failed = false;
    if (index < UINT32_MAX &&
        sonde__base_bytes_seek(&at, unit->str_offsets_base + index * unit->offset_size)) {
        offset = sonde__base_bytes_uint(&at, unit->offset_size);
    }
    if (at.failed) {
        return (struct sonde__dwarf_value){SONDE__DWARF_STRING, 0, ""};
    }
    return string_at(&sections->str, offset);
}

bool sonde__dwarf_address(const struct sonde__dwarf_sections *sections,
                          const struct sonde__dwarf_unit *unit, uint64_t index,
                          uint64_t *ret_address)
{
    struct sonde__bytes at = sections->addr;
    uint64_t address;
    at.failed = false;
    if (index >= UINT32_MAX ||
        !sonde__base_bytes_seek(&at, unit->addr_base + index * unit->address_size)) {
        return false;
    }
    address = sonde__base_bytes_uint(&at, unit->address_size);
    if (at.failed) {
        return false;
    }
    *ret_address = address;
    return true;
}

static struct sonde__dwarf_value address_indexed(const struct sonde__dwarf_sections *sections,
                                                 const struct sonde__dwarf_unit *unit,
                                                 uint64_t index)
{
    uint64_t address;
    if (!sonde__dwarf_address(sections, unit, index, &address)) {
        return (struct sonde__dwarf_value){SONDE__DWARF_NONE, 0, NULL};
    }
    return (struct sonde__dwarf_value){SONDE__DWARF_ADDRESS, address, NULL};
}

/* DW_FORM_rnglistx: index in the offsets that stand at rnglists_base (DWARF 5 §7.28). */
static struct sonde__dwarf_value ranges_indexed(const struct sonde__dwarf_sections *sections,
                                                const struct sonde__dwarf_unit *unit,
                                                uint64_t index)
{
    struct sonde__bytes at = sections->rnglists;
    uint64_t offset;
    at.failed = false;
    if (index >= UINT32_MAX ||
        !sonde__base_bytes_seek(&at, unit->rnglists_base + index * unit->offset_size)) {
        return (struct sonde__dwarf_value){SONDE__DWARF_NONE, 0, NULL};
    }
    offset = sonde__base_bytes_uint(&at, unit->offset_size);
    return (struct sonde__dwarf_value){at.failed ? SONDE__DWARF_NONE : SONDE__DWARF_OFFSET,
                                       unit->rnglists_base + offset, NULL};
}

#define CONSTANT(value) ((struct sonde__dwarf_value){SONDE__DWARF_CONSTANT, (value), NULL})
#define REF(value)      ((struct sonde__dwarf_value){SONDE__DWARF_REF, unit->offset + (value), NULL})

static struct sonde__dwarf_value read_indexed(const struct sonde__dwarf_sections *sections,
                                              const struct sonde__dwarf_unit *unit, unsigned form,
                                              struct sonde__bytes *at)
{
    switch (form) {
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
        return string_indexed(sections, unit, sonde__base_bytes_uleb(at));
    case DW_FORM_strx1:
        return string_indexed(sections, unit, sonde__base_bytes_u8(at));
    case DW_FORM_strx2:
        return string_indexed(sections, unit, sonde__base_bytes_u16(at));
    case DW_FORM_strx3:
        return string_indexed(sections, unit, u24(at));
    case DW_FORM_strx4:
        return string_indexed(sections, unit, sonde__base_bytes_u32(at));
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
        return address_indexed(sections, unit, sonde__base_bytes_uleb(at));
    case DW_FORM_addrx1:
        return address_indexed(sections, unit, sonde__base_bytes_u8(at));
    case DW_FORM_addrx2:
        return address_indexed(sections, unit, sonde__base_bytes_u16(at));
    case DW_FORM_addrx3:
        return address_indexed(sections, unit, u24(at));
    case DW_FORM_addrx4:
        return address_indexed(sections, unit, sonde__base_bytes_u32(at));
    default:
        return ranges_indexed(sections, unit, sonde__base_bytes_uleb(at));
    }
}

struct sonde__dwarf_value sonde__dwarf_read(const struct sonde__dwarf_sections *sections,
                                            const struct sonde__dwarf_unit *unit,
                                            const struct sonde__dwarf_attr *attr,
                                            struct sonde__bytes *at)
{
    switch (attr->form) {
    case DW_FORM_flag_present:
        return CONSTANT(1);
    case DW_FORM_implicit_const:
        return CONSTANT((uint64_t)attr->implicit);
    case DW_FORM_data1:
    case DW_FORM_flag:
        return CONSTANT(sonde__base_bytes_u8(at));
    case DW_FORM_data2:
        return CONSTANT(sonde__base_bytes_u16(at));
    case DW_FORM_data4: /* versions 2 and 3 wrote section offsets so */
        return CONSTANT(sonde__base_bytes_u32(at));
    case DW_FORM_data8:
        return CONSTANT(sonde__base_bytes_u64(at));
    case DW_FORM_udata:
        return CONSTANT(sonde__base_bytes_uleb(at));
    case DW_FORM_sdata:
        return CONSTANT((uint64_t)sonde__base_bytes_sleb(at));
    case DW_FORM_addr:
        return (struct sonde__dwarf_value){SONDE__DWARF_ADDRESS,
                                           sonde__base_bytes_uint(at, unit->address_size), NULL};
    case DW_FORM_sec_offset:
        return (struct sonde__dwarf_value){SONDE__DWARF_OFFSET,
                                           sonde__base_bytes_uint(at, unit->offset_size), NULL};
    case DW_FORM_ref1:
        return REF(sonde__base_bytes_u8(at));
    case DW_FORM_ref2:
        return REF(sonde__base_bytes_u16(at));
    case DW_FORM_ref4:
        return REF(sonde__base_bytes_u32(at));
    case DW_FORM_ref8:
        return REF(sonde__base_bytes_u64(at));
    case DW_FORM_ref_udata:
        return REF(sonde__base_bytes_uleb(at));
    case DW_FORM_ref_addr:
        return (struct sonde__dwarf_value){
            SONDE__DWARF_REF,
            sonde__base_bytes_uint(at, unit->version == 2 ? unit->address_size : unit->offset_size),
            NULL};
    case DW_FORM_string:
        return (struct sonde__dwarf_value){SONDE__DWARF_STRING, 0, sonde__base_bytes_string(at)};
    case DW_FORM_strp:
        return string_at(&sections->str, sonde__base_bytes_uint(at, unit->offset_size));
    case DW_FORM_line_strp:
        return string_at(&sections->line_str, sonde__base_bytes_uint(at, unit->offset_size));
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt: {
        uint64_t offset = sonde__base_bytes_uint(at, unit->offset_size);
        return sections->supplementary != NULL
                   ? string_at(&sections->supplementary->str, offset)
                   : (struct sonde__dwarf_value){SONDE__DWARF_STRING, 0, ""};
    }
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        return (struct sonde__dwarf_value){
            SONDE__DWARF_ALT,
            sonde__base_bytes_uint(at, attr->form == DW_FORM_ref_sup4   ? 4
                                       : attr->form == DW_FORM_ref_sup8 ? 8
                                                                        : unit->offset_size),
            NULL};
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return read_indexed(sections, unit, attr->form, at);
    case DW_FORM_indirect: {
        struct sonde__dwarf_attr actual = {attr->name, (uint16_t)sonde__base_bytes_uleb(at), 0};
        if (actual.form == DW_FORM_indirect || actual.form == DW_FORM_implicit_const) {
            (void)sonde__base_bytes_fail(at);
            break;
        }
        return sonde__dwarf_read(sections, unit, &actual, at);
    }
    default:
        sonde__dwarf_skip(unit, attr, at);
        break;
    }
    return (struct sonde__dwarf_value){SONDE__DWARF_NONE, 0, NULL};
}
