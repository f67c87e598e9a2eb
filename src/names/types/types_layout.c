// SPDX-License-Identifier: Apache-2.0
/* The structure of a type: strips typedefs and qualifiers, completes it, gives size and members. */
#include "base_status.h"
#include "dwarf_constants.h"
#include "types_data.h"

static bool is_wrapper(enum sonde__type_kind kind)
{
    return kind == SONDE__TYPE_TYPEDEF || kind == SONDE__TYPE_CONST ||
           kind == SONDE__TYPE_VOLATILE || kind == SONDE__TYPE_RESTRICT ||
           kind == SONDE__TYPE_ATOMIC || kind == SONDE__TYPE_TRANSPARENT;
}

enum sonde_status sonde__type_strip(struct sonde__types *t, struct sonde__type_ref ref,
                                    struct sonde__type *ret)
{
    struct sonde__type type;
    for (int hop = 0; hop < TYPES_HOPS_MAX; hop++) {
        SONDE_TRY(sonde__type_get(t, ref, &type));
        if (!is_wrapper(type.kind)) {
            if (type.declared_only) {
                struct sonde__type whole;
                enum sonde_status status = sonde__type_complete(t, &type, &whole);
                if (status != SONDE_OK && status != SONDE_ABSENT && status != SONDE_AMBIGUOUS) {
                    return status;
                }
                type = status == SONDE_OK ? whole : type;
            }
            *ret = type;
            return SONDE_OK;
        }
        ref = type.target;
    }
    return SONDE_CORRUPT;
}

static bool same_family(enum sonde__type_kind a, enum sonde__type_kind b)
{
    bool class_a = a == SONDE__TYPE_STRUCT || a == SONDE__TYPE_CLASS;
    bool class_b = b == SONDE__TYPE_STRUCT || b == SONDE__TYPE_CLASS;
    return a == b || (class_a && class_b);
}

enum sonde_status sonde__type_complete(struct sonde__types *t, const struct sonde__type *type,
                                       struct sonde__type *ret)
{
    struct sonde__type_ref ref;
    struct sonde__type whole;
    if (!type->declared_only) {
        *ret = *type;
        return SONDE_OK;
    }
    SONDE_TRY(types_definition(t, type, &ref));
    SONDE_TRY(sonde__type_get(t, ref, &whole));
    if (whole.declared_only || !same_family(whole.kind, type->kind)) {
        return SONDE_ABSENT;
    }
    *ret = whole;
    return SONDE_OK;
}

/* --- sizes --- */

static uint64_t pointer_size(const struct sonde__types *t, const struct sonde__type *type)
{
    return type->has_size ? type->size : t->units[type->self.unit].head.address_size;
}

/* factor: product of the sizes of enclosing arrays. */
static bool size_of(struct sonde__types *t, struct sonde__type_ref ref, uint64_t factor,
                    unsigned depth, uint64_t *ret_size)
{
    struct sonde__type type;
    struct sonde__type_cursor cursor;
    uint64_t count, size;
    if (depth > TYPES_DEPTH_MAX || sonde__type_strip(t, ref, &type) != SONDE_OK) {
        return false;
    }
    switch (type.kind) {
    case SONDE__TYPE_POINTER:
    case SONDE__TYPE_REFERENCE:
    case SONDE__TYPE_RVALUE_REFERENCE:
        size = pointer_size(t, &type);
        break;
    case SONDE__TYPE_MEMBER_POINTER: { /* Itanium C++ ABI §2.3: a pointer to a member function has
                                          an adjustment */
        struct sonde__type target;
        size = type.has_size ? type.size : t->units[type.self.unit].head.address_size;
        if (!type.has_size && sonde__type_strip(t, type.target, &target) == SONDE_OK &&
            target.kind == SONDE__TYPE_FUNCTION) {
            size *= 2;
        }
        break;
    }
    case SONDE__TYPE_ARRAY:
        if (type.has_size) {
            size = type.size;
            break;
        }
        if (sonde__type_children(t, type.self, &cursor) != SONDE_OK) {
            return false;
        }
        for (;;) {
            enum sonde_status status = sonde__type_next_dimension(t, &cursor, &count);
            if (status == SONDE_ABSENT) {
                break;
            }
            if (status != SONDE_OK || count == SONDE__TYPE_UNBOUNDED ||
                __builtin_mul_overflow(factor, count, &factor)) {
                return false;
            }
        }
        return size_of(t, type.target, factor, depth + 1, ret_size);
    case SONDE__TYPE_ENUM:
        if (!type.has_size) {
            return type.target.die != 0 && size_of(t, type.target, factor, depth + 1, ret_size);
        }
        size = type.size;
        break;
    default:
        if (!type.has_size) {
            return false;
        }
        size = type.size;
        break;
    }
    return !__builtin_mul_overflow(factor, size, ret_size);
}

bool sonde__type_size(struct sonde__types *t, struct sonde__type_ref ref, uint64_t *ret_size)
{
    return size_of(t, ref, 1, 0, ret_size);
}

/* --- children --- */

enum sonde_status sonde__type_children(struct sonde__types *t, struct sonde__type_ref parent,
                                       struct sonde__type_cursor *ret_cursor)
{
    struct types_die die;
    enum sonde_status status = types_die(t, parent, &die);
    if (status != SONDE_OK) {
        return status == SONDE_ABSENT ? SONDE_CORRUPT : status;
    }
    *ret_cursor = (struct sonde__type_cursor){.parent = parent, .at = die.children ? die.next : 0};
    return SONDE_OK;
}

