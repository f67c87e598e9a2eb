// SPDX-License-Identifier: Apache-2.0
/* Abbreviations compiled to steps.
 *
 * Most DIEs describe types and variables and are only stepped over, and most of their attributes
 * have a fixed size: those become one number. A step is left for each attribute of another size and
 * for each that is kept. An attribute that stands twice is kept once, so that a DIE never has more
 * steps than bytes and slots. */
#include <string.h>

#include "convert.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

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

/* Bytes of a form, or -1: not fixed. */
static int fixed_size(const struct sonde__dwarf_unit *unit, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return unit->address_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return unit->offset_size;
    case DW_FORM_ref_addr:
        return unit->version == 2 ? unit->address_size : unit->offset_size;
    default:
        return -1;
    }
}

static bool is_uleb(unsigned form)
{
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return true;
    default:
        return false;
    }
}

static struct plan_step step_over(unsigned form)
{
    struct plan_step step = {.kind = STEP_OTHER};
    if (is_uleb(form)) {
        step.kind = STEP_ULEB;
    } else if (form == DW_FORM_string) {
        step.kind = STEP_STRING;
    } else if (form == DW_FORM_exprloc || form == DW_FORM_block) {
        step.kind = STEP_BLOCK;
    } else if (form == DW_FORM_block1 || form == DW_FORM_block2 || form == DW_FORM_block4) {
        step.kind = STEP_BLOCK_SIZED;
        step.size = form == DW_FORM_block1 ? 1 : form == DW_FORM_block2 ? 2 : 4;
    }
    return step;
}

static struct plan_step step_keep(unsigned form, int slot, int size)
{
    struct plan_step step = {.slot = (uint8_t)slot};
    if (size >= 0 && size <= 8) {
        step.kind = STEP_KEEP;
        step.size = (uint8_t)size;
    } else if (is_uleb(form) && form != DW_FORM_sdata) {
        step.kind = STEP_KEEP_ULEB;
    } else {
        step.kind = STEP_KEEP_OTHER;
    }
    return step;
}

static bool make_plan(const struct sonde__dwarf_abbrevs *abbrevs,
                      const struct sonde__dwarf_abbrev *abbrev,
                      const struct sonde__dwarf_unit *unit, bool with_sites, struct plans *plans)
{
    struct plan plan = {.first = (uint32_t)plans->step_count, .children = abbrev->children};
    uint32_t kept = 0;
    uint16_t *skip = &plan.skip;
    if (abbrev->tag == DW_TAG_subprogram) {
        plan.kind = PLAN_FUNCTION;
    } else if (abbrev->tag == DW_TAG_inlined_subroutine) {
        plan.kind = PLAN_INLINED;
    } else if (with_sites &&
               (abbrev->tag == DW_TAG_call_site || abbrev->tag == DW_TAG_GNU_call_site)) {
        plan.kind = PLAN_SITE;
    }
    for (uint32_t i = 0; i < abbrev->count; i++) {
        uint32_t at = abbrev->first + i;
        const struct sonde__dwarf_attr *attr = &abbrevs->attrs[at];
        int slot = plan.kind == PLAN_OTHER  ? -1
                   : plan.kind == PLAN_SITE ? slot_of_site(attr->name)
                                            : slot_of_function(attr->name);
        int size = fixed_size(unit, attr->form);
        struct plan_step step;
        if (slot >= 0 && (kept & 1u << slot) == 0) {
            kept |= 1u << slot;
            step = step_keep(attr->form, slot, size);
        } else if (size >= 0 && *skip <= UINT16_MAX - 16) {
            *skip = (uint16_t)(*skip + size);
            continue;
        } else {
            step = step_over(attr->form);
        }
        step.attr = at;
        if (plan.count == UINT16_MAX ||
            !sonde__mem_grow(&plans->steps, plans->step_count, &plans->step_capacity,
                             sizeof *plans->steps)) {
            return false;
        }
        plans->steps[plans->step_count] = step;
        skip = &plans->steps[plans->step_count++].skip;
        plan.count++;
    }
    if (!sonde__mem_grow(&plans->plans, plans->count, &plans->capacity, sizeof *plans->plans)) {
        return false;
    }
    plans->plans[plans->count++] = plan;
    return true;
}

bool convert_plans_make(const struct sonde__dwarf_abbrevs *abbrevs,
                        const struct sonde__dwarf_unit *unit, bool with_sites, struct plans *plans)
{
    plans->count = 0;
    plans->step_count = 0;
    for (size_t i = 0; i < abbrevs->count; i++) {
        if (!make_plan(abbrevs, &abbrevs->entries[i], unit, with_sites, plans)) {
            return false;
        }
    }
    return true;
}

void convert_plans_done(struct plans *plans)
{
    sonde__mem_free(plans->plans);
    sonde__mem_free(plans->steps);
    memset(plans, 0, sizeof *plans);
}
