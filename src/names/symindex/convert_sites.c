// SPDX-License-Identifier: Apache-2.0
/* Functions and call sites described by DIEs (DWARF 5 §3.4, and its predecessor, a GNU extension of
 * version 4): callees, targets of tail calls, and whether all tail calls of a function are
 * described. encode_sites.c resolves them after all units have been read.
 *
 * A call site names its callee by a DIE: a function with code, a declaration, or the abstract DIE
 * of one. A callee with code in the same unit is resolved here, any other by its name later. */
#include "convert.h"
#include "dwarf_constants.h"
#include "mem_heap.h"

/* Keys of the unit's map. */
enum { KEY_CODE, KEY_ROOT, KEY_CALLEE, KEY_KINDS };

static uint64_t key_of(uint64_t offset, unsigned kind)
{
    return offset * KEY_KINDS + kind;
}

void convert_sites_done(struct sites *sites)
{
    sonde__mem_free(sites->functions);
    sonde__mem_free(sites->parts);
    sonde__mem_free(sites->callees);
    sonde__mem_free(sites->all);
    sonde__mem_free(sites->unit.entries);
    sonde__mem_free(sites->names.entries);
    sonde__mem_free(sites->locals.entries);
    sonde__mem_free(sites->imports.entries);
    sonde__mem_free(sites->own.entries);
    sonde__mem_free(sites->chosen.entries);
}

void convert_sites_name(struct convert *c, struct map *map, uint32_t name, uint32_t start)
{
    uint32_t known = convert_map_find(map, name);
    if (known == 0) {
        convert_map_set(c, map, name, start + 1);
    } else if (known != start + 1) {
        convert_map_set(c, map, name, CONVERT_NONE);
    }
}

static uint32_t moved(uint32_t number, size_t by)
{
    return number != CONVERT_NONE ? number + (uint32_t)by : CONVERT_NONE;
}

static bool add_room(struct convert *c, const struct sites *slice)
{
    struct sites *s = &c->sites;
    if (s->function_count + slice->function_count >= CONVERT_NONE ||
        s->part_count + slice->part_count >= CONVERT_NONE ||
        s->callee_count + slice->callee_count >= CONVERT_NONE ||
        s->count + slice->count >= CONVERT_NONE) {
        c->status = SONDE_LIMIT;
        return false;
    }
    return convert_reserve_more(c, &s->functions, s->function_count + slice->function_count,
                                &s->function_capacity, sizeof *s->functions) &&
           convert_reserve_more(c, &s->parts, s->part_count + slice->part_count, &s->part_capacity,
                                sizeof *s->parts) &&
           convert_reserve_more(c, &s->callees, s->callee_count + slice->callee_count,
                                &s->callee_capacity, sizeof *s->callees) &&
           convert_reserve_more(c, &s->all, s->count + slice->count, &s->capacity, sizeof *s->all);
}

void convert_sites_append(struct convert *c, const struct sites *slice, const uint32_t *strings)
{
    struct sites *s = &c->sites;
    size_t functions = s->function_count;
    size_t callees = s->callee_count;
    if (!add_room(c, slice)) {
        return;
    }
    for (size_t i = 0; i < slice->function_count; i++) {
        struct site_function function = slice->functions[i];
        function.name = strings[function.name];
        function.before = moved(function.before, functions);
        s->functions[s->function_count++] = function;
    }
    for (size_t i = 0; i < slice->part_count; i++) {
        struct site_part part = slice->parts[i];
        part.function = moved(part.function, functions);
        s->parts[s->part_count++] = part;
    }
    for (size_t i = 0; i < slice->callee_count; i++) {
        struct site_callee callee = slice->callees[i];
        callee.candidate = moved(callee.candidate, functions);
        callee.name = strings[callee.name];
        s->callees[s->callee_count++] = callee;
    }
    for (size_t i = 0; i < slice->count; i++) {
        struct site site = slice->all[i];
        site.function = moved(site.function, functions);
        site.callee = moved(site.callee, callees);
        s->all[s->count++] = site;
    }
}

uint32_t convert_sites_function(struct convert *c, const struct sonde__dwarf_die *die,
                                uint64_t offset, uint32_t name, size_t first_range)
{
    struct sites *s = &c->sites;
    struct site_function function = {.start = CONVERT_NONE, .name = name};
    struct identity identity = {.root = offset};
    uint32_t number = (uint32_t)s->function_count;
    if (first_range == c->scope_range_count ||
        !CONVERT_ROOM(c, sites.functions, sites.function_count, sites.function_capacity)) {
        return CONVERT_NONE;
    }
    for (size_t i = first_range; i < c->scope_range_count; i++) {
        const struct scope_range *range = &c->scope_ranges[i];
        if (!CONVERT_ROOM(c, sites.parts, sites.part_count, sites.part_capacity)) {
            return CONVERT_NONE;
        }
        s->parts[s->part_count++] = (struct site_part){range->low, range->high, number};
    }
    /* without low_pc the first range has the entry point (DWARF 5 §2.18) */
    function.start = c->scope_ranges[first_range].low;
    if ((die->present & 1u << SLOT_ORIGIN) != 0) {
        convert_identify(c, offset, &identity);
    }
    function.flags =
        ((die->present & 1u << SLOT_ALL_CALLS) != 0 ? (uint32_t)SITE_COMPLETE : 0) |
        ((die->present & 1u << SLOT_EXTERNAL) != 0 || identity.external ? (uint32_t)SITE_EXTERNAL
                                                                        : 0);
    function.before = convert_map_find(&s->unit, key_of(identity.root, KEY_ROOT)) - 1;
    convert_map_set(c, &s->unit, key_of(identity.root, KEY_ROOT), number + 1);
    convert_map_set(c, &s->unit, key_of(offset, KEY_CODE), number + 1);
    s->functions[s->function_count++] = function;
    return number;
}

