// SPDX-License-Identifier: Apache-2.0
/* The name of a function's DIE: its linkage name, else its plain name, each found through
 * abstract_origin and specification. Each DIE is read once. */
#include <string.h>

#include "base_search.h"
#include "convert.h"
#include "dwarf_constants.h"

/* abstract_origin -> specification -> …: longer chains are malformed (a cycle). */
#define NAME_HOPS_MAX 8

/* What one DIE contributes to the name; 0: nothing. */
struct said {
    uint32_t name, linkage;
    uint64_t onward;
    bool external;
};

static uint32_t text_of(struct convert *c, const struct sonde__dwarf_attr *attr, uint64_t raw)
{
    const struct sonde__dwarf_sections *s = c->sections;
    const struct sonde__dwarf_form form = sonde__dwarf_form(&c->unit, attr->form);
    const struct sonde__bytes *section = NULL;
    switch (form.of) {
    case SONDE__DWARF_OF_STR:
        section = &s->str;
        break;
    case SONDE__DWARF_OF_LINE_STR:
        section = &s->line_str;
        break;
    case SONDE__DWARF_OF_STR_ALT:
        section = s->supplementary != NULL ? &s->supplementary->str : NULL;
        break;
    case SONDE__DWARF_OF_STR_INDEX: {
        struct sonde__dwarf_value value = sonde__dwarf_value_of(s, &c->unit, form, raw);
        return value.s[0] != '\0' ? convert_name(c, value.s, s->str.end) : 0;
    }
    default: /* checked to be NUL-terminated by sonde__dwarf_read() */
        return form.encoding == SONDE__DWARF_TEXT
                   ? convert_name(c, (const char *)(uintptr_t)raw, s->info.end)
                   : 0;
    }
    /* recognise a known name by its address, without finding its end */
    return section != NULL && raw < (uint64_t)(section->end - section->begin)
               ? convert_name(c, (const char *)section->begin + raw, section->end)
               : 0;
}

/* A DIE of the current unit. */
static bool ask_near(struct convert *c, uint64_t offset, struct said *said)
{
    const uint8_t *begin = c->sections->info.begin;
    const uint8_t *end = begin + c->unit.end;
    struct sonde__bytes at = {begin + offset, begin + offset, end, false, false};
    const struct sonde__dwarf_abbrev *abbrev =
        sonde__dwarf_abbrev_find(&c->abbrevs, sonde__base_bytes_uleb(&at));
    struct sonde__dwarf_die die;
    const uint8_t *p = at.at;
    if (abbrev == NULL || at.failed) {
        return false;
    }
    const struct sonde__dwarf_plan *plan = &c->plans.plans[abbrev - c->abbrevs.entries];
    if ((plan->kind != DIE_FUNCTION && plan->kind != DIE_INLINED) ||
        !sonde__dwarf_plan_read(c->sections, &c->unit, &c->plans, plan, &p, end, &die)) {
        return false;
    }
    if ((die.present & 1u << SLOT_LINKAGE) != 0) {
        said->linkage = text_of(c, die.attr[SLOT_LINKAGE], die.raw[SLOT_LINKAGE]);
    }
    if ((die.present & 1u << SLOT_NAME) != 0) {
        said->name = text_of(c, die.attr[SLOT_NAME], die.raw[SLOT_NAME]);
    }
    if ((die.present & 1u << SLOT_ORIGIN) != 0) {
        said->onward = convert_reference(c, &die);
    }
    said->external = (die.present & 1u << SLOT_EXTERNAL) != 0;
    return true;
}

/* Called again when later units may have names. */
void convert_find_units(struct convert *c, struct space *space)
{
    struct sonde__dwarf_unit unit;
    enum sonde_status status = SONDE_OK;
    for (uint64_t offset = 0; status != SONDE_CORRUPT; offset = unit.end) {
        status = sonde__dwarf_unit_read(space->sections, offset, &unit);
        if (status == SONDE_ABSENT ||
            (space->unit_count >= space->unit_capacity &&
             !convert_grow(c, &space->unit_offsets, space->unit_count, &space->unit_capacity,
                           sizeof *space->unit_offsets))) {
            return;
        }
        space->unit_offsets[space->unit_count++] = offset;
    }
}

/* The unit of a space that contains an offset. */
static bool unit_of(const struct space *space, uint64_t offset, struct sonde__dwarf_unit *ret_unit)
{
    /* the first unit behind it */
    size_t after = SONDE__SEARCH(0, space->unit_count, i, space->unit_offsets[i] <= offset);
    return after != 0 &&
           sonde__dwarf_unit_read(space->sections, space->unit_offsets[after - 1], ret_unit) ==
               SONDE_OK &&
           offset < ret_unit->end && offset >= ret_unit->die_offset;
}

