// SPDX-License-Identifier: Apache-2.0
/* Generic parameters, signatures, and types with arguments, with their short forms (`[T]`,
 * `[K : V]`, `T?`). */
#include <string.h>

#include "swift_print.h"

enum { PARAMETERS_SHOWN_MAX = 128 };

/* A, B ... in the order of the declaration, with the depth if it is not the outermost. */
void sonde__swift_put_parameter_name(struct sonde__swift_out *out, uint32_t depth, uint32_t index)
{
    do {
        char letter = (char)('A' + index % 26);
        sonde__swift_put_bytes(out, &letter, 1);
        index /= 26;
    } while (index != 0);
    if (depth != 0) {
        sonde__swift_put_number(out, depth);
    }
}

/* The marker of kind `kind` of a parameter in a signature; none: it has none. */
static swift_ref find_marker(const struct sonde__swift *p, swift_ref ref,
                             enum sonde__swift_kind kind, uint32_t parameter)
{
    for (size_t i = p->nodes[ref].number; i < p->nodes[ref].count; i++) {
        swift_ref marker = sonde__swift_child(p, ref, i);
        if (sonde__swift_kind_of(p, marker) == kind &&
            p->nodes[sonde__swift_child(p, marker, 0)].number == parameter) {
            return marker;
        }
    }
    return 0;
}

static void put_declared_parameter(struct sonde__swift_out *out, swift_ref ref, uint32_t depth,
                                   uint32_t index)
{
    uint32_t parameter = depth << 16 | index;
    swift_ref value = find_marker(out->p, ref, SWIFT_VALUE_MARKER_NODE, parameter);
    if (find_marker(out->p, ref, SWIFT_PACK_MARKER_NODE, parameter) != 0) {
        sonde__swift_put(out, "each ");
    }
    sonde__swift_put(out, value != 0 ? "let " : "");
    sonde__swift_put_parameter_name(out, depth, index);
    if (value != 0) {
        sonde__swift_put(out, ": ");
        sonde__swift_put_child(out, value, 1);
    }
}

static void put_requirements(struct sonde__swift_out *out, swift_ref ref)
{
    const char *separator = " where ";
    for (size_t i = out->p->nodes[ref].number; i < out->p->nodes[ref].count && !out->failed; i++) {
        swift_ref requirement = sonde__swift_child(out->p, ref, i);
        uint8_t kind = out->p->nodes[requirement].kind;
        if (kind != SWIFT_PACK_MARKER_NODE && kind != SWIFT_VALUE_MARKER_NODE) {
            sonde__swift_put(out, separator);
            sonde__swift_put_node(out, requirement);
            separator = ", ";
        }
    }
}

void sonde__swift_put_signature(struct sonde__swift_out *out, swift_ref ref)
{
    sonde__swift_put(out, "<");
    for (uint32_t depth = 0; depth < out->p->nodes[ref].number && !out->failed; depth++) {
        uint32_t count = out->p->nodes[sonde__swift_child(out->p, ref, depth)].number;
        sonde__swift_put(out, depth != 0 ? "><" : "");
        for (uint32_t i = 0; i < count && i <= PARAMETERS_SHOWN_MAX && !out->failed; i++) {
            sonde__swift_put(out, i != 0 ? ", " : "");
            if (i == PARAMETERS_SHOWN_MAX) {
                sonde__swift_put(out, "...");
            } else {
                put_declared_parameter(out, ref, depth, i);
            }
        }
    }
    if (!out->brief) {
        put_requirements(out, ref);
    }
    sonde__swift_put(out, ">");
}

void sonde__swift_put_inverse(struct sonde__swift_out *out, swift_ref ref)
{
    static const char *const protocols[] = {"Copyable", "Escapable"};
    uint32_t bit = out->p->nodes[ref].number;
    sonde__swift_put_child(out, ref, 0);
    sonde__swift_put(out, ": ~Swift.");
    if (bit < sizeof protocols / sizeof protocols[0]) {
        sonde__swift_put(out, protocols[bit]);
    } else {
        sonde__swift_put(out, "<bit ");
        sonde__swift_put_number(out, bit);
        sonde__swift_put(out, ">");
    }
}

void sonde__swift_put_generic_type(struct sonde__swift_out *out, swift_ref ref)
{
    swift_ref type = sonde__swift_child(out->p, ref, 1);
    enum sonde__swift_kind kind = sonde__swift_kind_of(out->p, type);
    bool close = kind == SWIFT_GENERIC_TYPE_NODE ||
                 (kind == SWIFT_FUNCTION_TYPE_NODE && out->p->nodes[type].text[1] == '\0');
    sonde__swift_put_child(out, ref, 0);
    sonde__swift_put(out, close ? "" : " ");
    sonde__swift_put_child(out, ref, 1);
}

/* Is it the library's type of this name? */
static bool is_swifts(const struct sonde__swift *p, swift_ref ref, enum sonde__swift_kind kind,
                      const char *name)
{
    const struct sonde__swift_node *module = &p->nodes[sonde__swift_child(p, ref, 0)];
    const struct sonde__swift_node *own = &p->nodes[sonde__swift_child(p, ref, 1)];
    return sonde__swift_kind_of(p, ref) == kind && module->kind == SWIFT_MODULE_NODE &&
           own->kind == SWIFT_IDENTIFIER_NODE && module->length == 5 &&
           memcmp(module->text, "Swift", 5) == 0 && own->length == strlen(name) &&
           memcmp(own->text, name, own->length) == 0;
}

void sonde__swift_put_bound(struct sonde__swift_out *out, swift_ref ref)
{
    swift_ref nominal = sonde__swift_child(out->p, ref, 0);
    swift_ref list = sonde__swift_child(out->p, ref, 1);
    uint16_t count = out->p->nodes[list].count;
    bool optional = count == 1 && is_swifts(out->p, nominal, SWIFT_ENUM_NODE, "Optional");
    bool array = count == 1 && is_swifts(out->p, nominal, SWIFT_STRUCT_NODE, "Array");
    bool dictionary = count == 2 && is_swifts(out->p, nominal, SWIFT_STRUCT_NODE, "Dictionary");
    if (optional) {
        sonde__swift_put_operand(out, sonde__swift_child(out->p, list, 0));
        sonde__swift_put(out, "?");
    } else if (array || dictionary) {
        sonde__swift_put(out, "[");
        sonde__swift_put_children(out, list, " : ");
        sonde__swift_put(out, "]");
    } else if (sonde__swift_kind_of(out->p, nominal) == SWIFT_PROTOCOL_NODE) {
        sonde__swift_put_children(out, list, "");
        sonde__swift_put(out, " as ");
        sonde__swift_put_node(out, nominal);
    } else {
        sonde__swift_put_node(out, nominal);
        sonde__swift_put(out, "<");
        sonde__swift_put_node(out, list);
        sonde__swift_put(out, ">");
    }
}
