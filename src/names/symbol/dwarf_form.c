// SPDX-License-Identifier: Apache-2.0
/* Attribute values by form (DWARF 5 §7.5.6), and the tables that indexed forms refer to. */
#include "dwarf_constants.h"
#include "dwarf_unit.h"

#define FIXED(bytes, class)                                                                        \
    {                                                                                              \
        SONDE__DWARF_FIXED, (bytes), SONDE__DWARF_OF_##class                                       \
    }
#define VARIABLE(encoding, class)                                                                  \
    {                                                                                              \
        SONDE__DWARF_##encoding, 0, SONDE__DWARF_OF_##class                                        \
    }
#define BLOCK(size_bytes)                                                                          \
    {                                                                                              \
        SONDE__DWARF_SIZED_BLOCK, (size_bytes), SONDE__DWARF_OF_NOTHING                            \
    }

/* Forms that are not listed are unknown. */
const struct sonde__dwarf_form sonde__dwarf_forms[SONDE__DWARF_FORMS] = {
    [DW_FORM_addr] = FIXED(SONDE__DWARF_ADDRESS_SIZE, ADDRESS),
    [DW_FORM_block2] = BLOCK(2),
    [DW_FORM_block4] = BLOCK(4),
    [DW_FORM_data2] = FIXED(2, CONSTANT),
    [DW_FORM_data4] = FIXED(4, CONSTANT), /* also section offsets in versions 2 and 3 */
    [DW_FORM_data8] = FIXED(8, CONSTANT),
    [DW_FORM_string] = VARIABLE(TEXT, NOTHING),
    [DW_FORM_block] = VARIABLE(BLOCK, NOTHING),
    [DW_FORM_block1] = BLOCK(1),
    [DW_FORM_data1] = FIXED(1, CONSTANT),
    [DW_FORM_flag] = FIXED(1, CONSTANT),
    [DW_FORM_sdata] = VARIABLE(SLEB, CONSTANT),
    [DW_FORM_strp] = FIXED(SONDE__DWARF_OFFSET_SIZE, STR),
    [DW_FORM_udata] = VARIABLE(ULEB, CONSTANT),
    [DW_FORM_ref_addr] = FIXED(SONDE__DWARF_REF_ADDR_SIZE, REF_ADDR),
    [DW_FORM_ref1] = FIXED(1, REF),
    [DW_FORM_ref2] = FIXED(2, REF),
    [DW_FORM_ref4] = FIXED(4, REF),
    [DW_FORM_ref8] = FIXED(8, REF),
    [DW_FORM_ref_udata] = VARIABLE(ULEB, REF),
    [DW_FORM_indirect] = VARIABLE(INDIRECT, NOTHING),
    [DW_FORM_sec_offset] = FIXED(SONDE__DWARF_OFFSET_SIZE, OFFSET),
    [DW_FORM_exprloc] = VARIABLE(BLOCK, NOTHING),
    [DW_FORM_flag_present] = FIXED(0, CONSTANT),
    [DW_FORM_strx] = VARIABLE(ULEB, STR_INDEX),
    [DW_FORM_addrx] = VARIABLE(ULEB, ADDR_INDEX),
    [DW_FORM_ref_sup4] = FIXED(4, REF_ALT),
    [DW_FORM_strp_sup] = FIXED(SONDE__DWARF_OFFSET_SIZE, STR_ALT),
    [DW_FORM_data16] = FIXED(16, NOTHING),
    [DW_FORM_line_strp] = FIXED(SONDE__DWARF_OFFSET_SIZE, LINE_STR),
    [DW_FORM_ref_sig8] = FIXED(8, NOTHING),
    [DW_FORM_implicit_const] = FIXED(0, CONSTANT),
    [DW_FORM_loclistx] = VARIABLE(ULEB, NOTHING),
    [DW_FORM_rnglistx] = VARIABLE(ULEB, RANGES_INDEX),
    [DW_FORM_ref_sup8] = FIXED(8, REF_ALT),
    [DW_FORM_strx1] = FIXED(1, STR_INDEX),
    [DW_FORM_strx2] = FIXED(2, STR_INDEX),
    [DW_FORM_strx3] = FIXED(3, STR_INDEX),
    [DW_FORM_strx4] = FIXED(4, STR_INDEX),
    [DW_FORM_addrx1] = FIXED(1, ADDR_INDEX),
    [DW_FORM_addrx2] = FIXED(2, ADDR_INDEX),
    [DW_FORM_addrx3] = FIXED(3, ADDR_INDEX),
    [DW_FORM_addrx4] = FIXED(4, ADDR_INDEX),
};

