// SPDX-License-Identifier: Apache-2.0
/* Units: headers are read when the view is opened, a unit's own DIE when something in it is needed.
 * Unreadable units are skipped. */
#include <string.h>

#include "base_search.h"
#include "base_status.h"
#include "dwarf_constants.h"
#include "mem_heap.h"
#include "types_data.h"

/* Work budget in DIEs: WORK_FIRST at opening, WORK_FACTOR for each byte of input, and at least
 * WORK_QUESTION for each query. The largest units have some millions of DIEs. */
#define WORK_FIRST    ((uint64_t)1 << 24)
#define WORK_FACTOR   4u
#define WORK_QUESTION ((uint64_t)1 << 23)
/* Limit of headers kept for a hostile file; a header takes some 200 bytes. */
#define UNITS_MAX  ((size_t)1 << 21)
#define SPACES_MAX ((size_t)1 << 18)

bool types_spend(struct sonde__types *t, uint64_t amount)
{
    if (amount > t->work_left) {
        t->work_left = 0;
        return false;
    }
    t->work_left -= amount;
    return true;
}

uint64_t types_work_of_all(const struct sonde__types *t)
{
    uint64_t work = WORK_FIRST;
    for (size_t i = 0; i < t->space_count; i++) {
        work += WORK_FACTOR * (uint64_t)sonde__base_bytes_left(&t->spaces[i].sections.info);
    }
    return work;
}

void sonde__types_refill(struct sonde__types *t)
{
    t->work_left = t->work_left > WORK_QUESTION ? t->work_left : WORK_QUESTION;
}

struct types_unit *types_unit(struct sonde__types *t, uint32_t unit)
{
    return &t->units[unit];
}

const struct sonde__dwarf_sections *types_sections(const struct sonde__types *t, uint32_t unit)
{
    return &t->spaces[t->units[unit].space].sections;
}

/* --- signatures --- */

static uint32_t unit_of_signature(const struct sonde__types *t, uint64_t signature)
{
    return SONDE__TABLE_FIND(&t->signatures, sonde__mem_hash(signature), i,
                             t->units[i].signature == signature);
}

/* Only the first type unit of a signature is used. */
static bool add_signature(struct sonde__types *t, uint32_t unit)
{
    uint64_t signature = t->units[unit].signature;
    return unit_of_signature(t, signature) != SONDE__TABLE_NONE ||
           sonde__mem_table_add(&t->signatures, sonde__mem_hash(signature), unit);
}

/* --- spaces --- */

/* The additional fields of a type unit's header (DWARF 5 §7.5.1.3; DWARF 4 §7.5.1.2). */
static void read_type_header(const struct types_space *space, struct types_unit *u)
{
    struct sonde__bytes at = space->sections.info;
    unsigned size = 8u + u->head.offset_size;
    if (space->old_types) {
        u->head.die_offset += size;
    }
    at.failed = false;
    (void)sonde__base_bytes_seek(&at, u->head.die_offset - size);
    u->signature = sonde__base_bytes_u64(&at);
    u->type_die = u->head.offset + sonde__base_bytes_uint(&at, u->head.offset_size);
    u->is_type = true;
    if (at.failed || u->head.die_offset > u->head.end || u->type_die < u->head.die_offset ||
        u->type_die >= u->head.end) {
        u->state = TYPES_UNIT_BAD;
    }
}

static bool is_type_unit(const struct types_space *space, const struct sonde__dwarf_unit *head)
{
    return space->old_types ||
           (head->version >= 5 && (head->type == DW_UT_type || head->type == DW_UT_split_type));
}

static enum sonde_status read_headers(struct sonde__types *t, uint32_t index)
{
    struct types_space *space = &t->spaces[index];
    uint64_t offset = 0;
    space->first = (uint32_t)t->unit_count;
    for (;;) {
        struct types_unit u = {.space = index, .split = TYPES_NO_UNIT, .skeleton = TYPES_NO_UNIT};
        enum sonde_status status = sonde__dwarf_unit_read(&space->sections, offset, &u.head);
        if (status == SONDE_ABSENT || status == SONDE_CORRUPT) {
            break; /* nothing can be found after a damaged header */
        }
        if (t->unit_count >= UNITS_MAX) {
            return SONDE_LIMIT;
        }
        if (!sonde__mem_grow(&t->units, t->unit_count, &t->unit_capacity, sizeof *t->units)) {
            return SONDE_MEMORY;
        }
        if (status != SONDE_OK) {
            u.state = TYPES_UNIT_BAD;
        } else if (is_type_unit(space, &u.head)) {
            read_type_header(space, &u);
        }
        t->units[t->unit_count++] = u;
        if (u.is_type && u.state == TYPES_UNIT_NEW &&
            !add_signature(t, (uint32_t)(t->unit_count - 1))) {
            return SONDE_MEMORY;
        }
        offset = u.head.end;
    }
    space->count = (uint32_t)t->unit_count - space->first;
    return SONDE_OK;
}

