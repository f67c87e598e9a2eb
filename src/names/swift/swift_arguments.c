// SPDX-License-Identifier: Apache-2.0
/* Arguments of generic types and what they make of a type (Mangling.rst, "bound-generic-type"),
 * opaque types, packs, members of types. */
#include <string.h>

#include "swift_node.h"

enum { LEVELS_MAX = 16 /* nested generic types */ };

static swift_ref pop_types(struct sonde__swift *p)
{
    swift_ref types[SWIFT_LIST_MAX], type;
    size_t begin = SWIFT_LIST_MAX;
    while ((type = sonde__swift_pop_type(p)) != 0) {
        if (begin == 0) {
            return sonde__swift_fail(p);
        }
        types[--begin] = type;
    }
    return sonde__swift_make(p, SWIFT_LIST_NODE, SWIFT_LIST_MAX - begin, types + begin);
}

bool sonde__swift_pop_arguments(struct sonde__swift *p, swift_ref *lists, size_t *count)
{
    while (sonde__swift_pop(p, SWIFT_RETROACTIVE_NODE) != 0) {
        /* how a conformance is found is not shown */
    }
    for (*count = 0; *count < LEVELS_MAX; (*count)++) {
        lists[*count] = pop_types(p);
        if (sonde__swift_pop(p, SWIFT_EMPTY_LIST_NODE) != 0) {
            ++*count;
            return true;
        }
        if (sonde__swift_pop(p, SWIFT_FIRST_NODE) == 0) {
            break;
        }
    }
    sonde__swift_fail(p);
    return false;
}

/* Does a declaration take arguments, or only what encloses it? */
static bool takes_arguments(enum sonde__swift_kind kind)
{
    switch (kind) {
    case SWIFT_VARIABLE_NODE:
    case SWIFT_SUBSCRIPT_NODE:
    case SWIFT_CLOSURE_NODE:
    case SWIFT_INITIALIZER_NODE:
    case SWIFT_STATIC_NODE:
        return false;
    default:
        return true;
    }
}

/* A copy of a node with another child `index`. */
static swift_ref with_child(struct sonde__swift *p, swift_ref ref, size_t index, swift_ref child)
{
    struct sonde__swift_node *node = sonde__swift_at(p, ref);
    swift_ref children[8];
    if (node->count > 8 || child == 0) {
        return sonde__swift_fail(p);
    }
    memcpy(children, p->children + node->first, node->count * sizeof *children);
    children[index] = child;
    swift_ref copy =
        sonde__swift_make(p, (enum sonde__swift_kind)node->kind, node->count, children);
    sonde__swift_at(p, copy)->text = node->text;
    sonde__swift_at(p, copy)->length = node->length;
    sonde__swift_at(p, copy)->number = node->number;
    return copy;
}

/* Apply lists of arguments from `lists[0]` outwards. `left`: bound of the recursion. */
static swift_ref apply(struct sonde__swift *p, swift_ref ref, const swift_ref *lists, size_t count,
                       unsigned left)
{
    enum sonde__swift_kind kind = sonde__swift_kind_of(p, ref);
    bool takes = takes_arguments(kind);
    swift_ref children[2] = {ref, count != 0 ? lists[0] : 0};
    size_t outer = kind == SWIFT_EXTENSION_NODE ? 1 : 0;
    if (count == 0 || left == 0 || p->nodes[ref].count == 0) {
        return sonde__swift_fail(p);
    }
    if (kind == SWIFT_EXTENSION_NODE) {
        return with_child(p, ref, 1,
                          apply(p, sonde__swift_child(p, ref, 1), lists, count, left - 1));
    }
    if (count > (takes ? 1 : 0)) {
        children[0] = with_child(
            p, ref, outer,
            apply(p, sonde__swift_child(p, ref, outer), lists + takes, count - takes, left - 1));
    }
    if (!takes || p->nodes[lists[0]].count == 0) {
        return children[0];
    }
    if (kind == SWIFT_FUNCTION_NODE || kind == SWIFT_CONSTRUCTOR_NODE) {
        return sonde__swift_make_all(p, SWIFT_BOUND_FUNCTION_NODE, 2, children);
    }
    return sonde__swift_is(p, ref, SWIFT_GENERIC)
               ? sonde__swift_make_all(p, SWIFT_BOUND_NODE, 2, children)
               : sonde__swift_fail(p);
}

swift_ref sonde__swift_bound(struct sonde__swift *p)
{
    swift_ref lists[LEVELS_MAX];
    size_t count;
    if (!sonde__swift_pop_arguments(p, lists, &count)) {
        return 0;
    }
    swift_ref nominal = sonde__swift_pop_use(p, SWIFT_GENERIC);
    return sonde__swift_substitutable(p, apply(p, nominal, lists, count, 2 * LEVELS_MAX));
}

/* `Qo`: children: what returns it, the lists */
static swift_ref opaque_type(struct sonde__swift *p)
{
    swift_ref children[1 + LEVELS_MAX];
    size_t count;
    int32_t index = sonde__swift_index(p);
    if (index < 0 || !sonde__swift_pop_arguments(p, children + 1, &count)) {
        return sonde__swift_fail(p);
    }
    children[0] = sonde__swift_pop_any(p);
    swift_ref ref = sonde__swift_make_all(p, SWIFT_OPAQUE_TYPE_NODE, count + 1, children);
    sonde__swift_at(p, ref)->number = (uint32_t)index;
    return sonde__swift_substitutable(p, ref);
}

static swift_ref pack(struct sonde__swift *p, const char *text)
{
    swift_ref ref = sonde__swift_pop_list(p, SWIFT_PACK_NODE, sonde__swift_pop_type);
    sonde__swift_at(p, ref)->text = text;
    sonde__swift_at(p, ref)->length = (uint16_t)strlen(text);
    return ref;
}

static swift_ref associated_reference(struct sonde__swift *p)
{
    swift_ref name = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    swift_ref children[2] = {sonde__swift_pop_type(p), name};
    return sonde__swift_make_all(p, SWIFT_MEMBER_NODE, 2, children);
}

static swift_ref member_type(struct sonde__swift *p, char c)
{
    switch (c) {
    case 'a':
        return associated_reference(p);
    case 'x':
        return sonde__swift_member(p, 0);
    case 'X':
        return sonde__swift_member_path(p, 0);
    case 'y':
        return sonde__swift_member(p, sonde__swift_parameter_index(p));
    case 'Y':
        return sonde__swift_member_path(p, sonde__swift_parameter_index(p));
    case 'z':
        return sonde__swift_member(p, sonde__swift_parameter(p, 0, 0));
    default:
        return sonde__swift_member_path(p, sonde__swift_parameter(p, 0, 0));
    }
}

/* `Q`, before an operator of the table */
swift_ref sonde__swift_archetype(struct sonde__swift *p)
{
    char c = sonde__swift_peek(p);
    if (c == '\0' || strchr("axXyYzZoPS", c) == NULL) {
        return 0;
    }
    p->in++;
    if (c == 'o') {
        return opaque_type(p);
    }
    if (c == 'P') {
        return pack(p, "");
    }
    if (c == 'S') {
        c = sonde__swift_next(p);
        return c == 'd' || c == 'i' ? pack(p, c == 'd' ? "@direct " : "@indirect ")
                                    : sonde__swift_fail(p);
    }
    return sonde__swift_substitutable(p, member_type(p, c));
}