static struct space *space_of(struct convert *c, uint64_t *offset)
{
    if ((*offset & CONVERT_SUPPLEMENTARY) != 0) {
        *offset &= ~CONVERT_SUPPLEMENTARY;
        return &c->supplementary;
    }
    if (!c->in_split) {
        return &c->main;
    }
    if (c->split.sections == NULL) {
        c->split.sections = c->sections;
        c->split.unit_count = 0;
        c->split.abbrevs.valid = false;
        if (convert_work(c, (uint64_t)(c->sections->info.end - c->sections->info.begin) / 64)) {
            convert_find_units(c, &c->split);
        }
    }
    return &c->split;
}

/* A DIE of another unit, as in files made by link-time optimisation and dwz. */
static bool ask_far(struct convert *c, uint64_t offset, struct said *said)
{
    uint64_t tag = offset & CONVERT_SUPPLEMENTARY;
    struct space *space = space_of(c, &offset);
    struct sonde__dwarf_abbrevs *abbrevs = &space->abbrevs;
    struct sonde__dwarf_unit unit;
    if (space->sections == NULL || !unit_of(space, offset, &unit)) {
        return false;
    }
    bool loaded = abbrevs->valid && abbrevs->offset == unit.abbrev_offset;
    if (sonde__dwarf_abbrevs_load(space->sections, unit.abbrev_offset, abbrevs) != SONDE_OK ||
        sonde__dwarf_unit_root(space->sections, abbrevs, &unit) != SONDE_OK ||
        (!loaded && !convert_work(c, abbrevs->attr_count))) {
        return false;
    }
    struct sonde__bytes at = sonde__base_bytes_part(&space->sections->info, 0, unit.end);
    (void)sonde__base_bytes_seek(&at, offset);
    const struct sonde__dwarf_abbrev *abbrev =
        sonde__dwarf_abbrev_find(abbrevs, sonde__base_bytes_uleb(&at));
    for (uint32_t i = 0; abbrev != NULL && i < abbrev->count && !at.failed; i++) {
        const struct sonde__dwarf_attr *attr = &abbrevs->attrs[abbrev->first + i];
        struct sonde__dwarf_value value = sonde__dwarf_read(space->sections, &unit, attr, &at);
        if (value.kind == SONDE__DWARF_STRING) {
            uint32_t text = value.s[0] != '\0'
                                ? convert_text(c, value.s, strnlen(value.s, CONVERT_NAME_MAX))
                                : 0;
            if (attr->name == DW_AT_name) {
                said->name = text;
            } else if (attr->name == DW_AT_linkage_name || attr->name == DW_AT_MIPS_linkage_name) {
                said->linkage = text;
            }
        } else if ((value.kind == SONDE__DWARF_REF || value.kind == SONDE__DWARF_ALT) &&
                   value.u < CONVERT_SUPPLEMENTARY &&
                   (attr->name == DW_AT_abstract_origin || attr->name == DW_AT_specification)) {
            said->onward = value.u | (value.kind == SONDE__DWARF_ALT ? CONVERT_SUPPLEMENTARY : tag);
        } else if (attr->name == DW_AT_external) {
            said->external = true;
        }
    }
    return abbrev != NULL && !at.failed;
}

static bool ask(struct convert *c, uint64_t offset, struct said *said)
{
    bool near = offset >= c->unit.die_offset && offset < c->unit.end;
    return near ? ask_near(c, offset, said) : ask_far(c, offset, said);
}

static uint32_t find_name(struct convert *c, uint64_t offset)
{
    uint32_t name = 0;
    for (int hop = 0; hop < NAME_HOPS_MAX; hop++) {
        struct said said = {0};
        if (!ask(c, offset, &said)) {
            break;
        }
        if (said.linkage != 0) {
            return said.linkage;
        }
        name = name != 0 ? name : said.name;
        if (said.onward == 0) {
            break;
        }
        offset = said.onward;
    }
    return name;
}

uint32_t convert_function_name(struct convert *c, uint64_t offset)
{
    bool near = offset >= c->unit.offset && offset < c->unit.end;
    if (!near && c->in_split && (offset & CONVERT_SUPPLEMENTARY) == 0) {
        return find_name(c, offset); /* offsets in split files are not cached */
    }
    struct map *known = near ? &c->origins : &c->far_origins;
    uint64_t key = near ? offset - c->unit.offset : offset;
    uint32_t id = convert_map_find(known, key);
    if (id != 0) {
        return id - 1;
    }
    id = find_name(c, offset);
    convert_map_set(c, known, key, id + 1);
    return id;
}

void convert_identify(struct convert *c, uint64_t offset, struct identity *ret_identity)
{
    struct identity found = {.root = offset};
    uint32_t plain = 0;
    for (int hop = 0; hop < NAME_HOPS_MAX && offset != 0; hop++) {
        struct said said = {0};
        if (!ask(c, offset, &said)) {
            break;
        }
        found.root = offset;
        found.name = found.name != 0 ? found.name : said.linkage;
        plain = plain != 0 ? plain : said.name;
        found.external = found.external || said.external;
        offset = said.onward;
    }
    found.linked = found.name != 0;
    found.name = found.linked ? found.name : plain;
    *ret_identity = found;
}