/* main: the space that DW_FORM_ref_addr refers to; SPACES_MAX: itself. */
static enum sonde_status add_space(struct sonde__types *t,
                                   const struct sonde__dwarf_sections *sections, bool old_types,
                                   size_t main, uint32_t *ret_space)
{
    uint32_t index = (uint32_t)t->space_count;
    if (t->space_count >= SPACES_MAX) {
        return SONDE_LIMIT;
    }
    if (!sonde__mem_grow(&t->spaces, t->space_count, &t->space_capacity, sizeof *t->spaces)) {
        return SONDE_MEMORY;
    }
    struct types_space *space = &t->spaces[t->space_count++];
    *space = (struct types_space){.sections = *sections,
                                  .main = main == SPACES_MAX ? index : (uint32_t)main,
                                  .common = index,
                                  .old_types = old_types};
    if (old_types) {
        space->sections.info = sections->types;
    }
    *ret_space = index;
    t->work_left += WORK_FACTOR * (uint64_t)sonde__base_bytes_left(&space->sections.info);
    return read_headers(t, index);
}

/* Add the sections of one file: its units, and version 4's type units. */
static enum sonde_status add_file(struct sonde__types *t,
                                  const struct sonde__dwarf_sections *sections, bool split,
                                  uint32_t *ret_space)
{
    uint32_t types;
    size_t first = t->space_count;
    SONDE_TRY(add_space(t, sections, false, SPACES_MAX, ret_space));
    if (sonde__base_bytes_left(&sections->types) != 0) {
        SONDE_TRY(add_space(t, sections, true, *ret_space, &types));
    }
    for (size_t i = first; i < t->space_count; i++) {
        t->spaces[i].split = split;
    }
    return SONDE_OK;
}

enum sonde_status types_open_units(struct sonde__types *t)
{
    const struct sonde__dwarf_sections *sections = t->source.sections;
    uint32_t own, common;
    t->work_left = WORK_FIRST;
    SONDE_TRY(add_file(t, sections, false, &own));
    if (t->unit_count == 0) {
        return SONDE_ABSENT;
    }
    if (sections->supplementary != NULL) {
        size_t own_end = t->space_count;
        SONDE_TRY(add_file(t, sections->supplementary, false, &common));
        for (size_t i = 0; i < own_end; i++) {
            t->spaces[i].common = common;
        }
    }
    return SONDE_OK;
}

/* --- abbreviations --- */

/* Units that share a table but differ in address or offset size need different plans, so a slot
 * belongs to one unit and adjacent units with the same sizes. */
static enum sonde_status load_table(struct sonde__types *t, uint32_t unit)
{
    struct types_unit *u = &t->units[unit];
    struct types_table *table = &t->tables[0];
    uint32_t slot = 0;
    for (uint32_t i = 1; i < TYPES_TABLES; i++) {
        if (t->tables[i].used < table->used) {
            table = &t->tables[i];
            slot = i;
        }
    }
    table->stamp = 0;
    table->abbrevs.valid = false;
    enum sonde_status status =
        sonde__dwarf_abbrevs_load(types_sections(t, unit), u->head.abbrev_offset, &table->abbrevs);
    bool paid = types_spend(t, table->abbrevs.attr_count / 4 + table->abbrevs.count / 4 + 1);
    SONDE_TRY(status);
    if (!paid) {
        return SONDE_LIMIT;
    }
    if (!sonde__dwarf_plans_make(&table->abbrevs, &u->head, NULL, &table->plans)) {
        return SONDE_MEMORY;
    }
    table->stamp = ++t->stamp;
    u->table = slot;
    u->table_stamp = table->stamp;
    return SONDE_OK;
}

/* Use an adjacent unit's table if it is the same. */
static bool share_table(struct sonde__types *t, uint32_t unit)
{
    struct types_unit *u = &t->units[unit];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t other = unit - 1 + 2 * i;
        if (other >= t->unit_count || t->units[other].space != u->space) {
            continue;
        }
        const struct types_unit *o = &t->units[other];
        if (o->table_stamp != 0 && t->tables[o->table].stamp == o->table_stamp &&
            o->head.abbrev_offset == u->head.abbrev_offset && o->head.version == u->head.version &&
            o->head.offset_size == u->head.offset_size &&
            o->head.address_size == u->head.address_size) {
            u->table = o->table;
            u->table_stamp = o->table_stamp;
            return true;
        }
    }
    return false;
}

enum sonde_status types_abbrevs(struct sonde__types *t, uint32_t unit,
                                const struct types_table **ret_table)
{
    struct types_unit *u = &t->units[unit];
    if ((u->table_stamp == 0 || t->tables[u->table].stamp != u->table_stamp) &&
        !share_table(t, unit)) {
        SONDE_TRY(load_table(t, unit));
    }
    struct types_table *table = &t->tables[u->table];
    table->used = ++t->stamp;
    *ret_table = table;
    return SONDE_OK;
}

/* --- one unit --- */

