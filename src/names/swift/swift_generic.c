// SPDX-License-Identifier: Apache-2.0
/* Generic parameters, associated types, signatures and their requirements (Mangling.rst,
 * "Generics"). */
#include <string.h>

#include "swift_node.h"

enum { COUNTS_MAX = 16 /* levels of parameters */ };

/* --- parameters and associated types --- */

/* The number has the depth in its upper half. */
swift_ref sonde__swift_parameter(struct sonde__swift *p, int32_t depth, int32_t index)
{
    if (depth < 0 || depth > 0x7fff || index < 0 || index > 0xffff) {
        return sonde__swift_fail(p);
    }
    return sonde__swift_number(p, SWIFT_PARAMETER_NODE, (uint32_t)depth << 16 | (uint32_t)index);
}

swift_ref sonde__swift_parameter_index(struct sonde__swift *p)
{
    if (sonde__swift_skip(p, 'd')) {
        int32_t depth = sonde__swift_index(p), index = sonde__swift_index(p);
        return sonde__swift_parameter(p, depth < 0 ? -1 : depth + 1, index);
    }
    if (sonde__swift_skip(p, 'z')) {
        return sonde__swift_parameter(p, 0, 0);
    }
    if (sonde__swift_skip(p, 's')) {
        return sonde__swift_word_leaf(p, SWIFT_PARAMETER_NODE, "Self");
    }
    int32_t index = sonde__swift_index(p);
    return sonde__swift_parameter(p, 0, index < 0 ? -1 : index + 1);
}

/* An associated type's name: an identifier, possibly with its protocol. */
swift_ref sonde__swift_pop_associated(struct sonde__swift *p)
{
    swift_ref children[2] = {0, sonde__swift_pop(p, SWIFT_PROTOCOL_NODE)};
    children[0] = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    return sonde__swift_make_all(p, SWIFT_ASSOCIATED_NODE, children[1] != 0 ? 2 : 1, children);
}

swift_ref sonde__swift_pop_path(struct sonde__swift *p)
{
    return sonde__swift_pop_list(p, SWIFT_PATH_NODE, sonde__swift_pop_associated);
}

/* base none: popped */
swift_ref sonde__swift_member(struct sonde__swift *p, swift_ref base)
{
    swift_ref name = sonde__swift_pop_associated(p);
    swift_ref children[2] = {base != 0 ? base : sonde__swift_pop_type(p), name};
    return sonde__swift_make_all(p, SWIFT_MEMBER_NODE, 2, children);
}

swift_ref sonde__swift_member_path(struct sonde__swift *p, swift_ref base)
{
    swift_ref path = sonde__swift_pop_path(p);
    swift_ref type = base != 0 ? base : sonde__swift_pop_type(p);
    for (size_t i = 0; i < p->nodes[path].count; i++) {
        swift_ref children[2] = {type, sonde__swift_child(p, path, i)};
        type = sonde__swift_make_all(p, SWIFT_MEMBER_NODE, 2, children);
    }
    return type;
}

/* --- signatures --- */

/* Children: the numbers of parameters, then the requirements; the node's number: how many of the
 * former. */
swift_ref sonde__swift_signature(struct sonde__swift *p, bool counts)
{
    swift_ref children[SWIFT_LIST_MAX], requirement;
    size_t count = 0, end = SWIFT_LIST_MAX;
    while (counts && !sonde__swift_skip(p, 'l')) {
        int32_t number = sonde__swift_skip(p, 'z') ? -1 : sonde__swift_index(p);
        if (number < -1 || p->in == p->end || count == COUNTS_MAX) {
            return sonde__swift_fail(p);
        }
        children[count++] = sonde__swift_number(p, SWIFT_NUMBER_NODE, (uint32_t)(number + 1));
    }
    if (!counts) {
        children[count++] = sonde__swift_number(p, SWIFT_NUMBER_NODE, 1);
    }
    while ((requirement = sonde__swift_pop_use(p, SWIFT_REQUIREMENT)) != 0) {
        if (end == count) {
            return sonde__swift_fail(p);
        }
        children[--end] = requirement;
    }
    memmove(children + count, children + end, (SWIFT_LIST_MAX - end) * sizeof *children);
    swift_ref ref =
        sonde__swift_make_all(p, SWIFT_SIGNATURE_NODE, count + SWIFT_LIST_MAX - end, children);
    sonde__swift_at(p, ref)->number = (uint32_t)count;
    return ref;
}

/* How a requirement's letter names its subject and what it requires. */
struct requirement {
    char code;
    char subject; /* p: parameter, m: member, M: member path, s: popped */
    uint8_t kind;
};

