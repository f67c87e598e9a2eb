// SPDX-License-Identifier: Apache-2.0
/* Types in the form before Swift 4 (docs/ABI/OldMangling.rst), after "_Tt": an operator comes
 * before its operands. The Objective-C runtime shows classes and protocols of Swift by these names
 * to this day: `_TtC4main3Foo`, `_TtGC4main3BoxSi_`, `_TtP4main1P_`. */
#include <string.h>

#include "swift_node.h"

enum { OLD_DEPTH_MAX = 64, OLD_LEVELS_MAX = 8 };

static swift_ref old_type(struct sonde__swift *p, unsigned left);

static swift_ref old_private_name(struct sonde__swift *p, swift_ref discriminator, swift_ref name)
{
    swift_ref ref = sonde__swift_make_all(p, SWIFT_PRIVATE_NAME_NODE, 1, &name);
    sonde__swift_at(p, ref)->text = p->nodes[discriminator].text;
    sonde__swift_at(p, ref)->length = p->nodes[discriminator].length;
    return ref;
}

static swift_ref old_text(struct sonde__swift *p)
{
    int32_t length = sonde__swift_natural(p);
    const char *text = p->in;
    if (length <= 0 || length > p->end - p->in) {
        return sonde__swift_fail(p);
    }
    p->in += length;
    return sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, text, (size_t)length);
}

/* A name; `P`: private to a file; `L`: local to a function. */
static swift_ref old_name(struct sonde__swift *p)
{
    if (sonde__swift_skip(p, 'P')) {
        swift_ref discriminator = old_text(p);
        return old_private_name(p, discriminator, old_text(p));
    }
    if (sonde__swift_skip(p, 'L')) {
        int32_t index = sonde__swift_index(p);
        swift_ref name = index < 0 ? sonde__swift_fail(p) : old_text(p);
        swift_ref ref = sonde__swift_make_all(p, SWIFT_LOCAL_NAME_NODE, 1, &name);
        sonde__swift_at(p, ref)->number = (uint32_t)index + 1;
        return ref;
    }
    return old_text(p);
}

/* `S`: a type or module that occurred, or one of the library */
static swift_ref old_substitution(struct sonde__swift *p)
{
    char c = sonde__swift_peek(p);
    if (c == 'o' || c == 'C') {
        return sonde__swift_standard(p);
    }
    if (c == '_' || (c >= '0' && c <= '9')) {
        int32_t index = sonde__swift_index(p);
        return index < 0 || index >= p->substitution_count ? sonde__swift_fail(p)
                                                           : p->substitutions[index];
    }
    /* letters that mean the same as in the new form */
    return c != '\0' && strchr("abdfiPpqRrSuVv", c) != NULL ? sonde__swift_standard(p)
                                                            : sonde__swift_fail(p);
}

static swift_ref old_module(struct sonde__swift *p)
{
    swift_ref name = old_text(p);
    swift_ref ref = name == 0 ? 0
                              : sonde__swift_leaf(p, SWIFT_MODULE_NODE, p->nodes[name].text,
                                                  p->nodes[name].length);
    return sonde__swift_substitutable(p, ref);
}

static swift_ref old_nominal(struct sonde__swift *p, enum sonde__swift_kind kind, unsigned left);

/* A module, a type, or the function that a local type is in. */
static swift_ref old_context(struct sonde__swift *p, unsigned left)
{
    swift_ref children[5] = {0};
    char c = sonde__swift_peek(p);
    if (left == 0) {
        return sonde__swift_fail(p);
    }
    if (c >= '0' && c <= '9') {
        return old_module(p);
    }
    p->in++;
    switch (c) {
    case 's':
        return sonde__swift_word_leaf(p, SWIFT_MODULE_NODE, "Swift");
    case 'S':
        return old_substitution(p);
    case 'C':
        return old_nominal(p, SWIFT_CLASS_NODE, left - 1);
    case 'V':
        return old_nominal(p, SWIFT_STRUCT_NODE, left - 1);
    case 'O':
        return old_nominal(p, SWIFT_ENUM_NODE, left - 1);
    case 'F':
        children[SWIFT_OF_CONTEXT] = old_context(p, left - 1);
        children[SWIFT_OF_NAME] = old_name(p);
        children[SWIFT_OF_TYPE] = old_type(p, left - 1);
        return p->failed ? 0 : sonde__swift_make(p, SWIFT_FUNCTION_NODE, 5, children);
    default:
        return sonde__swift_fail(p);
    }
}