enum sonde_status types_ready(struct sonde__types *t, uint32_t unit)
{
    struct types_unit *u = &t->units[unit];
    const struct types_table *table;
    if (u->state == TYPES_UNIT_READY) {
        return SONDE_OK;
    }
    if (u->state == TYPES_UNIT_BAD) {
        return SONDE_CORRUPT;
    }
    enum sonde_status status = types_abbrevs(t, unit, &table);
    if (status == SONDE_OK) {
        status = sonde__dwarf_unit_root(types_sections(t, unit), &table->abbrevs, &u->head);
    }
    if (status == SONDE_CORRUPT) {
        u->state = TYPES_UNIT_BAD;
    }
    SONDE_TRY(status);
    u->state = TYPES_UNIT_READY;
    return SONDE_OK;
}

uint32_t types_unit_at(const struct sonde__types *t, uint32_t space, uint64_t offset)
{
    const struct types_space *s = &t->spaces[space];
    uint32_t after =
        SONDE__SEARCH(s->first, s->first + s->count, i, t->units[i].head.offset <= offset);
    return after > s->first && offset < t->units[after - 1].head.end ? after - 1 : TYPES_NO_UNIT;
}

struct sonde__type_ref types_by_signature(struct sonde__types *t, uint64_t signature)
{
    struct sonde__type_ref none = {0};
    struct sonde__dwarf_split split;
    uint32_t space;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t unit = unit_of_signature(t, signature);
        if (unit != SONDE__TABLE_NONE) {
            return (struct sonde__type_ref){unit, t->units[unit].type_die};
        }
        if (pass != 0 || t->source.split_type == NULL || !types_spend(t, 1) ||
            !t->source.split_type(t->source.ctx, signature, &split)) {
            break;
        }
        /* version 4 gives it a header as in .debug_types */
        struct sonde__dwarf_unit head;
        struct sonde__dwarf_sections sections = split.sections;
        if (sonde__dwarf_unit_read(&sections, split.offset, &head) != SONDE_OK) {
            break;
        }
        sections.types = sections.info;
        if (add_space(t, &sections, head.version < 5, SPACES_MAX, &space) != SONDE_OK) {
            break;
        }
        t->spaces[space].split = true;
    }
    return none;
}

/* --- split units --- */

static enum sonde_status load_split(struct sonde__types *t, uint32_t unit)
{
    struct sonde__dwarf_split split;
    struct sonde__dwarf_abbrevs abbrevs = {0};
    struct sonde__dwarf_unit head;
    struct sonde__dwarf_unit skeleton = t->units[unit].head;
    uint32_t space, body;
    if (t->source.split == NULL || !t->source.split(t->source.ctx, &skeleton, &split)) {
        return SONDE_ABSENT;
    }
    enum sonde_status status = sonde__dwarf_split_unit(&split, &skeleton, &abbrevs, &head);
    sonde__dwarf_abbrevs_done(&abbrevs);
    SONDE_TRY(status);
    if (sonde__base_bytes_left(&split.sections.cu_index) != 0) {
        /* type units of a package are found by its index, one by one */
        sonde__base_bytes_init(&split.sections.types, "", 0);
    }
    SONDE_TRY(add_file(t, &split.sections, true, &space));
    body = types_unit_at(t, space, split.offset);
    if (body == TYPES_NO_UNIT) {
        return SONDE_CORRUPT;
    }
    t->units[body].head = head;
    t->units[body].state = TYPES_UNIT_READY;
    t->units[body].skeleton = unit;
    t->units[unit].split = body;
    return SONDE_OK;
}

uint32_t types_body(struct sonde__types *t, uint32_t unit)
{
    struct types_unit *u = &t->units[unit];
    if (types_ready(t, unit) != SONDE_OK) {
        return TYPES_NO_UNIT;
    }
    if (u->is_type || !u->head.has_dwo_id || u->head.dwo_name == NULL ||
        u->skeleton != TYPES_NO_UNIT) {
        return unit;
    }
    if (!u->split_tried) {
        u->split_tried = true;
        (void)(load_split(t, unit) == SONDE_OK);
    }
    return t->units[unit].split;
}

/* --- languages --- */

/* dwz's partial units have none: use that of the file's first unit with one. */
static unsigned language_of(struct sonde__types *t, uint32_t unit)
{
    enum { TRIED_MAX = 64 };
    if (types_ready(t, unit) != SONDE_OK) {
        return 0;
    }
    for (uint32_t i = 0; t->units[unit].head.language == 0 && i < t->spaces[0].count; i++) {
        if (i >= TRIED_MAX) {
            break;
        }
        if (types_ready(t, i) == SONDE_OK && t->units[i].head.language != 0) {
            return t->units[i].head.language;
        }
    }
    return t->units[unit].head.language;
}

bool types_is_c(struct sonde__types *t, uint32_t unit)
{
    switch (language_of(t, unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C17:
    case DW_LANG_ObjC:
        return true;
    default:
        return false;
    }
}
