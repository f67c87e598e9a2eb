// SPDX-License-Identifier: Apache-2.0
#include "types_block.h"

#include <string.h>

#include "base_status.h"
#include "dwarf_constants.h"
#include "types_data.h"

enum { STAGE_NEW, STAGE_STORED, STAGE_CONSTANT, STAGE_END };

/* Header fields of every block, as clang names them. */
#define LAST_FIELD "__descriptor"

static bool is_called(const char *name, const char *expected)
{
    return name != NULL && strcmp(name, expected) == 0;
}

/* --- the structure --- */

static enum sonde_status find_literal(struct sonde__types *t,
                                      const struct sonde__type_function *function,
                                      struct sonde__type *ret_literal)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_parameter parameter;
    struct sonde__type type;
    SONDE_TRY(sonde__type_children(t, function->declaration, &cursor));
    do {
        SONDE_TRY(sonde__type_next_parameter(t, &cursor, &parameter));
    } while (!is_called(parameter.name, ".block_descriptor"));
    SONDE_TRY(sonde__type_strip(t, parameter.type, &type));
    if (type.kind != SONDE__TYPE_POINTER) {
        return SONDE_ABSENT;
    }
    SONDE_TRY(sonde__type_strip(t, type.target, &type));
    if (type.kind != SONDE__TYPE_STRUCT || !type.has_size) {
        return SONDE_ABSENT;
    }
    *ret_literal = type;
    return SONDE_OK;
}

enum sonde_status sonde__types_block_of(struct sonde__types *t,
                                        const struct sonde__type_function *function,
                                        struct sonde__types_block *ret_block)
{
    struct sonde__types_block block = {.function = *function};
    struct types_die die;
    SONDE_TRY(find_literal(t, &block.function, &block.literal));
    enum sonde_status status = types_die(t, block.function.declaration, &die);
    if (status == SONDE_OK) {
        block.line = die.line;
        *ret_block = block;
    }
    return status == SONDE_ABSENT ? SONDE_CORRUPT : status;
}

enum sonde_status sonde__types_block_at(struct sonde__types *t, uint64_t vaddr,
                                        struct sonde__types_block *ret_block)
{
    struct sonde__type_function function;
    SONDE_TRY(sonde__types_function_at(t, vaddr, &function));
    return sonde__types_block_of(t, &function, ret_block);
}

/* --- captures --- */

/* Start after the header's fields. */
static enum sonde_status begin(struct sonde__types *t, const struct sonde__types_block *block,
                               struct sonde__type_cursor *cursor)
{
    struct sonde__type_member member;
    SONDE_TRY(sonde__type_children(t, block->literal.self, cursor));
    do {
        SONDE_TRY(sonde__type_next_member(t, cursor, &member));
    } while (!is_called(member.name, LAST_FIELD));
    return SONDE_OK;
}

/* Recognise a pointer to the box of a __block variable: a nameless structure with a header (whose
 * second word points to the current box) and the variable as last member. False: another type. */
static bool open_box(struct sonde__types *t, struct sonde__types_capture *capture)
{
    struct sonde__type type;
    struct sonde__type_cursor cursor;
    struct sonde__type_member member, last = {0};
    unsigned count = 0;
    if (sonde__type_get(t, capture->type, &type) != SONDE_OK || type.kind != SONDE__TYPE_POINTER ||
        sonde__type_get(t, type.target, &type) != SONDE_OK || type.kind != SONDE__TYPE_STRUCT ||
        type.name != NULL || sonde__type_children(t, type.self, &cursor) != SONDE_OK) {
        return false;
    }
    while (sonde__type_next_member(t, &cursor, &member) == SONDE_OK) {
        if ((count == 0 && !is_called(member.name, "__isa")) ||
            (count == 1 && !is_called(member.name, "__forwarding"))) {
            return false;
        }
        last = member;
        count++;
    }
    if (count < 5 || !last.has_offset) {
        return false;
    }
    capture->is_byref = true;
    capture->type = last.type;
    capture->variable_offset = last.bit_offset / 8;
    capture->box_size = type.size;
    if (!sonde__type_size(t, last.type, &capture->variable_size)) {
        capture->variable_size = 0;
    }
    return true;
}

static enum sonde_status next_stored(struct sonde__types *t, struct sonde__type_cursor *cursor,
                                     struct sonde__types_capture *ret_capture)
{
    struct sonde__type_member member;
    do {
        SONDE_TRY(sonde__type_next_member(t, cursor, &member));
    } while (member.is_base || !member.has_offset);
    struct sonde__types_capture capture = {.name = member.name,
                                           .type = member.type,
                                           .offset = member.bit_offset / 8,
                                           .is_stored = true};
    if (!sonde__type_size(t, member.type, &capture.size)) {
        capture.size = 0;
    }
    (void)open_box(t, &capture);
    *ret_capture = capture;
    return SONDE_OK;
}

