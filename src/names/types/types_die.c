// SPDX-License-Identifier: Apache-2.0
/* Reads one DIE with the attributes of types and functions. */
#include "base_status.h"
#include "dwarf_constants.h"
#include "types_data.h"

/* --- references --- */

static struct sonde__type_ref refer(struct sonde__types *t, uint32_t unit,
                                    const struct sonde__dwarf_attr *attr,
                                    struct sonde__dwarf_value value)
{
    const struct types_unit *u = &t->units[unit];
    const struct types_space *space = &t->spaces[u->space];
    uint32_t to = unit;
    if (value.kind == SONDE__DWARF_ALT) {
        if (space->common == u->space) {
            return (struct sonde__type_ref){0}; /* dwz's file is missing */
        }
        to = types_unit_at(t, space->common, value.u);
    } else if (value.kind != SONDE__DWARF_REF) {
        return (struct sonde__type_ref){0};
    } else if (attr->form == DW_FORM_ref_addr) {
        to = types_unit_at(t, space->main, value.u);
    } else if (value.u < u->head.offset || value.u >= u->head.end) {
        return (struct sonde__type_ref){0};
    }
    if (to == TYPES_NO_UNIT) {
        return (struct sonde__type_ref){0};
    }
    return (struct sonde__type_ref){to, value.u};
}

/* --- values that indexes do not need --- */

/* The block of an attribute. False: another form. */
static bool take_block(const struct sonde__dwarf_unit *unit, const struct sonde__dwarf_attr *attr,
                       struct sonde__bytes *at, struct sonde__bytes *ret_block)
{
    const struct sonde__dwarf_form form = sonde__dwarf_form(unit, attr->form);
    uint64_t size;
    if (form.encoding != SONDE__DWARF_BLOCK && form.encoding != SONDE__DWARF_SIZED_BLOCK) {
        return false;
    }
    size = form.encoding == SONDE__DWARF_BLOCK ? sonde__base_bytes_uleb(at)
                                               : sonde__base_bytes_uint(at, form.size);
    const uint8_t *bytes = sonde__base_bytes_take(at, size);
    sonde__base_bytes_init(ret_block, bytes, bytes != NULL ? size : 0);
    return true;
}

/* Version 2 wrote a member's offset as an expression that adds it to the object's address. Other
 * expressions need an object. */
static void read_location(struct sonde__bytes *block, struct types_die *die)
{
    unsigned op = sonde__base_bytes_u8(block);
    if (op == DW_OP_plus_uconst || op == DW_OP_constu) {
        die->location = sonde__base_bytes_uleb(block);
        bool whole = op == DW_OP_plus_uconst || sonde__base_bytes_u8(block) == DW_OP_plus;
        if (whole && !block->failed && sonde__base_bytes_left(block) == 0) {
            die->has_location = true;
            return;
        }
    }
    die->dynamic_location = true;
}

/* --- attributes --- */

/* Sign-extend a constant: fixed-size forms have no sign. */
static uint64_t extended(unsigned form, uint64_t value)
{
    switch (form) {
    case DW_FORM_data1:
        return (uint64_t)(int64_t)(int8_t)value;
    case DW_FORM_data2:
        return (uint64_t)(int64_t)(int16_t)value;
    case DW_FORM_data4:
        return (uint64_t)(int64_t)(int32_t)value;
    default:
        return value;
    }
}

static void set_number(struct types_die *die, const struct sonde__dwarf_attr *attr, uint64_t u)
{
    switch (attr->name) {
    case DW_AT_byte_size:
        die->size = u;
        die->has_size = true;
        break;
    case DW_AT_bit_size:
        die->bit_size = u;
        die->has_bit_size = true;
        break;
    case DW_AT_bit_offset:
        die->bit_offset = extended(attr->form, u);
        die->has_bit_offset = true;
        break;
    case DW_AT_data_bit_offset:
        die->data_bit_offset = u;
        die->has_data_bit_offset = true;
        break;
    case DW_AT_data_member_location:
        die->location = u;
        die->has_location = true;
        break;
    case DW_AT_const_value:
        die->value = u;
        die->has_value = true;
        break;
    case DW_AT_encoding:
        die->encoding = (uint8_t)u;
        break;
    case DW_AT_decl_file:
        die->file = u;
        break;
    case DW_AT_decl_line:
        die->line = u;
        break;
    default:
        break;
    }
}

