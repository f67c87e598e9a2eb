// SPDX-License-Identifier: Apache-2.0
/* A DIE far from the unit's end is read with one bounds check per step. A DIE near the end, or with
 * a rare form, is read by the bounded reader. */
#include "dwarf_plan.h"

#include <string.h>

#include "dwarf_constants.h"
#include "mem_heap.h"

enum step {
    STEP_KEEP, /* `size` bytes; 0: the form implies the value */
    STEP_KEEP_ULEB,
    STEP_KEEP_OTHER, /* by the bounded reader */
    STEP_ULEB,
    STEP_STRING,
    STEP_BLOCK, /* its size is a ULEB */
    STEP_BLOCK_SIZED,
    STEP_OTHER, /* by the bounded reader */
};

/* Most bytes that a step reads after one check: a ULEB of ten bytes, or a size and 8 bytes. */
#define STEP_BYTES 16u

/* --- making --- */

static struct sonde__dwarf_step step_over(struct sonde__dwarf_form form)
{
    switch (form.encoding) {
    case SONDE__DWARF_ULEB:
    case SONDE__DWARF_SLEB:
        return (struct sonde__dwarf_step){.kind = STEP_ULEB};
    case SONDE__DWARF_TEXT:
        return (struct sonde__dwarf_step){.kind = STEP_STRING};
    case SONDE__DWARF_BLOCK:
        return (struct sonde__dwarf_step){.kind = STEP_BLOCK};
    case SONDE__DWARF_SIZED_BLOCK:
        return (struct sonde__dwarf_step){.kind = STEP_BLOCK_SIZED, .size = form.size};
    default:
        return (struct sonde__dwarf_step){.kind = STEP_OTHER};
    }
}

static struct sonde__dwarf_step step_keep(struct sonde__dwarf_form form, int slot)
{
    struct sonde__dwarf_step step = {.kind = STEP_KEEP_OTHER, .slot = (uint8_t)slot};
    if (form.encoding == SONDE__DWARF_FIXED && form.size <= 8) {
        step.kind = STEP_KEEP;
        step.size = form.size;
    } else if (form.encoding == SONDE__DWARF_ULEB) {
        step.kind = STEP_KEEP_ULEB;
    }
    return step;
}

static bool make_plan(const struct sonde__dwarf_abbrevs *abbrevs,
                      const struct sonde__dwarf_abbrev *abbrev,
                      const struct sonde__dwarf_unit *unit,
                      const struct sonde__dwarf_wanted *wanted, struct sonde__dwarf_plans *plans)
{
    struct sonde__dwarf_plan plan = {.first = (uint32_t)plans->step_count,
                                     .kind = wanted != NULL ? wanted->kind(abbrev->tag) : 0,
                                     .children = abbrev->children};
    uint32_t kept = 0;
    uint16_t *skip = &plan.skip;
    for (uint32_t i = 0; i < abbrev->count; i++) {
        const struct sonde__dwarf_attr *attr = &abbrevs->attrs[abbrev->first + i];
        const struct sonde__dwarf_form form = sonde__dwarf_form(unit, attr->form);
        int slot = plan.kind != 0 ? wanted->slot(plan.kind, attr->name) : -1;
        struct sonde__dwarf_step step;
        if (slot >= 0 && (kept & 1u << slot) == 0) {
            kept |= 1u << slot;
            step = step_keep(form, slot);
        } else if (form.encoding == SONDE__DWARF_FIXED && *skip <= UINT16_MAX - 16) {
            *skip = (uint16_t)(*skip + form.size);
            continue;
        } else {
            step = step_over(form);
        }
        step.attr = abbrev->first + i;
        if (plan.count == UINT16_MAX ||
            !sonde__mem_grow(&plans->steps, plans->step_count, &plans->step_capacity,
                             sizeof *plans->steps)) {
            return false;
        }
        plans->steps[plans->step_count] = step;
        skip = &plans->steps[plans->step_count++].skip;
        plan.count++;
    }
    return SONDE__MEM_ADD(plans->plans, plans->count, plans->capacity, plan);
}

bool sonde__dwarf_plans_make(const struct sonde__dwarf_abbrevs *abbrevs,
                             const struct sonde__dwarf_unit *unit,
                             const struct sonde__dwarf_wanted *wanted,
                             struct sonde__dwarf_plans *plans)
{
    plans->count = 0;
    plans->step_count = 0;
    plans->attrs = abbrevs->attrs;
    for (size_t i = 0; i < abbrevs->count; i++) {
        if (!make_plan(abbrevs, &abbrevs->entries[i], unit, wanted, plans)) {
            return false;
        }
    }
    return true;
}

void sonde__dwarf_plans_done(struct sonde__dwarf_plans *plans)
{
    sonde__mem_free(plans->plans);
    sonde__mem_free(plans->steps);
    memset(plans, 0, sizeof *plans);
}

