// SPDX-License-Identifier: Apache-2.0
/* All DIEs of a unit, for its functions and inlined calls.
 *
 * Every DIE is visited, because local classes and lambdas contain out-of-line bodies; skipping
 * types would lose functions. */
#include "convert.h"
#include "dwarf_constants.h"

/* --- scopes --- */

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
    /* an end at 4 GiB does not fit: the last byte of such an image is lost */
    c->scope_ranges[c->scope_range_count++] = (struct scope_range){
        (uint32_t)from, to > UINT32_MAX ? UINT32_MAX : (uint32_t)to, sink->scope};
    sink->any = true;
}

static void add_list(struct range_sink *sink, const struct sonde__dwarf_die *die)
{
    struct convert *c = sink->c;
    const struct sonde__dwarf_form form = sonde__dwarf_form(&c->unit, die->attr[SLOT_RANGES]->form);
    uint64_t offset = die->raw[SLOT_RANGES];
    if (form.of == SONDE__DWARF_OF_RANGES_INDEX) {
        struct sonde__dwarf_value list = sonde__dwarf_value_of(c->sections, &c->unit, form, offset);
        if (list.kind == SONDE__DWARF_NONE) {
            convert_damage(c, "a range list outside its section");
            return;
        }
        offset = list.u;
    }
    if (!sonde__dwarf_each_range(c->sections, &c->unit, offset, add_range, sink)) {
        convert_damage(c, "a malformed range list");
    }
}

static void add_ranges(struct range_sink *sink, const struct sonde__dwarf_die *die)
{
    struct convert *c = sink->c;
    if ((die->present & 1u << SLOT_RANGES) != 0) {
        add_list(sink, die);
    } else if ((die->present & (1u << SLOT_LOW | 1u << SLOT_HIGH)) ==
               (1u << SLOT_LOW | 1u << SLOT_HIGH)) {
        uint64_t low = 0, high = 0;
        bool known = convert_address(c, die, SLOT_LOW, &low);
        if (!convert_is_address(c, die->attr[SLOT_HIGH])) {
            high = low + die->raw[SLOT_HIGH];
        } else {
            known = convert_address(c, die, SLOT_HIGH, &high) && known;
        }
        if (known && low < high && !sonde__dwarf_discarded(&c->unit, low)) {
            add_range(sink, low, high);
        }
    }
}

/* Add the scope of a DIE. Returns the scope of its children; for a function *function gets its
 * number. */
static uint32_t add_scope(struct convert *c, const struct sonde__dwarf_plan *plan,
                          const struct sonde__dwarf_die *die, uint64_t offset, uint32_t enclosing,
                          uint32_t *function)
{
    bool inlined = plan->kind == DIE_INLINED;
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
    /* An inlined call without ranges (version 2 cannot express several) may contain inlined calls
     * that have code. A function without code is abstract or was discarded. */
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
    } else if (!c->calls_only) {
        *function = convert_sites_function(c, die, offset, scope.name, first_range);
    }
    c->scopes[c->scope_count] = scope;
    return (uint32_t)c->scope_count++;
}

/* The plan of the DIE at *p, which is advanced past its abbreviation code. Null: malformed. */
static inline const struct sonde__dwarf_plan *read_code(struct convert *c, const uint8_t **p,
                                                        const uint8_t *end)
{
    const struct sonde__dwarf_plan *plan;
    uint64_t code = **p;
    if (code < 0x80) {
        ++*p;
    } else {
        struct sonde__bytes at = {*p, *p, end, false, false};
        code = sonde__base_bytes_uleb(&at);
        if (at.failed) {
            return NULL;
        }
        *p = at.at;
    }
    if (c->abbrevs.dense) {
        plan = code - 1 < c->plans.count ? &c->plans.plans[code - 1] : NULL;
    } else {
        const struct sonde__dwarf_abbrev *abbrev = sonde__dwarf_abbrev_find(&c->abbrevs, code);
        plan = abbrev != NULL ? &c->plans.plans[abbrev - c->abbrevs.entries] : NULL;
    }
    if (plan == NULL) {
        convert_damage(c, "a DIE with an unknown abbreviation");
    }
    return plan;
}

/* False: malformed before its end. */
static bool walk_dies(struct convert *c)
{
    const uint8_t *begin = c->sections->info.begin;
    const uint8_t *p = begin + c->unit.die_offset;
    const uint8_t *end = begin + c->unit.end;
    uint32_t scope_at[CONVERT_DEPTH_MAX], function_at[CONVERT_DEPTH_MAX];
    unsigned depth = 0;
    struct sonde__dwarf_die die;
    scope_at[0] = function_at[0] = CONVERT_NONE;
    while (p < end && c->status == SONDE_OK) {
        const uint8_t *start = p;
        if (*p == 0) {
            p++;
            if (depth == 0) {
                return true; /* padding after the last DIE */
            }
            depth--;
            continue;
        }
        const struct sonde__dwarf_plan *plan = read_code(c, &p, end);
        if (plan == NULL) {
            convert_damage(c, "a malformed DIE");
            return false;
        }
        if (plan->count == 0) {
            if ((size_t)(end - p) < plan->skip) {
                break;
            }
            p += plan->skip;
            die.present = 0;
        } else if (!sonde__dwarf_plan_read(c->sections, &c->unit, &c->plans, plan, &p, end, &die)) {
            break;
        }
        uint32_t scope = scope_at[depth];
        uint32_t function = function_at[depth];
        if (plan->kind == DIE_SITE) {
            convert_sites_add(c, &die, function);
        } else if (plan->kind != DIE_OTHER) {
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
    if (!c->calls_only) {
        convert_sites_end_unit(c, whole);
    }
}