static void set_flag(struct types_die *die, unsigned name, bool value)
{
    switch (name) {
    case DW_AT_declaration:
        die->declaration = value;
        break;
    case DW_AT_external:
        die->external = value;
        break;
    case DW_AT_artificial:
        die->artificial = value;
        break;
    case DW_AT_prototyped:
        die->prototyped = value;
        break;
    case DW_AT_virtuality:
        die->is_virtual = value;
        break;
    case DW_AT_APPLE_runtime_class:
        die->runtime_class = value;
        break;
    case DW_AT_GNU_vector:
        die->vector = value;
        break;
    case DW_AT_APPLE_block:
        die->apple_block = value;
        break;
    default:
        break;
    }
}

static struct sonde__type_ref *place_of_reference(struct types_die *die, unsigned name)
{
    switch (name) {
    case DW_AT_type:
        return &die->type;
    case DW_AT_abstract_origin:
        return &die->origin;
    case DW_AT_specification:
        return &die->specification;
    case DW_AT_containing_type:
        return &die->holder;
    default:
        return NULL;
    }
}

static struct sonde__dwarf_value *place_of_value(struct types_die *die, unsigned name)
{
    switch (name) {
    case DW_AT_low_pc:
        return &die->low;
    case DW_AT_high_pc:
        return &die->high;
    case DW_AT_ranges:
        return &die->ranges;
    case DW_AT_count:
        return &die->count;
    case DW_AT_upper_bound:
        return &die->upper;
    case DW_AT_lower_bound:
        return &die->lower;
    default:
        return NULL;
    }
}

static void set_value(struct sonde__types *t, struct types_die *die,
                      const struct sonde__dwarf_attr *attr, struct sonde__dwarf_value value)
{
    struct sonde__type_ref *ref = place_of_reference(die, attr->name);
    struct sonde__dwarf_value *place = place_of_value(die, attr->name);
    if (ref != NULL) {
        *ref = refer(t, die->self.unit, attr, value);
    } else if (place != NULL) {
        *place = value;
    } else if (value.kind == SONDE__DWARF_STRING) {
        if (attr->name == DW_AT_name) {
            die->name = value.s[0] != '\0' ? value.s : NULL;
        } else if (attr->name == DW_AT_linkage_name || attr->name == DW_AT_MIPS_linkage_name) {
            die->linkage = value.s[0] != '\0' ? value.s : NULL;
        }
    } else if (attr->name == DW_AT_sibling && value.kind == SONDE__DWARF_REF) {
        die->sibling = value.u;
    } else if (value.kind == SONDE__DWARF_CONSTANT || value.kind == SONDE__DWARF_OFFSET) {
        set_number(die, attr, value.u);
        set_flag(die, attr->name, value.u != 0);
    }
}

static void read_attribute(struct sonde__types *t, struct types_die *die,
                           const struct sonde__dwarf_attr *attr, struct sonde__bytes *at)
{
    struct sonde__bytes block;
    if (attr->form == DW_FORM_ref_sig8) {
        uint64_t signature = sonde__base_bytes_u64(at);
        struct sonde__type_ref *ref = place_of_reference(die, attr->name);
        if (attr->name == DW_AT_signature) {
            die->signature = signature;
            die->has_signature = true;
        } else if (ref != NULL && !at->failed) {
            *ref = types_by_signature(t, signature);
        }
    } else if (take_block(&t->units[die->self.unit].head, attr, at, &block)) {
        if (attr->name == DW_AT_data_member_location && !at->failed) {
            read_location(&block, die);
        }
    } else {
        set_value(t, die, attr,
                  sonde__dwarf_read(types_sections(t, die->self.unit),
                                    &t->units[die->self.unit].head, attr, at));
    }
}

/* Set a cursor to a DIE of a unit and get its abbreviation (null: a null entry). */
static enum sonde_status begin(struct sonde__types *t, uint32_t unit, uint64_t offset,
                               struct sonde__bytes *ret_at, const struct types_table **ret_table,
                               const struct sonde__dwarf_abbrev **ret_abbrev)
{
    SONDE_TRY(types_ready(t, unit));
    const struct types_unit *u = &t->units[unit];
    if (offset < u->head.die_offset || offset > u->head.end) {
        return SONDE_CORRUPT;
    }
    if (!types_spend(t, 1)) {
        return SONDE_LIMIT;
    }
    *ret_at = sonde__base_bytes_part(&types_sections(t, unit)->info, 0, u->head.end);
    (void)sonde__base_bytes_seek(ret_at, offset);
    if (sonde__base_bytes_left(ret_at) == 0) {
        return SONDE_ABSENT;
    }
    SONDE_TRY(types_abbrevs(t, unit, ret_table));
    uint64_t code = sonde__base_bytes_uleb(ret_at);
    *ret_abbrev = code != 0 ? sonde__dwarf_abbrev_find(&(*ret_table)->abbrevs, code) : NULL;
    return ret_at->failed || (code != 0 && *ret_abbrev == NULL) ? SONDE_CORRUPT : SONDE_OK;
}

