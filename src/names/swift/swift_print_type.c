// SPDX-License-Identifier: Apache-2.0
/* Types that no format prints: functions, metatypes, protocols, memory of captured variables. */
#include <string.h>

#include "swift_print.h"

/* --- functions --- */

/* An annotation of a function's type: one of `kinds`, 0-terminated. */
static void put_annotation(struct sonde__swift_out *out, swift_ref type, const uint8_t *kinds)
{
    for (size_t i = 2; i < out->p->nodes[type].count; i++) {
        swift_ref child = sonde__swift_child(out->p, type, i);
        if (memchr(kinds, out->p->nodes[child].kind, strlen((const char *)kinds)) != NULL) {
            sonde__swift_put_node(out, child);
        }
    }
}

/* One parameter with its label. In brief style, a declaration's parameter is its label. */
static void put_parameter(struct sonde__swift_out *out, swift_ref label, swift_ref element,
                          bool brief)
{
    bool own = out->p->nodes[element].length != 0;
    if (label != 0) {
        bool named = sonde__swift_kind_of(out->p, label) == SWIFT_IDENTIFIER_NODE;
        sonde__swift_put_bytes(out, named ? out->p->nodes[label].text : "_",
                               named ? out->p->nodes[label].length : 1);
        sonde__swift_put(out, brief ? ":" : ": ");
    } else if (brief) {
        sonde__swift_put_bytes(out, own ? out->p->nodes[element].text : "_",
                               own ? out->p->nodes[element].length : 1);
        sonde__swift_put(out, ":");
    }
    if (brief) {
        return;
    }
    if (label == 0) {
        sonde__swift_put_node(out, element);
    } else {
        sonde__swift_put_child(out, element, 0);
        sonde__swift_put(out, out->p->nodes[element].number != 0 ? "..." : "");
    }
}

static void put_parameters(struct sonde__swift_out *out, swift_ref labels, swift_ref list,
                           bool brief)
{
    sonde__swift_put(out, "(");
    if (sonde__swift_kind_of(out->p, list) != SWIFT_TUPLE_NODE) {
        if (brief) {
            sonde__swift_put(out, "_:");
        } else {
            sonde__swift_put_node(out, list);
        }
    } else {
        for (size_t i = 0; i < out->p->nodes[list].count && !out->failed; i++) {
            sonde__swift_put(out, i != 0 && !brief ? ", " : "");
            put_parameter(out, sonde__swift_child(out->p, labels, i),
                          sonde__swift_child(out->p, list, i), brief);
        }
    }
    sonde__swift_put(out, ")");
}

void sonde__swift_put_function_type(struct sonde__swift_out *out, swift_ref labels, swift_ref type,
                                    bool declaration)
{
    static const uint8_t isolation[] = {SWIFT_ISOLATED_ANY_NODE, SWIFT_GLOBAL_ACTOR_NODE, 0};
    static const uint8_t differentiable[] = {SWIFT_DIFFERENTIABLE_NODE, 0};
    static const uint8_t caller[] = {SWIFT_CALLER_ISOLATED_NODE, 0};
    static const uint8_t sendable[] = {SWIFT_SENDABLE_NODE, 0};
    static const uint8_t async[] = {SWIFT_ASYNC_NODE, 0};
    static const uint8_t throws[] = {SWIFT_THROWS_NODE, SWIFT_TYPED_THROWS_NODE, 0};
    static const uint8_t sending[] = {SWIFT_SENDING_RESULT_NODE, 0};
    const char *prefix = out->p->nodes[type].text;
    bool brief = declaration && out->brief;
    if (!brief) {
        sonde__swift_put(out, prefix + (*prefix == ' '));
        put_annotation(out, type, isolation);
        put_annotation(out, type, differentiable);
        put_annotation(out, type, caller);
        put_annotation(out, type, sendable);
    }
    put_parameters(out, labels, sonde__swift_child(out->p, type, 0), brief);
    if (!brief) {
        put_annotation(out, type, async);
        put_annotation(out, type, throws);
        sonde__swift_put(out, " -> ");
        put_annotation(out, type, sending);
        sonde__swift_put_child(out, type, 1);
    }
}

static void put_element(struct sonde__swift_out *out, swift_ref ref)
{
    if (out->p->nodes[ref].length != 0) {
        sonde__swift_put_text(out, ref);
        sonde__swift_put(out, ": ");
    }
    sonde__swift_put_child(out, ref, 0);
    sonde__swift_put(out, out->p->nodes[ref].number != 0 ? "..." : "");
}

/* --- functions of compiled code --- */

static void put_values(struct sonde__swift_out *out, swift_ref ref, bool result)
{
    bool first = true;
    for (size_t i = 3; i < out->p->nodes[ref].count && !out->failed; i++) {
        swift_ref value = sonde__swift_child(out->p, ref, i);
        if (out->p->nodes[value].number == (result ? 1u : 0u)) {
            sonde__swift_put(out, first ? "" : ", ");
            sonde__swift_put_node(out, value);
            first = false;
        }
    }
}

static void put_substitutions(struct sonde__swift_out *out, swift_ref list)
{
    if (list != 0) {
        sonde__swift_put(out, " for <");
        sonde__swift_put_children(out, list, "");
        sonde__swift_put(out, ">");
    }
}

