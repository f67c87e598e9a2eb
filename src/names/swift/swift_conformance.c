// SPDX-License-Identifier: Apache-2.0
/* Conformances of types to protocols (Mangling.rst, "Generics"): the one that a global is about,
 * and those that fill the requirements of generic arguments. */
#include <string.h>

#include "swift_node.h"

/* Children: type, protocol, module, and the name of a property behavior, if it is one. */
swift_ref sonde__swift_pop_conformance(struct sonde__swift *p)
{
    swift_ref signature = sonde__swift_pop(p, SWIFT_SIGNATURE_NODE);
    swift_ref children[4] = {0};
    size_t count = 3;
    children[2] = sonde__swift_pop_module(p);
    children[1] = sonde__swift_pop_protocol(p);
    children[0] = sonde__swift_pop_type(p);
    if (children[0] == 0) {
        children[3] = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
        children[0] = sonde__swift_pop_type(p);
        count = 4;
    }
    if (signature != 0) {
        swift_ref generic[2] = {signature, children[0]};
        children[0] = sonde__swift_make_all(p, SWIFT_GENERIC_TYPE_NODE, 2, generic);
    }
    return sonde__swift_make_all(p, SWIFT_CONFORMANCE_NODE, count, children);
}

static swift_ref pop_any_conformance(struct sonde__swift *p)
{
    return sonde__swift_pop_use(p, SWIFT_CONFORMANCE);
}

static swift_ref reference(struct sonde__swift *p, const char *where, bool other)
{
    swift_ref children[2] = {0, other ? sonde__swift_pop_module(p) : 0};
    children[0] = sonde__swift_pop_protocol(p);
    swift_ref ref = sonde__swift_make_all(p, SWIFT_CONFORMANCE_REF_NODE, other ? 2 : 1, children);
    sonde__swift_at(p, ref)->text = where;
    sonde__swift_at(p, ref)->length = (uint16_t)strlen(where);
    return ref;
}

/* Children: type, reference, list of conditions. */
static swift_ref concrete(struct sonde__swift *p)
{
    swift_ref children[3] = {0};
    children[2] = sonde__swift_pop_list(p, SWIFT_LIST_NODE, pop_any_conformance);
    children[1] = sonde__swift_pop(p, SWIFT_CONFORMANCE_REF_NODE);
    if (children[1] == 0) {
        children[1] = reference(p, "(retroactive) ", true);
    }
    children[0] = sonde__swift_pop_type(p);
    return sonde__swift_make_all(p, SWIFT_CONCRETE_NODE, 3, children);
}

/* An index of 1 is unknown, 0 is not used. */
static swift_ref conformance_index(struct sonde__swift *p)
{
    int32_t index = sonde__swift_index(p);
    if (index <= 0) {
        return sonde__swift_fail(p);
    }
    return index == 1 ? sonde__swift_make(p, SWIFT_LABELS_NODE, 0, NULL)
                      : sonde__swift_number(p, SWIFT_CONFORMANCE_INDEX_NODE, (uint32_t)index - 2);
}

static swift_ref dependent(struct sonde__swift *p, enum sonde__swift_kind kind)
{
    swift_ref children[4] = {0};
    bool associated = kind == SWIFT_CONFORMANCE_ASSOCIATED_NODE;
    children[2] = conformance_index(p);
    children[0] = sonde__swift_pop_protocol(p);
    children[3] = associated ? sonde__swift_pop_type(p) : 0;
    children[1] =
        kind == SWIFT_CONFORMANCE_ROOT_NODE ? sonde__swift_pop_type(p) : pop_any_conformance(p);
    return sonde__swift_make_all(p, kind, associated ? 4 : 3, children);
}

swift_ref sonde__swift_conformance(struct sonde__swift *p, char code)
{
    swift_ref children[2] = {0};
    switch (code) {
    case 'A':
        return dependent(p, SWIFT_CONFORMANCE_ASSOCIATED_NODE);
    case 'C':
        return concrete(p);
    case 'D':
        return dependent(p, SWIFT_CONFORMANCE_ROOT_NODE);
    case 'I':
        return dependent(p, SWIFT_CONFORMANCE_INHERITED_NODE);
    case 'O':
        children[0] = sonde__swift_pop_type(p);
        children[1] = pop_any_conformance(p);
        return sonde__swift_make_all(p, SWIFT_CONFORMANCE_OPAQUE_NODE, 2, children);
    case 'P':
        return reference(p, "(type's module) ", false);
    case 'p':
        return reference(p, "(protocol's module) ", false);
    case 'X':
        children[0] = sonde__swift_pop_list(p, SWIFT_LIST_NODE, pop_any_conformance);
        return sonde__swift_make_all(p, SWIFT_CONFORMANCE_PACK_NODE, 1, children);
    default:
        return 0;
    }
}

swift_ref sonde__swift_retroactive(struct sonde__swift *p)
{
    int32_t index = sonde__swift_index(p);
    swift_ref children[2] = {
        index < 0 ? 0 : sonde__swift_number(p, SWIFT_NUMBER_NODE, (uint32_t)index)};
    children[1] = pop_any_conformance(p);
    return sonde__swift_make_all(p, SWIFT_RETROACTIVE_NODE, 2, children);
}