/* An address in this image, as an offset. */
static bool offset_of(const struct convert *c, const struct sonde__dwarf_die *die, enum slot slot,
                      uint32_t *ret_offset)
{
    uint64_t address = 0;
    if ((die->present & 1u << slot) == 0 || !convert_is_address(c, die->attr[slot]) ||
        !convert_address(c, die, slot, &address) || address < c->base ||
        address - c->base >= c->size || address - c->base >= CONVERT_NONE) {
        return false;
    }
    *ret_offset = (uint32_t)(address - c->base);
    return true;
}

/* The callee for an origin, created on first use. */
static uint32_t callee_of(struct convert *c, const struct sonde__dwarf_die *die)
{
    struct sites *s = &c->sites;
    struct site_callee callee = {.entry = CONVERT_NONE, .candidate = CONVERT_NONE};
    uint32_t known;
    if ((die->present & 1u << SLOT_ORIGIN) == 0) {
        return CONVERT_NONE;
    }
    if (convert_is_address(c, die->attr[SLOT_ORIGIN])) {
        if (!offset_of(c, die, SLOT_ORIGIN, &callee.entry)) {
            return CONVERT_NONE;
        }
    } else {
        callee.origin = convert_reference(c, die);
        known = convert_map_find(&s->unit, key_of(callee.origin, KEY_CALLEE));
        if (callee.origin == 0 || known != 0) {
            return known - 1;
        }
    }
    if (!CONVERT_ROOM(c, sites.callees, sites.callee_count, sites.callee_capacity)) {
        return CONVERT_NONE;
    }
    if (callee.origin != 0) {
        convert_map_set(c, &s->unit, key_of(callee.origin, KEY_CALLEE),
                        (uint32_t)s->callee_count + 1);
    }
    s->callees[s->callee_count] = callee;
    return (uint32_t)s->callee_count++;
}

void convert_sites_add(struct convert *c, const struct sonde__dwarf_die *die, uint32_t function)
{
    struct sites *s = &c->sites;
    struct site site = {.function = function, .is_tail = (die->present & 1u << SLOT_TAIL) != 0};
    uint32_t back;
    if (function == CONVERT_NONE) {
        return;
    }
    if (site.is_tail && (die->present & 1u << SLOT_CALL) != 0) {
        if (!offset_of(c, die, SLOT_CALL, &site.at)) {
            site.at = CONVERT_NONE;
        }
    } else if (offset_of(c, die, SLOT_RETURN, &back) && back != 0) {
        site.at = site.is_tail ? back - 1 : back;
    } else {
        site.at = CONVERT_NONE;
    }
    if (!site.is_tail && site.at == CONVERT_NONE) {
        return;
    }
    site.callee = callee_of(c, die);
    if ((site.is_tail || site.callee != CONVERT_NONE) &&
        CONVERT_ROOM(c, sites.all, sites.count, sites.capacity)) {
        s->all[s->count++] = site;
    }
}

void convert_sites_end_unit(struct convert *c, bool whole)
{
    struct sites *s = &c->sites;
    for (size_t i = s->unit_callee; i < s->callee_count && c->status == SONDE_OK; i++) {
        struct site_callee *callee = &s->callees[i];
        struct identity identity;
        uint32_t function;
        if (callee->origin == 0) {
            continue;
        }
        function = convert_map_find(&s->unit, key_of(callee->origin, KEY_CODE));
        if (function != 0) {
            callee->entry = s->functions[function - 1].start;
            continue;
        }
        convert_identify(c, callee->origin, &identity);
        callee->name = identity.name;
        callee->external = identity.external;
        callee->linked = identity.linked;
        callee->candidate = convert_map_find(&s->unit, key_of(identity.root, KEY_ROOT)) - 1;
    }
    for (size_t i = s->unit_function; i < s->function_count && !whole; i++) {
        s->functions[i].flags &= ~(uint32_t)SITE_COMPLETE;
    }
    s->unit_callee = s->callee_count;
    s->unit_function = s->function_count;
    convert_map_clear(&s->unit);
}