static bool is_stored(struct sonde__types *t, const struct sonde__types_block *block,
                      const char *name)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_member member;
    if (begin(t, block, &cursor) != SONDE_OK) {
        return false;
    }
    while (sonde__type_next_member(t, &cursor, &member) == SONDE_OK) {
        if (is_called(member.name, name)) {
            return true;
        }
    }
    return false;
}

/* Constant variables are not stored: they are variables of the function, declared before it.
 * Variables of the block's own code are in a lexical block. */
static enum sonde_status next_constant(struct sonde__types *t,
                                       const struct sonde__types_block *block,
                                       struct sonde__type_cursor *cursor,
                                       struct sonde__types_capture *ret_capture)
{
    struct sonde__type_parameter variable;
    do {
        SONDE_TRY(sonde__type_next_variable(t, cursor, &variable));
    } while (variable.name == NULL || variable.is_artificial ||
             (block->line != 0 && variable.line > block->line) ||
             is_stored(t, block, variable.name));
    struct sonde__types_capture capture = {
        .name = variable.name, .type = variable.type, .line = variable.line};
    if (!sonde__type_size(t, variable.type, &capture.size)) {
        capture.size = 0;
    }
    *ret_capture = capture;
    return SONDE_OK;
}

/* The line of a stored variable, which is also a variable of the function. */
static uint64_t line_of(struct sonde__types *t, const struct sonde__types_block *block,
                        const char *name)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_parameter variable;
    if (sonde__type_children(t, block->function.declaration, &cursor) != SONDE_OK) {
        return 0;
    }
    while (name != NULL && sonde__type_next_variable(t, &cursor, &variable) == SONDE_OK) {
        if (is_called(variable.name, name)) {
            return variable.line;
        }
    }
    return 0;
}

enum sonde_status sonde__types_next_capture(struct sonde__types *t,
                                            const struct sonde__types_block *block,
                                            struct sonde__types_captures *captures,
                                            struct sonde__types_capture *ret_capture)
{
    enum sonde_status status = SONDE_ABSENT;
    if (captures->stage == STAGE_NEW) {
        SONDE_TRY(begin(t, block, &captures->cursor));
        captures->stage = STAGE_STORED;
    }
    if (captures->stage == STAGE_STORED) {
        status = next_stored(t, &captures->cursor, ret_capture);
        if (status == SONDE_OK) {
            ret_capture->line = line_of(t, block, ret_capture->name);
        }
        if (status != SONDE_ABSENT) {
            return status;
        }
        SONDE_TRY(sonde__type_children(t, block->function.declaration, &captures->cursor));
        captures->stage = STAGE_CONSTANT;
    }
    if (captures->stage == STAGE_CONSTANT) {
        status = next_constant(t, block, &captures->cursor, ret_capture);
        if (status == SONDE_ABSENT) {
            captures->stage = STAGE_END;
        }
    }
    return status;
}

/* --- ownership --- */

/* The type without typedefs and qualifiers. sonde__type_strip() would search all units for the
 * definition of a declared class, whose name is enough here. */
static bool behind(struct sonde__types *t, struct sonde__type_ref ref, struct sonde__type *ret_type)
{
    for (int hop = 0; hop < TYPES_HOPS_MAX; hop++) {
        if (sonde__type_get(t, ref, ret_type) != SONDE_OK) {
            return false;
        }
        switch (ret_type->kind) {
        case SONDE__TYPE_TYPEDEF:
        case SONDE__TYPE_CONST:
        case SONDE__TYPE_VOLATILE:
        case SONDE__TYPE_RESTRICT:
        case SONDE__TYPE_ATOMIC:
        case SONDE__TYPE_TRANSPARENT:
            ref = ret_type->target;
            break;
        default:
            return true;
        }
    }
    return false;
}

enum sonde__types_held sonde__types_held_by(struct sonde__types *t, struct sonde__type_ref ref)
{
    struct sonde__type type;
    struct types_die die;
    if (!behind(t, ref, &type) || type.kind != SONDE__TYPE_POINTER ||
        !behind(t, type.target, &type) || type.kind != SONDE__TYPE_STRUCT) {
        return SONDE__TYPES_HELD_OTHER;
    }
    if (is_called(type.name, "__block_literal_generic") ||
        (types_die(t, type.self, &die) == SONDE_OK && die.apple_block)) {
        return SONDE__TYPES_HELD_BLOCK;
    }
    return type.is_objc || is_called(type.name, "objc_object") || is_called(type.name, "objc_class")
               ? SONDE__TYPES_HELD_OBJECT
               : SONDE__TYPES_HELD_OTHER;
}