enum sonde_status types_die(struct sonde__types *t, struct sonde__type_ref ref,
                            struct types_die *ret_die)
{
    struct types_die die = {.self = ref, .line_unit = ref.unit};
    struct sonde__bytes at;
    const struct types_table *table;
    const struct sonde__dwarf_abbrev *abbrev;
    SONDE_TRY(begin(t, ref.unit, ref.die, &at, &table, &abbrev));
    if (abbrev == NULL) {
        return SONDE_ABSENT;
    }
    die.tag = abbrev->tag;
    die.children = abbrev->children;
    uint32_t first = abbrev->first;
    uint32_t count = abbrev->count;
    (void)types_spend(t, count / 8);
    for (uint32_t i = 0; i < count && !at.failed; i++) {
        read_attribute(t, &die, &table->abbrevs.attrs[first + i], &at);
    }
    if (at.failed) {
        return SONDE_CORRUPT;
    }
    die.next = sonde__base_bytes_offset(&at);
    if (die.sibling <= ref.die || die.sibling > t->units[ref.unit].head.end) {
        die.sibling = 0;
    }
    *ret_die = die;
    return SONDE_OK;
}

static bool step_over(const struct sonde__types *t, uint32_t unit, const struct types_table *table,
                      const struct sonde__dwarf_abbrev *abbrev, struct sonde__bytes *at)
{
    const struct sonde__dwarf_plan *plan = &table->plans.plans[abbrev - table->abbrevs.entries];
    struct sonde__dwarf_die die; /* keeps nothing */
    if (plan->count == 0) {
        return sonde__base_bytes_take(at, plan->skip) != NULL;
    }
    return sonde__dwarf_plan_read(types_sections(t, unit), &t->units[unit].head, &table->plans,
                                  plan, &at->at, at->end, &die);
}

enum sonde_status types_step(struct sonde__types *t, uint32_t unit, uint64_t *offset,
                             uint16_t *ret_tag, bool *ret_children)
{
    struct sonde__bytes at;
    const struct types_table *table;
    const struct sonde__dwarf_abbrev *abbrev;
    SONDE_TRY(begin(t, unit, *offset, &at, &table, &abbrev));
    *ret_tag = abbrev != NULL ? abbrev->tag : 0;
    *ret_children = abbrev != NULL && abbrev->children;
    if (abbrev != NULL && !step_over(t, unit, table, abbrev, &at)) {
        return SONDE_CORRUPT;
    }
    *offset = sonde__base_bytes_offset(&at);
    return SONDE_OK;
}

enum sonde_status types_after(struct sonde__types *t, const struct types_die *die,
                              uint64_t *ret_offset)
{
    uint64_t offset = die->next;
    uint64_t depth = 1;
    uint16_t tag;
    bool children;
    if (!die->children) {
        *ret_offset = die->next;
        return SONDE_OK;
    }
    if (die->sibling != 0) {
        *ret_offset = die->sibling;
        return SONDE_OK;
    }
    while (depth > 0) {
        enum sonde_status status = types_step(t, die->self.unit, &offset, &tag, &children);
        if (status == SONDE_ABSENT) {
            break; /* the unit ends early */
        }
        SONDE_TRY(status);
        if (tag == 0) {
            depth--;
        } else if (children) {
            depth++;
        }
    }
    *ret_offset = offset;
    return SONDE_OK;
}

enum sonde_status types_whole(struct sonde__types *t, struct types_die *die)
{
    struct types_die more = *die;
    if (die->has_signature && die->name == NULL) {
        struct sonde__type_ref whole = types_by_signature(t, die->signature);
        if (whole.die != 0 && types_die(t, whole, &more) == SONDE_OK) {
            die->name = more.name;
        }
        more = *die;
    }
    for (int hop = 0; hop < TYPES_HOPS_MAX; hop++) {
        struct sonde__type_ref onward = more.origin.die != 0 ? more.origin : more.specification;
        if (onward.die == 0) {
            return SONDE_OK;
        }
        enum sonde_status status = types_die(t, onward, &more);
        if (status != SONDE_OK) {
            return status == SONDE_ABSENT ? SONDE_CORRUPT : status;
        }
        die->name = die->name != NULL ? die->name : more.name;
        die->linkage = die->linkage != NULL ? die->linkage : more.linkage;
        die->type = die->type.die != 0 ? die->type : more.type;
        die->prototyped = die->prototyped || more.prototyped;
        die->artificial = die->artificial || more.artificial;
        die->runtime_class = die->runtime_class || more.runtime_class;
        if (die->line == 0) {
            die->line = more.line;
            die->file = more.file;
            die->line_unit = more.line_unit;
        }
    }
    return SONDE_CORRUPT;
}