struct sonde__dwarf_form sonde__dwarf_form_of_gnu(unsigned number)
{
    switch (number) {
    case DW_FORM_GNU_addr_index:
        return sonde__dwarf_forms[DW_FORM_addrx];
    case DW_FORM_GNU_str_index:
        return sonde__dwarf_forms[DW_FORM_strx];
    case DW_FORM_GNU_strp_alt:
        return sonde__dwarf_forms[DW_FORM_strp_sup];
    case DW_FORM_GNU_ref_alt:
        return (struct sonde__dwarf_form)FIXED(SONDE__DWARF_OFFSET_SIZE, REF_ALT);
    default:
        return sonde__dwarf_forms[0];
    }
}

static void skip_bytes(struct sonde__bytes *at, uint64_t size)
{
    if (sonde__base_bytes_need(at, size)) {
        at->at += size;
    }
}

/* Read the form before the value of a DW_FORM_indirect. */
static bool read_indirect(const struct sonde__dwarf_attr *attr, struct sonde__bytes *at,
                          struct sonde__dwarf_attr *ret_actual)
{
    uint64_t form = sonde__base_bytes_uleb(at);
    *ret_actual = (struct sonde__dwarf_attr){attr->name, (uint16_t)form, 0};
    return (ret_actual->form != DW_FORM_indirect && ret_actual->form != DW_FORM_implicit_const) ||
           sonde__base_bytes_fail(at);
}

void sonde__dwarf_skip(const struct sonde__dwarf_unit *unit, const struct sonde__dwarf_attr *attr,
                       struct sonde__bytes *at)
{
    const struct sonde__dwarf_form form = sonde__dwarf_form(unit, attr->form);
    struct sonde__dwarf_attr actual;
    switch (form.encoding) {
    case SONDE__DWARF_FIXED:
        skip_bytes(at, form.size);
        break;
    case SONDE__DWARF_ULEB:
    case SONDE__DWARF_SLEB:
        (void)sonde__base_bytes_uleb(at);
        break;
    case SONDE__DWARF_TEXT:
        (void)sonde__base_bytes_string(at);
        break;
    case SONDE__DWARF_BLOCK:
        skip_bytes(at, sonde__base_bytes_uleb(at));
        break;
    case SONDE__DWARF_SIZED_BLOCK:
        skip_bytes(at, sonde__base_bytes_uint(at, form.size));
        break;
    case SONDE__DWARF_INDIRECT:
        if (read_indirect(attr, at, &actual)) {
            sonde__dwarf_skip(unit, &actual, at);
        }
        break;
    default:
        (void)sonde__base_bytes_fail(at);
        break;
    }
}

/* --- tables --- */