static const struct requirement requirements[] = {
    {'V', 'p', SWIFT_VALUE_MARKER_NODE}, {'v', 'p', SWIFT_PACK_MARKER_NODE},
    {'c', 'm', SWIFT_CONFORMS_NODE},     {'C', 'M', SWIFT_CONFORMS_NODE},
    {'b', 'p', SWIFT_CONFORMS_NODE},     {'B', 's', SWIFT_CONFORMS_NODE},
    {'t', 'm', SWIFT_SAME_TYPE_NODE},    {'T', 'M', SWIFT_SAME_TYPE_NODE},
    {'s', 'p', SWIFT_SAME_TYPE_NODE},    {'S', 's', SWIFT_SAME_TYPE_NODE},
    {'m', 'm', SWIFT_LAYOUT_NODE},       {'M', 'M', SWIFT_LAYOUT_NODE},
    {'l', 'p', SWIFT_LAYOUT_NODE},       {'L', 's', SWIFT_LAYOUT_NODE},
    {'p', 'm', SWIFT_PROTOCOL_NODE},     {'P', 'M', SWIFT_PROTOCOL_NODE},
    {'Q', 's', SWIFT_PROTOCOL_NODE},     {'h', 'p', SWIFT_SAME_SHAPE_NODE},
    {'i', 'p', SWIFT_INVERSE_NODE},      {'I', 's', SWIFT_INVERSE_NODE},
    {'j', 'm', SWIFT_INVERSE_NODE},      {'J', 'M', SWIFT_INVERSE_NODE},
};

static swift_ref subject(struct sonde__swift *p, char how)
{
    swift_ref parameter = how == 's' ? sonde__swift_pop_type(p) : sonde__swift_parameter_index(p);
    if (how == 'm') {
        return sonde__swift_substitutable(p, sonde__swift_member(p, parameter));
    }
    if (how == 'M') {
        return sonde__swift_substitutable(p, sonde__swift_member_path(p, parameter));
    }
    return parameter;
}

static swift_ref layout(struct sonde__swift *p, swift_ref type)
{
    static const struct {
        char code;
        uint8_t sizes;
        const char *name;
    } layouts[] = {
        {'U', 0, "_UnknownLayout"}, {'R', 0, "_RefCountedObject"},
        {'C', 0, "AnyObject"},      {'N', 0, "_NativeRefCountedObject"},
        {'D', 0, "_NativeClass"},   {'T', 0, "_Trivial"},
        {'B', 0, "_BridgeObject"},  {'E', 2, "_Trivial"},
        {'e', 1, "_Trivial"},       {'M', 2, "_TrivialAtMost"},
        {'m', 1, "_TrivialAtMost"}, {'S', 1, "_TrivialStride"},
    };
    char c = sonde__swift_next(p);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        if (layouts[i].code != c) {
            continue;
        }
        swift_ref sizes[2], children[2] = {type};
        for (size_t k = 0; k < layouts[i].sizes; k++) {
            int32_t size = sonde__swift_index(p);
            sizes[k] = size < 0 ? sonde__swift_fail(p)
                                : sonde__swift_number(p, SWIFT_NUMBER_NODE, (uint32_t)size);
        }
        children[1] = sonde__swift_make_all(p, SWIFT_TUPLE_NODE, layouts[i].sizes, sizes);
        swift_ref ref =
            sonde__swift_make_all(p, SWIFT_LAYOUT_NODE, layouts[i].sizes != 0 ? 2 : 1, children);
        sonde__swift_at(p, ref)->text = layouts[i].name;
        sonde__swift_at(p, ref)->length = (uint16_t)strlen(layouts[i].name);
        return ref;
    }
    return sonde__swift_fail(p);
}

swift_ref sonde__swift_requirement(struct sonde__swift *p)
{
    struct requirement row = {0, 'p', SWIFT_PROTOCOL_NODE};
    swift_ref children[2];
    int32_t bit = 0;
    for (size_t i = 0; i < sizeof requirements / sizeof requirements[0]; i++) {
        if (requirements[i].code == sonde__swift_peek(p)) {
            row = requirements[i];
        }
    }
    p->in += row.code != 0;
    if (row.kind == SWIFT_INVERSE_NODE && (bit = sonde__swift_index(p)) < 0) {
        return sonde__swift_fail(p);
    }
    children[0] = subject(p, row.subject);
    if (row.kind == SWIFT_LAYOUT_NODE) {
        return layout(p, children[0]);
    }
    if (row.kind == SWIFT_INVERSE_NODE || row.kind == SWIFT_PACK_MARKER_NODE) {
        swift_ref ref = sonde__swift_make_all(p, (enum sonde__swift_kind)row.kind, 1, children);
        sonde__swift_at(p, ref)->number = (uint32_t)bit;
        return ref;
    }
    bool protocol = row.kind == SWIFT_PROTOCOL_NODE;
    children[1] = protocol ? sonde__swift_pop_protocol(p) : sonde__swift_pop_type(p);
    return sonde__swift_make_all(
        p, protocol ? SWIFT_CONFORMS_NODE : (enum sonde__swift_kind)row.kind, 2, children);
}
