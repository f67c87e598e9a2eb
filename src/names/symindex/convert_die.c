// SPDX-License-Identifier: Apache-2.0
/* The DIEs and attributes that are kept, and the meaning of their values. */
#include "convert.h"
#include "dwarf_constants.h"

static int slot_of_site(unsigned name)
{
    switch (name) {
    case DW_AT_call_return_pc:
    case DW_AT_low_pc: /* GNU */
        return SLOT_RETURN;
    case DW_AT_call_pc:
        return SLOT_CALL;
    case DW_AT_call_origin:
    case DW_AT_abstract_origin: /* GNU */
        return SLOT_ORIGIN;
    case DW_AT_call_tail_call:
    case DW_AT_GNU_tail_call:
        return SLOT_TAIL;
    default:
        return -1;
    }
}

static int slot_of_function(unsigned name)
{
    switch (name) {
    case DW_AT_low_pc:
        return SLOT_LOW;
    case DW_AT_high_pc:
        return SLOT_HIGH;
    case DW_AT_ranges:
        return SLOT_RANGES;
    case DW_AT_call_file:
        return SLOT_CALL_FILE;
    case DW_AT_call_line:
        return SLOT_CALL_LINE;
    case DW_AT_abstract_origin:
    case DW_AT_specification:
        return SLOT_ORIGIN;
    case DW_AT_declaration:
        return SLOT_DECLARATION;
    case DW_AT_name:
        return SLOT_NAME;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        return SLOT_LINKAGE;
    case DW_AT_external:
        return SLOT_EXTERNAL;
    case DW_AT_call_all_calls:
    case DW_AT_call_all_source_calls:
    case DW_AT_call_all_tail_calls:
    case DW_AT_GNU_all_call_sites:
    case DW_AT_GNU_all_source_call_sites:
    case DW_AT_GNU_all_tail_call_sites:
        return SLOT_ALL_CALLS;
    default:
        return -1;
    }
}

static uint8_t kind_of_call(unsigned tag)
{
    return tag == DW_TAG_subprogram           ? DIE_FUNCTION
           : tag == DW_TAG_inlined_subroutine ? DIE_INLINED
                                              : DIE_OTHER;
}

static uint8_t kind_of(unsigned tag)
{
    return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site ? DIE_SITE : kind_of_call(tag);
}

static int slot_of(unsigned kind, unsigned name)
{
    return kind == DIE_SITE ? slot_of_site(name) : slot_of_function(name);
}

const struct sonde__dwarf_wanted convert_wanted = {kind_of, slot_of};
const struct sonde__dwarf_wanted convert_wanted_calls = {kind_of_call, slot_of};

bool convert_address(const struct convert *c, const struct sonde__dwarf_die *die, enum slot slot,
                     uint64_t *ret_address)
{
    if (die->attr[slot]->form == DW_FORM_addr) {
        *ret_address = die->raw[slot];
        return true;
    }
    return sonde__dwarf_address(c->sections, &c->unit, die->raw[slot], ret_address);
}

bool convert_is_address(const struct convert *c, const struct sonde__dwarf_attr *attr)
{
    unsigned of = sonde__dwarf_form(&c->unit, attr->form).of;
    return of == SONDE__DWARF_OF_ADDRESS || of == SONDE__DWARF_OF_ADDR_INDEX;
}

uint64_t convert_reference(const struct convert *c, const struct sonde__dwarf_die *die)
{
    uint64_t raw = die->raw[SLOT_ORIGIN];
    switch (sonde__dwarf_form(&c->unit, die->attr[SLOT_ORIGIN]->form).of) {
    case SONDE__DWARF_OF_REF_ALT:
        return raw < CONVERT_SUPPLEMENTARY ? CONVERT_SUPPLEMENTARY | raw : 0;
    case SONDE__DWARF_OF_REF_ADDR:
        return raw;
    case SONDE__DWARF_OF_REF:
        return c->unit.offset + raw;
    default:
        return 0;
    }
}
