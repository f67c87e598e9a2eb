// SPDX-License-Identifier: Apache-2.0
/* One DIE, read by its plan.
 *
 * A DIE that lies well inside the unit is read with one check for each step; what comes close to
 * the end, or has a rare form, goes through the bounded reader. */
#include <string.h>

#include "convert.h"
#include "dwarf_constants.h"

/* A step reads at most this much without asking again (an ULEB of ten bytes, or a size and 8). */
#define STEP_BYTES 16u

static uint64_t load(const uint8_t *p, unsigned size)
{
    uint64_t value = 0;
    switch (size) {
    case 1:
        return *p;
    case 2:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8;
    case 4:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    default:
        for (unsigned i = size; i > 0; i--) {
            value = value << 8 | p[i - 1];
        }
        return value;
    }
}

/* At least ten bytes are there. A longer one is cut, as it is malformed. */
static uint64_t uleb(const uint8_t **p)
{
    uint64_t value = *(*p)++;
    if (value < 0x80) {
        return value;
    }
    value &= 0x7f;
    for (unsigned shift = 7; shift < 64; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return value;
}

/* The same DIE through the bounded reader. */
static bool read_slowly(const struct convert *c, const struct plan *plan, const uint8_t **p,
                        const uint8_t *end, struct die *ret_die)
{
    struct sonde__bytes at = {*p, *p, end, false, false};
    const struct plan_step *step = &c->plans.steps[plan->first];
    if (!sonde__base_bytes_need(&at, plan->skip)) {
        return false;
    }
    at.at += plan->skip;
    for (unsigned i = 0; i < plan->count; i++, step++) {
        const struct sonde__dwarf_attr *attr = &c->abbrevs.attrs[step->attr];
        if (step->kind <= STEP_KEEP_OTHER) {
            struct sonde__bytes raw = at;
            ret_die->attr[step->slot] = attr;
            if (step->kind == STEP_KEEP && step->size == 0) {
                ret_die->raw[step->slot] =
                    attr->form == DW_FORM_implicit_const ? (uint64_t)attr->implicit : 1;
            } else if (step->kind == STEP_KEEP) {
                ret_die->raw[step->slot] = sonde__base_bytes_uint(&raw, step->size);
            } else if (step->kind == STEP_KEEP_ULEB) {
                ret_die->raw[step->slot] = sonde__base_bytes_uleb(&raw);
            } else {
                struct sonde__dwarf_value value =
                    sonde__dwarf_read(c->sections, &c->unit, attr, &raw);
                /* a string is kept as its place; sonde__dwarf_read() has found its end */
                ret_die->raw[step->slot] =
                    value.kind == SONDE__DWARF_STRING ? (uintptr_t)value.s : value.u;
            }
            ret_die->present |= 1u << step->slot;
        }
        sonde__dwarf_skip(&c->unit, attr, &at);
        if (at.failed || !sonde__base_bytes_need(&at, step->skip)) {
            return false;
        }
        at.at += step->skip;
    }
    *p = at.at;
    return true;
}

bool convert_die(const struct convert *c, const struct plan *plan, const uint8_t **place,
                 const uint8_t *end, struct die *ret_die)
{
    const uint8_t *p = *place;
    const struct plan_step *step = &c->plans.steps[plan->first];
    const struct plan_step *last = step + plan->count;
    ret_die->present = 0;
    if ((size_t)(end - p) < plan->skip) {
        return false;
    }
    p += plan->skip;
    for (; step != last; step++) {
        uint64_t size;
        if ((size_t)(end - p) < STEP_BYTES) {
            return read_slowly(c, plan, place, end, ret_die);
        }
        switch (step->kind) {
        case STEP_KEEP:
            if (step->size == 0) {
                const struct sonde__dwarf_attr *attr = &c->abbrevs.attrs[step->attr];
                ret_die->raw[step->slot] =
                    attr->form == DW_FORM_implicit_const ? (uint64_t)attr->implicit : 1;
            } else {
                ret_die->raw[step->slot] = load(p, step->size);
                p += step->size;
            }
            ret_die->attr[step->slot] = &c->abbrevs.attrs[step->attr];
            ret_die->present |= 1u << step->slot;
            break;
        case STEP_KEEP_ULEB:
            ret_die->raw[step->slot] = uleb(&p);
            ret_die->attr[step->slot] = &c->abbrevs.attrs[step->attr];
            ret_die->present |= 1u << step->slot;
            break;
        case STEP_ULEB:
            (void)uleb(&p);
            break;
        case STEP_STRING: {
            const uint8_t *nul = memchr(p, 0, (size_t)(end - p));
            if (nul == NULL) {
                return false;
            }
            p = nul + 1;
            break;
        }
        case STEP_BLOCK:
            size = uleb(&p);
            if (size > (size_t)(end - p)) {
                return false;
            }
            p += size;
            break;
        case STEP_BLOCK_SIZED:
            size = load(p, step->size);
            p += step->size;
            if (size > (size_t)(end - p)) {
                return false;
            }
            p += size;
            break;
        default:
            return read_slowly(c, plan, place, end, ret_die);
        }
        if ((size_t)(end - p) < step->skip) {
            return false;
        }
        p += step->skip;
    }
    *place = p;
    return true;
}

/* --- values --- */

bool convert_address(const struct convert *c, const struct die *die, enum plan_slot slot,
                     uint64_t *ret_address)
{
    if (die->attr[slot]->form == DW_FORM_addr) {
        *ret_address = die->raw[slot];
        return true;
    }
    return sonde__dwarf_address(c->sections, &c->unit, die->raw[slot], ret_address);
}

bool convert_is_address(unsigned form)
{
    return form == DW_FORM_addr || form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
           (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

uint64_t convert_reference(const struct convert *c, const struct die *die)
{
    switch (die->attr[SLOT_ORIGIN]->form) {
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        return die->raw[SLOT_ORIGIN] < CONVERT_SUPPLEMENTARY
                   ? CONVERT_SUPPLEMENTARY | die->raw[SLOT_ORIGIN]
                   : 0;
    case DW_FORM_ref_addr:
        return die->raw[SLOT_ORIGIN];
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        return c->unit.offset + die->raw[SLOT_ORIGIN];
    default:
        return 0;
    }
}