static struct sonde__dwarf_value nothing(void)
{
    return (struct sonde__dwarf_value){SONDE__DWARF_NONE, 0, NULL};
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

/* Entry `index` of a table of integers at `base`. False: out of bounds. */
static bool read_entry(struct sonde__bytes at, uint64_t base, uint64_t index, unsigned size,
                       uint64_t *ret_entry)
{
    at.failed = false;
    if (index >= UINT32_MAX || !sonde__base_bytes_seek(&at, base + index * size)) {
        return false;
    }
    *ret_entry = sonde__base_bytes_uint(&at, size);
    return !at.failed;
}

bool sonde__dwarf_address(const struct sonde__dwarf_sections *sections,
                          const struct sonde__dwarf_unit *unit, uint64_t index,
                          uint64_t *ret_address)
{
    uint64_t address;
    if (!read_entry(sections->addr, unit->addr_base, index, unit->address_size, &address)) {
        return false;
    }
    *ret_address = address;
    return true;
}

struct sonde__dwarf_value sonde__dwarf_value_of(const struct sonde__dwarf_sections *sections,
                                                const struct sonde__dwarf_unit *unit,
                                                struct sonde__dwarf_form form, uint64_t raw)
{
    uint64_t entry;
    switch (form.of) {
    case SONDE__DWARF_OF_CONSTANT:
        return (struct sonde__dwarf_value){SONDE__DWARF_CONSTANT, raw, NULL};
    case SONDE__DWARF_OF_ADDRESS:
        return (struct sonde__dwarf_value){SONDE__DWARF_ADDRESS, raw, NULL};
    case SONDE__DWARF_OF_OFFSET:
        return (struct sonde__dwarf_value){SONDE__DWARF_OFFSET, raw, NULL};
    case SONDE__DWARF_OF_REF:
        return (struct sonde__dwarf_value){SONDE__DWARF_REF, unit->offset + raw, NULL};
    case SONDE__DWARF_OF_REF_ADDR:
        return (struct sonde__dwarf_value){SONDE__DWARF_REF, raw, NULL};
    case SONDE__DWARF_OF_REF_ALT:
        return (struct sonde__dwarf_value){SONDE__DWARF_ALT, raw, NULL};
    case SONDE__DWARF_OF_STR:
        return string_at(&sections->str, raw);
    case SONDE__DWARF_OF_LINE_STR:
        return string_at(&sections->line_str, raw);
    case SONDE__DWARF_OF_STR_ALT:
        return sections->supplementary != NULL
                   ? string_at(&sections->supplementary->str, raw)
                   : (struct sonde__dwarf_value){SONDE__DWARF_STRING, 0, ""};
    case SONDE__DWARF_OF_STR_INDEX:
        return read_entry(sections->str_offsets, unit->str_offsets_base, raw, unit->offset_size,
                          &entry)
                   ? string_at(&sections->str, entry)
                   : (struct sonde__dwarf_value){SONDE__DWARF_STRING, 0, ""};
    case SONDE__DWARF_OF_ADDR_INDEX:
        return sonde__dwarf_address(sections, unit, raw, &entry)
                   ? (struct sonde__dwarf_value){SONDE__DWARF_ADDRESS, entry, NULL}
                   : nothing();
    case SONDE__DWARF_OF_RANGES_INDEX: /* the offsets are at rnglists_base (DWARF 5 §7.28) */
        return read_entry(sections->rnglists, unit->rnglists_base, raw, unit->offset_size, &entry)
                   ? (struct sonde__dwarf_value){SONDE__DWARF_OFFSET, unit->rnglists_base + entry,
                                                 NULL}
                   : nothing();
    default:
        return nothing();
    }
}

static uint64_t read_fixed(const struct sonde__dwarf_attr *attr, unsigned size,
                           struct sonde__bytes *at)
{
    switch (size) { /* compilers make one load of each */
    case 0:
        return attr->form == DW_FORM_implicit_const ? (uint64_t)attr->implicit : 1;
    case 1:
        return sonde__base_bytes_u8(at);
    case 2:
        return sonde__base_bytes_u16(at);
    case 4:
        return sonde__base_bytes_u32(at);
    case 8:
        return sonde__base_bytes_u64(at);
    default:
        return sonde__base_bytes_uint(at, size);
    }
}

struct sonde__dwarf_value sonde__dwarf_read(const struct sonde__dwarf_sections *sections,
                                            const struct sonde__dwarf_unit *unit,
                                            const struct sonde__dwarf_attr *attr,
                                            struct sonde__bytes *at)
{
    const struct sonde__dwarf_form form = sonde__dwarf_form(unit, attr->form);
    struct sonde__dwarf_attr actual;
    uint64_t raw;
    if (form.encoding == SONDE__DWARF_TEXT) {
        return (struct sonde__dwarf_value){SONDE__DWARF_STRING, 0, sonde__base_bytes_string(at)};
    }
    if (form.encoding == SONDE__DWARF_INDIRECT) {
        return read_indirect(attr, at, &actual) ? sonde__dwarf_read(sections, unit, &actual, at)
                                                : nothing();
    }
    if (form.of == SONDE__DWARF_OF_NOTHING) {
        sonde__dwarf_skip(unit, attr, at);
        return nothing();
    }
    if (form.encoding == SONDE__DWARF_ULEB) {
        raw = sonde__base_bytes_uleb(at);
    } else if (form.encoding == SONDE__DWARF_SLEB) {
        raw = (uint64_t)sonde__base_bytes_sleb(at);
    } else {
        raw = read_fixed(attr, form.size, at);
    }
    return sonde__dwarf_value_of(sections, unit, form, raw);
}