static void put_impl_function(struct sonde__swift_out *out, swift_ref ref)
{
    swift_ref arguments = sonde__swift_child(out->p, ref, 1);
    swift_ref signature = sonde__swift_child(out->p, ref, 2);
    sonde__swift_put_text(out, ref);
    if (signature != 0) {
        sonde__swift_put_node(out, signature);
        sonde__swift_put(out, " ");
    }
    if (sonde__swift_child(out->p, ref, 0) != 0) {
        sonde__swift_put(out, "@substituted ");
        sonde__swift_put_child(out, ref, 0);
        sonde__swift_put(out, " ");
    }
    sonde__swift_put(out, "(");
    put_values(out, ref, false);
    sonde__swift_put(out, out->p->nodes[ref].number != 0 ? ") -> sending (" : ") -> (");
    put_values(out, ref, true);
    sonde__swift_put(out, ")");
    put_substitutions(out, sonde__swift_child(out->p, arguments, 0));
    put_substitutions(out, sonde__swift_child(out->p, arguments, 1));
}

/* --- others --- */

static void put_protocols_and_object(struct sonde__swift_out *out, swift_ref ref)
{
    swift_ref list = sonde__swift_child(out->p, ref, 0);
    sonde__swift_put_children(out, list, " & ");
    sonde__swift_put(out, out->p->nodes[list].count != 0 ? " & " : "");
    sonde__swift_put(out, out->brief ? "AnyObject" : "Swift.AnyObject");
}

static bool is_existential(enum sonde__swift_kind kind)
{
    return kind == SWIFT_EXISTENTIAL_METATYPE_NODE || kind == SWIFT_PROTOCOLS_NODE ||
           kind == SWIFT_PROTOCOLS_CLASS_NODE || kind == SWIFT_PROTOCOLS_ANYOBJECT_NODE;
}

static void put_metatype(struct sonde__swift_out *out, swift_ref ref)
{
    swift_ref type = sonde__swift_child(out->p, ref, 0);
    sonde__swift_put_text(out, ref);
    sonde__swift_put_operand(out, type);
    sonde__swift_put(out,
                     is_existential(sonde__swift_kind_of(out->p, type)) ? ".Protocol" : ".Type");
}

static void put_associated(struct sonde__swift_out *out, swift_ref ref)
{
    if (sonde__swift_child(out->p, ref, 1) != 0) {
        sonde__swift_put_child(out, ref, 1);
        sonde__swift_put(out, ".");
    }
    sonde__swift_put_child(out, ref, 0);
}

static void put_protocols(struct sonde__swift_out *out, swift_ref ref)
{
    sonde__swift_put(out, out->p->nodes[ref].count == 0 ? "Any" : "");
    sonde__swift_put_children(out, ref, " & ");
}

static void put_own_parameter(struct sonde__swift_out *out, swift_ref ref)
{
    const struct sonde__swift_node *node = &out->p->nodes[ref];
    if (node->length != 0) {
        sonde__swift_put_text(out, ref);
    } else {
        sonde__swift_put_parameter_name(out, node->number >> 16, node->number & 0xffff);
    }
}

/* A field that is passed as inout can be changed. */
static void put_field(struct sonde__swift_out *out, swift_ref ref)
{
    const struct sonde__swift_node *node = &out->p->nodes[ref];
    bool variable = node->kind == SWIFT_TYPE_NODE && node->length == 0 &&
                    strcmp(sonde__swift_operators[node->number].code, "z") == 0;
    sonde__swift_put(out, variable ? " var " : " let ");
    sonde__swift_put_node(out, variable ? sonde__swift_child(out->p, ref, 0) : ref);
}

static void put_box(struct sonde__swift_out *out, swift_ref ref)
{
    swift_ref fields = sonde__swift_child(out->p, ref, 1);
    sonde__swift_put_child(out, ref, 0);
    sonde__swift_put(out, sonde__swift_child(out->p, ref, 0) != 0 ? " {" : "{");
    for (size_t i = 0; i < out->p->nodes[fields].count && !out->failed; i++) {
        sonde__swift_put(out, i != 0 ? "," : "");
        put_field(out, sonde__swift_child(out->p, fields, i));
    }
    sonde__swift_put(out, " }");
    if (sonde__swift_child(out->p, ref, 2) != 0) {
        sonde__swift_put(out, " <");
        sonde__swift_put_child(out, ref, 2);
        sonde__swift_put(out, ">");
    }
}

static void put_function(struct sonde__swift_out *out, swift_ref ref)
{
    sonde__swift_put_function_type(out, 0, ref, false);
}

bool sonde__swift_put_type(struct sonde__swift_out *out, swift_ref ref)
{
    static void (*const functions[SWIFT_KIND_COUNT])(struct sonde__swift_out *, swift_ref) = {
        [SWIFT_BUILTIN_NODE] = sonde__swift_put_text,
        [SWIFT_BOUND_NODE] = sonde__swift_put_bound,
        [SWIFT_BOX_NODE] = put_box,
        [SWIFT_ELEMENT_NODE] = put_element,
        [SWIFT_FUNCTION_TYPE_NODE] = put_function,
        [SWIFT_METATYPE_NODE] = put_metatype,
        [SWIFT_PROTOCOLS_NODE] = put_protocols,
        [SWIFT_PROTOCOLS_ANYOBJECT_NODE] = put_protocols_and_object,
        [SWIFT_PARAMETER_NODE] = put_own_parameter,
        [SWIFT_ASSOCIATED_NODE] = put_associated,
        [SWIFT_GENERIC_TYPE_NODE] = sonde__swift_put_generic_type,
        [SWIFT_SIGNATURE_NODE] = sonde__swift_put_signature,
        [SWIFT_INVERSE_NODE] = sonde__swift_put_inverse,
        [SWIFT_IMPL_FUNCTION_NODE] = put_impl_function,
    };
    uint8_t kind = out->p->nodes[ref].kind;
    if (functions[kind] != NULL) {
        functions[kind](out, ref);
    }
    return functions[kind] != NULL;
}