static swift_ref old_nominal(struct sonde__swift *p, enum sonde__swift_kind kind, unsigned left)
{
    swift_ref children[5] = {0};
    children[SWIFT_OF_CONTEXT] = old_context(p, left);
    children[SWIFT_OF_NAME] = old_name(p);
    return p->failed ? 0 : sonde__swift_substitutable(p, sonde__swift_make(p, kind, 5, children));
}

/* Types up to `_`. */
static swift_ref old_list(struct sonde__swift *p, unsigned left)
{
    swift_ref types[SWIFT_LIST_MAX];
    size_t count = 0;
    while (!sonde__swift_skip(p, '_')) {
        if (count == SWIFT_LIST_MAX || (types[count++] = old_type(p, left)) == 0) {
            return sonde__swift_fail(p);
        }
    }
    return sonde__swift_make(p, SWIFT_LIST_NODE, count, types);
}

/* `G`: the arguments of a type that is not in a generic type */
static swift_ref old_bound(struct sonde__swift *p, unsigned left)
{
    swift_ref children[2] = {old_type(p, left)};
    children[1] = old_list(p, left);
    return sonde__swift_is(p, children[0], SWIFT_GENERIC)
               ? sonde__swift_make_all(p, SWIFT_BOUND_NODE, 2, children)
               : sonde__swift_fail(p);
}

static swift_ref old_protocol(struct sonde__swift *p, unsigned left)
{
    swift_ref children[5] = {0};
    if (sonde__swift_skip(p, 'S')) {
        swift_ref ref = old_substitution(p);
        if (sonde__swift_kind_of(p, ref) == SWIFT_PROTOCOL_NODE) {
            return ref;
        }
        children[SWIFT_OF_CONTEXT] = ref;
    } else {
        children[SWIFT_OF_CONTEXT] = old_context(p, left);
    }
    children[SWIFT_OF_NAME] = old_name(p);
    return p->failed ? 0
                     : sonde__swift_substitutable(
                           p, sonde__swift_make(p, SWIFT_PROTOCOL_NODE, 5, children));
}

/* `P`: protocols up to `_`; `PM`: the metatype of an existential */
static swift_ref old_protocols(struct sonde__swift *p, unsigned left)
{
    swift_ref protocols[SWIFT_LIST_MAX], type;
    size_t count = 0;
    if (sonde__swift_skip(p, 'M')) {
        type = old_type(p, left);
        return sonde__swift_make_all(p, SWIFT_EXISTENTIAL_METATYPE_NODE, 1, &type);
    }
    while (!sonde__swift_skip(p, '_')) {
        if (count == SWIFT_LIST_MAX || (protocols[count++] = old_protocol(p, left)) == 0) {
            return sonde__swift_fail(p);
        }
    }
    return sonde__swift_make(p, SWIFT_PROTOCOLS_NODE, count, protocols);
}

/* `T`: elements with labels; `t`: the last one is variadic */
static swift_ref old_tuple(struct sonde__swift *p, bool variadic, unsigned left)
{
    swift_ref elements[SWIFT_LIST_MAX];
    size_t count = 0;
    while (!sonde__swift_skip(p, '_')) {
        char c = sonde__swift_peek(p);
        swift_ref label = c >= '0' && c <= '9' ? old_text(p) : 0;
        swift_ref type = old_type(p, left);
        swift_ref ref = sonde__swift_make_all(p, SWIFT_ELEMENT_NODE, 1, &type);
        if (ref == 0 || count == SWIFT_LIST_MAX) {
            return sonde__swift_fail(p);
        }
        p->nodes[ref].text = p->nodes[label].text;
        p->nodes[ref].length = p->nodes[label].length;
        elements[count++] = ref;
    }
    if (variadic && count != 0) {
        p->nodes[elements[count - 1]].number = 1;
    }
    return sonde__swift_make(p, SWIFT_TUPLE_NODE, count, elements);
}