/* The next child of any tag. */
static enum sonde_status next_child(struct sonde__types *t, struct sonde__type_cursor *cursor,
                                    struct types_die *ret_die)
{
    if (cursor->at == 0) {
        return SONDE_ABSENT;
    }
    enum sonde_status status =
        types_die(t, (struct sonde__type_ref){cursor->parent.unit, cursor->at}, ret_die);
    if (status == SONDE_OK) {
        status = types_after(t, ret_die, &cursor->at);
    }
    if (status != SONDE_OK) {
        cursor->at = 0;
    }
    return status;
}

/* Bits from the start of the object. Before version 4 a bit-field's offset counted from the most
 * significant bit of its storage unit (DWARF 3 §5.5.6); little-endian machines only. */
static uint64_t bit_offset_of(struct sonde__types *t, const struct types_die *die)
{
    uint64_t storage;
    if (die->has_data_bit_offset) {
        return die->data_bit_offset + die->location * 8;
    }
    if (!die->has_bit_size || !die->has_bit_offset) {
        return die->location * 8;
    }
    storage = die->size;
    if (!die->has_size && !sonde__type_size(t, die->type, &storage)) {
        storage = 0;
    }
    return die->location * 8 + storage * 8 - die->bit_offset - die->bit_size;
}

/* Enter a variant part and its variants, whose members belong to the object. */
static bool enter_variant(struct sonde__type_cursor *cursor, const struct types_die *die)
{
    if ((die->tag != DW_TAG_variant_part && die->tag != DW_TAG_variant) || !die->children) {
        return false;
    }
    if (die->tag == DW_TAG_variant_part && cursor->outer == 0) {
        cursor->outer = cursor->at;
    }
    cursor->in_variant = true;
    cursor->at = die->next;
    return true;
}

enum sonde_status sonde__type_next_member(struct sonde__types *t, struct sonde__type_cursor *cursor,
                                          struct sonde__type_member *ret_member)
{
    struct types_die die;
    for (;;) {
        uint64_t at = cursor->at;
        enum sonde_status status = next_child(t, cursor, &die);
        if (status == SONDE_ABSENT && cursor->in_variant && at != 0) {
            /* at the end of a variant continue with the next one, or after the part */
            cursor->at = at + 1 < cursor->outer ? at + 1 : cursor->outer;
            cursor->in_variant = at + 1 < cursor->outer;
            cursor->outer = cursor->in_variant ? cursor->outer : 0;
            continue;
        }
        SONDE_TRY(status);
        if (enter_variant(cursor, &die)) {
            continue;
        }
        bool base = die.tag == DW_TAG_inheritance;
        /* a static member (version 5 has a DW_TAG_variable instead) */
        if (!base && (die.tag != DW_TAG_member || die.external || die.declaration)) {
            continue;
        }
        *ret_member = (struct sonde__type_member){
            .name = die.name,
            .type = die.type,
            .bit_size = die.has_bit_size && die.bit_size <= UINT32_MAX ? (uint32_t)die.bit_size : 0,
            .bit_offset = bit_offset_of(t, &die),
            .has_offset = !die.dynamic_location,
            .is_base = base,
            .is_virtual = die.is_virtual,
            .is_artificial = die.artificial,
            .in_variant = cursor->in_variant};
        return SONDE_OK;
    }
}

enum sonde_status sonde__type_next_enumerator(struct sonde__types *t,
                                              struct sonde__type_cursor *cursor,
                                              struct sonde__type_enumerator *ret)
{
    struct types_die die;
    do {
        SONDE_TRY(next_child(t, cursor, &die));
    } while (die.tag != DW_TAG_enumerator);
    *ret = (struct sonde__type_enumerator){die.name != NULL ? die.name : "", (int64_t)die.value};
    return SONDE_OK;
}

static bool constant(struct sonde__dwarf_value value, uint64_t *ret_value)
{
    *ret_value = value.u;
    return value.kind == SONDE__DWARF_CONSTANT;
}

enum sonde_status sonde__type_next_dimension(struct sonde__types *t,
                                             struct sonde__type_cursor *cursor, uint64_t *ret_count)
{
    struct types_die die;
    uint64_t count, lower = 0;
    do {
        SONDE_TRY(next_child(t, cursor, &die));
    } while (die.tag != DW_TAG_subrange_type && die.tag != DW_TAG_generic_subrange &&
             die.tag != DW_TAG_enumeration_type);
    (void)constant(die.lower, &lower);
    if (constant(die.count, &count)) {
        *ret_count = count;
    } else if (constant(die.upper, &count)) {
        *ret_count = count - lower + 1; /* -1: no elements */
    } else {
        *ret_count = SONDE__TYPE_UNBOUNDED;
    }
    return SONDE_OK;
}

static enum sonde_status next_of(struct sonde__types *t, struct sonde__type_cursor *cursor,
                                 unsigned tag, unsigned other, struct sonde__type_parameter *ret)
{
    struct types_die die;
    do {
        SONDE_TRY(next_child(t, cursor, &die));
    } while (die.tag != tag && die.tag != other);
    SONDE_TRY(types_whole(t, &die));
    *ret = (struct sonde__type_parameter){.name = die.name,
                                          .type = die.type,
                                          .line = die.line,
                                          .is_artificial = die.artificial,
                                          .is_rest = die.tag == DW_TAG_unspecified_parameters};
    return SONDE_OK;
}

enum sonde_status sonde__type_next_parameter(struct sonde__types *t,
                                             struct sonde__type_cursor *cursor,
                                             struct sonde__type_parameter *ret)
{
    return next_of(t, cursor, DW_TAG_formal_parameter, DW_TAG_unspecified_parameters, ret);
}

enum sonde_status sonde__type_next_variable(struct sonde__types *t,
                                            struct sonde__type_cursor *cursor,
                                            struct sonde__type_parameter *ret)
{
    return next_of(t, cursor, DW_TAG_variable, DW_TAG_variable, ret);
}