/* --- reading --- */

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

/* At least ten bytes are readable. A longer ULEB is malformed and gets cut. */
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

/* The value that a form without bytes implies. */
static uint64_t own_value(const struct sonde__dwarf_attr *attr)
{
    return attr->form == DW_FORM_implicit_const ? (uint64_t)attr->implicit : 1;
}

static uint64_t keep_slowly(const struct sonde__dwarf_sections *sections,
                            const struct sonde__dwarf_unit *unit,
                            const struct sonde__dwarf_step *step,
                            const struct sonde__dwarf_attr *attr, struct sonde__bytes at)
{
    if (step->kind == STEP_KEEP) {
        return step->size == 0 ? own_value(attr) : sonde__base_bytes_uint(&at, step->size);
    }
    if (step->kind == STEP_KEEP_ULEB) {
        return sonde__base_bytes_uleb(&at);
    }
    struct sonde__dwarf_value value = sonde__dwarf_read(sections, unit, attr, &at);
    /* strings are kept as addresses; sonde__dwarf_read() has checked the end */
    return value.kind == SONDE__DWARF_STRING ? (uintptr_t)value.s : value.u;
}

/* Read the same DIE with the bounded reader. */
static bool read_slowly(const struct sonde__dwarf_sections *sections,
                        const struct sonde__dwarf_unit *unit,
                        const struct sonde__dwarf_plans *plans,
                        const struct sonde__dwarf_plan *plan, const uint8_t **p, const uint8_t *end,
                        struct sonde__dwarf_die *ret_die)
{
    struct sonde__bytes at = {*p, *p, end, false, false};
    const struct sonde__dwarf_step *step = &plans->steps[plan->first];
    if (!sonde__base_bytes_need(&at, plan->skip)) {
        return false;
    }
    at.at += plan->skip;
    for (unsigned i = 0; i < plan->count; i++, step++) {
        const struct sonde__dwarf_attr *attr = &plans->attrs[step->attr];
        if (step->kind <= STEP_KEEP_OTHER) {
            ret_die->attr[step->slot] = attr;
            ret_die->raw[step->slot] = keep_slowly(sections, unit, step, attr, at);
            ret_die->present |= 1u << step->slot;
        }
        sonde__dwarf_skip(unit, attr, &at);
        if (at.failed || !sonde__base_bytes_need(&at, step->skip)) {
            return false;
        }
        at.at += step->skip;
    }
    *p = at.at;
    return true;
}

/* Skip a value that is not kept; null: use the bounded reader. */
static inline const uint8_t *behind(const struct sonde__dwarf_step *step, const uint8_t *p,
                                    const uint8_t *end)
{
    uint64_t size;
    switch (step->kind) {
    case STEP_ULEB:
        (void)uleb(&p);
        return p;
    case STEP_STRING:
        p = memchr(p, 0, (size_t)(end - p));
        return p != NULL ? p + 1 : NULL;
    case STEP_BLOCK:
        size = uleb(&p);
        break;
    case STEP_BLOCK_SIZED:
        size = load(p, step->size);
        p += step->size;
        break;
    default:
        return NULL;
    }
    return size <= (size_t)(end - p) ? p + size : NULL;
}

bool sonde__dwarf_plan_read(const struct sonde__dwarf_sections *sections,
                            const struct sonde__dwarf_unit *unit,
                            const struct sonde__dwarf_plans *plans,
                            const struct sonde__dwarf_plan *plan, const uint8_t **at,
                            const uint8_t *end, struct sonde__dwarf_die *ret_die)
{
    const uint8_t *p = *at;
    const struct sonde__dwarf_step *step = &plans->steps[plan->first];
    const struct sonde__dwarf_step *last = step + plan->count;
    ret_die->present = 0;
    if ((size_t)(end - p) < plan->skip) {
        return false;
    }
    p += plan->skip;
    for (; step != last; step++) {
        if ((size_t)(end - p) < STEP_BYTES) {
            return read_slowly(sections, unit, plans, plan, at, end, ret_die);
        }
        if (step->kind <= STEP_KEEP_ULEB) {
            const struct sonde__dwarf_attr *attr = &plans->attrs[step->attr];
            ret_die->attr[step->slot] = attr;
            ret_die->present |= 1u << step->slot;
            if (step->kind == STEP_KEEP_ULEB) {
                ret_die->raw[step->slot] = uleb(&p);
            } else if (step->size == 0) {
                ret_die->raw[step->slot] = own_value(attr);
            } else {
                ret_die->raw[step->slot] = load(p, step->size);
                p += step->size;
            }
        } else {
            p = behind(step, p, end);
            if (p == NULL) {
                return read_slowly(sections, unit, plans, plan, at, end, ret_die);
            }
        }
        if ((size_t)(end - p) < step->skip) {
            return false;
        }
        p += step->skip;
    }
    *at = p;
    return true;
}