static swift_ref old_function(struct sonde__swift *p, const char *prefix, unsigned left)
{
    swift_ref children[3] = {0};
    children[2] = sonde__swift_skip(p, 'z') ? sonde__swift_make(p, SWIFT_THROWS_NODE, 0, NULL) : 0;
    children[0] = old_type(p, left);
    children[1] = old_type(p, left);
    swift_ref ref =
        sonde__swift_make_all(p, SWIFT_FUNCTION_TYPE_NODE, children[2] != 0 ? 3 : 2, children);
    sonde__swift_at(p, ref)->text = prefix;
    sonde__swift_at(p, ref)->length = (uint16_t)strlen(prefix);
    return ref;
}

static swift_ref old_metatype(struct sonde__swift *p, unsigned left)
{
    swift_ref type = old_type(p, left);
    return sonde__swift_make_all(p, SWIFT_METATYPE_NODE, 1, &type);
}

/* `Xo`, `Xw`, `Xu`: references; the operand comes after the operator */
static swift_ref old_reference(struct sonde__swift *p, unsigned left)
{
    const struct sonde__swift_operator *row;
    char code = sonde__swift_peek(p);
    p->in--;
    row = sonde__swift_find_operator(p);
    if (row == NULL || strchr("owu", code) == NULL) {
        return sonde__swift_fail(p);
    }
    swift_ref type = old_type(p, left);
    swift_ref ref = sonde__swift_make_all(p, (enum sonde__swift_kind)row->kind, 1, &type);
    sonde__swift_at(p, ref)->number = (uint32_t)(row - sonde__swift_operators);
    return ref;
}

static swift_ref old_other(struct sonde__swift *p, char c, unsigned left)
{
    switch (c) {
    case 'F':
        return old_function(p, " ", left);
    case 'K':
        return old_function(p, "@autoclosure ", left);
    case 'b':
        return old_function(p, "@convention(block) ", left);
    case 'c':
        return old_function(p, " @convention(c) ", left);
    case 'M':
        return old_metatype(p, left);
    case 'T':
        return old_tuple(p, false, left);
    case 't':
        return old_tuple(p, true, left);
    case 'X':
        return old_reference(p, left);
    default:
        return sonde__swift_fail(p);
    }
}

static swift_ref old_type(struct sonde__swift *p, unsigned left)
{
    char c = sonde__swift_next(p);
    if (left == 0 || p->failed) {
        return sonde__swift_fail(p);
    }
    left--;
    switch (c) {
    case 'B':
        return sonde__swift_peek(p) == 'v' ? sonde__swift_fail(p) : sonde__swift_builtin(p);
    case 'C':
        return old_nominal(p, SWIFT_CLASS_NODE, left);
    case 'V':
        return old_nominal(p, SWIFT_STRUCT_NODE, left);
    case 'O':
        return old_nominal(p, SWIFT_ENUM_NODE, left);
    case 'a':
        return old_nominal(p, SWIFT_ALIAS_NODE, left);
    case 'G':
        return old_bound(p, left);
    case 'P':
        return old_protocols(p, left);
    case 'S': {
        swift_ref ref = old_substitution(p);
        return sonde__swift_is(p, ref, SWIFT_TYPE) ? ref : sonde__swift_fail(p);
    }
    default:
        return old_other(p, c, left);
    }
}

swift_ref sonde__swift_old_type(struct sonde__swift *p)
{
    swift_ref ref = old_type(p, OLD_DEPTH_MAX);
    return p->in == p->end && !p->failed ? ref : sonde__swift_fail(p);
}
