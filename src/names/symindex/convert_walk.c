// SPDX-License-Identifier: Apache-2.0
/* All DIEs of a unit, for its functions and inlined calls.
 *
 * Every DIE is visited: local classes and lambdas hold out-of-line bodies, so that skipping types
 * by their siblings would lose functions. A DIE that lies well inside the unit is read by its plan
 * with one check for each step; what comes close to the end, or has a rare form, goes through the
 * bounded reader. */
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

/* --- scopes --- */

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

struct range_sink {
    struct convert *c;
    uint32_t scope;
    bool any;
};

static void add_range(void *ctx, uint64_t low, uint64_t high)
{
    struct range_sink *sink = ctx;
    struct convert *c = sink->c;
    uint64_t from = low - c->base;
    uint64_t to = high - c->base;
    if (low < c->base || from >= c->size || to > c->size || !convert_work(c, 1)) {
        return; /* not code of this image */
    }
    if (!CONVERT_ROOM(c, scope_ranges, scope_range_count, scope_range_capacity)) {
        return;
    }
    /* an end at 4 GiB does not fit: the last byte of such an image is given up */
    c->scope_ranges[c->scope_range_count++] = (struct scope_range){
        (uint32_t)from, to > UINT32_MAX ? UINT32_MAX : (uint32_t)to, sink->scope};
    sink->any = true;
}

static void add_list(struct range_sink *sink, const struct die *die)
{
    struct convert *c = sink->c;
    uint64_t offset = die->raw[SLOT_RANGES];
    if (die->attr[SLOT_RANGES]->form == DW_FORM_rnglistx) {
        struct sonde__bytes at = c->sections->rnglists;
        uint64_t entry = c->unit.rnglists_base + offset * c->unit.offset_size;
        at.failed = false;
        if (offset >= UINT32_MAX || !sonde__base_bytes_seek(&at, entry)) {
            convert_damage(c, "a range list outside its section");
            return;
        }
        offset = c->unit.rnglists_base + sonde__base_bytes_uint(&at, c->unit.offset_size);
    }
    if (!sonde__dwarf_each_range(c->sections, &c->unit, offset, add_range, sink)) {
        convert_damage(c, "a malformed range list");
    }
}

static void add_ranges(struct range_sink *sink, const struct die *die)
{
    struct convert *c = sink->c;
    if ((die->present & 1u << SLOT_RANGES) != 0) {
        add_list(sink, die);
    } else if ((die->present & (1u << SLOT_LOW | 1u << SLOT_HIGH)) ==
               (1u << SLOT_LOW | 1u << SLOT_HIGH)) {
        uint64_t low = 0, high = 0;
        bool known = convert_address(c, die, SLOT_LOW, &low);
        if (!convert_is_address(die->attr[SLOT_HIGH]->form)) {
            high = low + die->raw[SLOT_HIGH];
        } else {
            known = convert_address(c, die, SLOT_HIGH, &high) && known;
        }
        if (known && low < high && !sonde__dwarf_discarded(&c->unit, low)) {
            add_range(sink, low, high);
        }
    }
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

/* The scope that children of this DIE stand in; *function: the function, which is changed by a
 * function's DIE. */
static uint32_t add_scope(struct convert *c, const struct plan *plan, const struct die *die,
                          uint64_t offset, uint32_t enclosing, uint32_t *function)
{
    bool inlined = plan->kind == PLAN_INLINED;
    struct range_sink sink = {c, (uint32_t)c->scope_count, false};
    uint64_t named = offset;
    struct scope scope = {.parent = inlined ? enclosing : CONVERT_NONE};
    size_t first_range = c->scope_range_count;
    *function = inlined ? *function : CONVERT_NONE;
    if ((die->present & 1u << SLOT_DECLARATION) != 0 || (inlined && enclosing == CONVERT_NONE) ||
        c->scope_count >= CONVERT_NONE) {
        return CONVERT_NONE;
    }
    add_ranges(&sink, die);
    /* An inlined call without ranges (version 2 has no way to write several) may hold ones with
     * code, which were then inlined through it; a function without code is abstract or discarded.
     */
    if ((!sink.any && !inlined) || !CONVERT_ROOM(c, scopes, scope_count, scope_capacity)) {
        return CONVERT_NONE;
    }
    if ((die->present & 1u << SLOT_ORIGIN) != 0) {
        uint64_t origin = convert_reference(c, die);
        named = origin != 0 ? origin : offset;
    }
    scope.name = convert_function_name(c, named);
    if (inlined) {
        if ((die->present & 1u << SLOT_CALL_FILE) != 0) {
            scope.call_file = convert_file(c, die->raw[SLOT_CALL_FILE]);
        }
        if ((die->present & 1u << SLOT_CALL_LINE) != 0) {
            scope.call_line = (uint32_t)die->raw[SLOT_CALL_LINE];
        }
    } else {
        *function = convert_sites_function(c, die, offset, scope.name, first_range);
    }
    c->scopes[c->scope_count] = scope;
    return (uint32_t)c->scope_count++;
}

/* False: it could not be read to its end. */
static bool walk_dies(struct convert *c)
{
    const uint8_t *begin = c->sections->info.begin;
    const uint8_t *p = begin + c->unit.die_offset;
    const uint8_t *end = begin + c->unit.end;
    uint32_t scope_at[CONVERT_DEPTH_MAX], function_at[CONVERT_DEPTH_MAX];
    unsigned depth = 0;
    struct die die;
    scope_at[0] = function_at[0] = CONVERT_NONE;
    while (p < end && c->status == SONDE_OK) {
        const uint8_t *start = p;
        const struct plan *plan;
        uint64_t code = *p;
        if (code == 0) {
            p++;
            if (depth == 0) {
                return true; /* padding behind the last DIE */
            }
            depth--;
            continue;
        }
        if (code < 0x80) {
            p++;
        } else {
            struct sonde__bytes at = {p, p, end, false, false};
            code = sonde__base_bytes_uleb(&at);
            if (at.failed) {
                break;
            }
            p = at.at;
        }
        if (c->abbrevs.dense) {
            plan = code - 1 < c->plans.count ? &c->plans.plans[code - 1] : NULL;
        } else {
            const struct sonde__dwarf_abbrev *abbrev = sonde__dwarf_abbrev_find(&c->abbrevs, code);
            plan = abbrev != NULL ? &c->plans.plans[abbrev - c->abbrevs.entries] : NULL;
        }
        if (plan == NULL) {
            convert_damage(c, "a DIE with an unknown abbreviation");
            return false;
        }
        if (plan->count == 0) {
            if ((size_t)(end - p) < plan->skip) {
                break;
            }
            p += plan->skip;
            die.present = 0;
        } else if (!convert_die(c, plan, &p, end, &die)) {
            break;
        }
        uint32_t scope = scope_at[depth];
        uint32_t function = function_at[depth];
        if (plan->kind == PLAN_SITE) {
            convert_sites_add(c, &die, function);
        } else if (plan->kind != PLAN_OTHER) {
            scope = add_scope(c, plan, &die, (uint64_t)(start - begin), scope, &function);
        }
        if (plan->children) {
            if (depth + 1 >= CONVERT_DEPTH_MAX) {
                convert_damage(c, "DIEs nested too deeply");
                return false;
            }
            scope_at[++depth] = scope;
            function_at[depth] = function;
        }
    }
    if (p < end && c->status == SONDE_OK) {
        convert_damage(c, "a malformed DIE");
        return false;
    }
    return true;
}

void convert_walk(struct convert *c)
{
    bool whole = walk_dies(c);
    convert_sites_end_unit(c, whole);
}
