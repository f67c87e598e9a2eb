// SPDX-License-Identifier: Apache-2.0
/* Types (Mangling.rst, "Types"): built-in ones, functions, tuples, bound generics, metatypes,
 * protocol lists. */
#include <stdio.h>
#include <string.h>

#include "swift_node.h"

enum { BUILTIN_SIZE_MAX = 4096 };

static swift_ref formatted(struct sonde__swift *p, const char *format, int size, const char *rest,
                           size_t rest_length)
{
    char text[64];
    int length = snprintf(text, sizeof text, format, size, (int)rest_length, rest);
    char *kept =
        length > 0 && (size_t)length < sizeof text ? sonde__swift_text(p, (size_t)length) : NULL;
    if (kept == NULL) {
        return sonde__swift_fail(p);
    }
    memcpy(kept, text, (size_t)length);
    return sonde__swift_leaf(p, SWIFT_BUILTIN_NODE, kept, (size_t)length);
}

static swift_ref sized(struct sonde__swift *p, const char *format, bool vector)
{
    int32_t size = sonde__swift_index(p) - 1;
    swift_ref element = vector ? sonde__swift_pop(p, SWIFT_BUILTIN_NODE) : 0;
    size_t skipped = sizeof "Builtin." - 1;
    if (size <= 0 || size > BUILTIN_SIZE_MAX || (vector && p->nodes[element].length <= skipped)) {
        return sonde__swift_fail(p);
    }
    return !vector ? formatted(p, format, size, "", 0)
                   : formatted(p, format, size, p->nodes[element].text + skipped,
                               p->nodes[element].length - skipped);
}

swift_ref sonde__swift_builtin(struct sonde__swift *p)
{
    static const struct {
        char code;
        const char *name;
    } names[] = {
        {'A', "Builtin.ImplicitActor"},
        {'b', "Builtin.BridgeObject"},
        {'B', "Builtin.UnsafeValueBuffer"},
        {'c', "Builtin.RawUnsafeContinuation"},
        {'D', "Builtin.DefaultActorStorage"},
        {'d', "Builtin.NonDefaultDistributedActorStorage"},
        {'e', "Builtin.Executor"},
        {'I', "Builtin.IntLiteral"},
        {'j', "Builtin.Job"},
        {'O', "Builtin.UnknownObject"},
        {'o', "Builtin.NativeObject"},
        {'P', "Builtin.PackIndex"},
        {'p', "Builtin.RawPointer"},
        {'t', "Builtin.SILToken"},
        {'w', "Builtin.Word"},
    };
    char c = sonde__swift_next(p);
    switch (c) {
    case 'f':
        return sized(p, "Builtin.FPIEEE%d%.*s", false);
    case 'i':
        return sized(p, "Builtin.Int%d%.*s", false);
    case 'v':
        return sized(p, "Builtin.Vec%dx%.*s", true);
    default:
        break;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code == c) {
            return sonde__swift_word_leaf(p, SWIFT_BUILTIN_NODE, names[i].name);
        }
    }
    return sonde__swift_fail(p);
}

/* --- functions --- */

static swift_ref pop_parameters(struct sonde__swift *p)
{
    return sonde__swift_pop(p, SWIFT_EMPTY_LIST_NODE) != 0
               ? sonde__swift_make(p, SWIFT_TUPLE_NODE, 0, NULL)
               : sonde__swift_pop_type(p);
}

/* One of the kinds from `first` to `last`. */
static swift_ref pop_between(struct sonde__swift *p, enum sonde__swift_kind first,
                             enum sonde__swift_kind last)
{
    for (unsigned kind = first; kind <= last; kind++) {
        swift_ref ref = sonde__swift_pop(p, (enum sonde__swift_kind)kind);
        if (ref != 0) {
            return ref;
        }
    }
    return 0;
}

/* Children: parameters, result, then the annotations. prefix: printed in front; it begins with a
 * space if the function may be an entity's. */
swift_ref sonde__swift_function_type(struct sonde__swift *p, const char *prefix)
{
    static const uint8_t annotations[][2] = {
        {SWIFT_SENDING_RESULT_NODE, SWIFT_SENDING_RESULT_NODE},
        {SWIFT_ISOLATED_ANY_NODE, SWIFT_CALLER_ISOLATED_NODE},
        {SWIFT_DIFFERENTIABLE_NODE, SWIFT_DIFFERENTIABLE_NODE},
        {SWIFT_THROWS_NODE, SWIFT_TYPED_THROWS_NODE},
        {SWIFT_SENDABLE_NODE, SWIFT_SENDABLE_NODE},
        {SWIFT_ASYNC_NODE, SWIFT_ASYNC_NODE},
    };
    swift_ref children[8] = {0};
    size_t count = 2;
    for (size_t i = 0; i < sizeof annotations / sizeof annotations[0]; i++) {
        swift_ref ref = pop_between(p, (enum sonde__swift_kind)annotations[i][0],
                                    (enum sonde__swift_kind)annotations[i][1]);
        if (ref != 0) {
            children[count++] = ref;
        }
    }
    children[0] = pop_parameters(p);
    children[1] = pop_parameters(p);
    swift_ref ref = sonde__swift_make_all(p, SWIFT_FUNCTION_TYPE_NODE, count, children);
    sonde__swift_at(p, ref)->text = prefix;
    sonde__swift_at(p, ref)->length = (uint16_t)strlen(prefix);
    return ref;
}

static swift_ref c_function_type(struct sonde__swift *p)
{
    char c = sonde__swift_next(p);
    int32_t length = sonde__swift_natural(p);
    char text[200];
    if ((c != 'B' && c != 'C') || length <= 0 || length > p->end - p->in || length > 128) {
        return sonde__swift_fail(p);
    }
    int used = snprintf(text, sizeof text, "%s@convention(%s, mangledCType: \"%.*s\") ",
                        c == 'C' ? " " : "", c == 'B' ? "block" : "c", length, p->in);
    char *kept = sonde__swift_text(p, (size_t)used + 1);
    if (kept == NULL) {
        return 0;
    }
    memcpy(kept, text, (size_t)used + 1);
    p->in += length;
    return sonde__swift_function_type(p, kept);
}

static swift_ref differentiable(struct sonde__swift *p)
{
    char c = sonde__swift_next(p);
    const char *text = c == 'f'   ? "(_forward)"
                       : c == 'r' ? "(reverse)"
                       : c == 'l' ? "(_linear)"
                       : c == 'd' ? ""
                                  : NULL;
    return text == NULL ? sonde__swift_fail(p)
                        : sonde__swift_word_leaf(p, SWIFT_DIFFERENTIABLE_NODE, text);
}

/* `Y`, before an operator of the table */
swift_ref sonde__swift_annotation(struct sonde__swift *p)
{
    return sonde__swift_skip(p, 'j') ? differentiable(p) : 0;
}

/* --- tuples and lists --- */

/* The node's text is the label; number 1: variadic. */
static swift_ref pop_element(struct sonde__swift *p)
{
    bool variadic = sonde__swift_pop(p, SWIFT_VARIADIC_NODE) != 0;
    struct sonde__swift_node label = p->nodes[sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE)];
    swift_ref type = sonde__swift_pop_type(p);
    swift_ref ref = sonde__swift_make_all(p, SWIFT_ELEMENT_NODE, 1, &type);
    if (ref != 0) {
        p->nodes[ref].number = variadic;
        p->nodes[ref].text = label.text;
        p->nodes[ref].length = label.length;
    }
    return ref;
}

swift_ref sonde__swift_tuple(struct sonde__swift *p)
{
    return sonde__swift_pop_list(p, SWIFT_TUPLE_NODE, pop_element);
}

swift_ref sonde__swift_protocols(struct sonde__swift *p)
{
    return sonde__swift_pop_list(p, SWIFT_PROTOCOLS_NODE, sonde__swift_pop_protocol);
}

/* --- others, after `X` --- */

static swift_ref metatype(struct sonde__swift *p, enum sonde__swift_kind kind)
{
    char c = sonde__swift_next(p);
    const char *text = c == 't'   ? "@thin "
                       : c == 'T' ? "@thick "
                       : c == 'o' ? "@objc_metatype "
                                  : NULL;
    swift_ref type = sonde__swift_pop_type(p);
    swift_ref ref = text == NULL ? 0 : sonde__swift_make_all(p, kind, 1, &type);
    if (ref != 0) {
        p->nodes[ref].text = text;
        p->nodes[ref].length = (uint16_t)strlen(text);
    }
    return ref != 0 ? ref : sonde__swift_fail(p);
}

static swift_ref pop_requirement(struct sonde__swift *p)
{
    return sonde__swift_pop_use(p, SWIFT_REQUIREMENT);
}

static swift_ref constrained(struct sonde__swift *p)
{
    swift_ref list = sonde__swift_pop_list(p, SWIFT_LIST_NODE, pop_requirement);
    swift_ref children[2] = {sonde__swift_pop_type(p), list};
    return sonde__swift_make_all(p, SWIFT_CONSTRAINED_NODE, 2, children);
}

static swift_ref protocols_and_class(struct sonde__swift *p)
{
    swift_ref children[2] = {sonde__swift_pop_type(p)};
    children[1] = sonde__swift_protocols(p);
    return sonde__swift_make_all(p, SWIFT_PROTOCOLS_CLASS_NODE, 2, children);
}

static swift_ref protocols_and_object(struct sonde__swift *p)
{
    swift_ref list = sonde__swift_protocols(p);
    return sonde__swift_make_all(p, SWIFT_PROTOCOLS_ANYOBJECT_NODE, 1, &list);
}

static swift_ref anonymous(struct sonde__swift *p)
{
    swift_ref children[3] = {0};
    children[2] = sonde__swift_pop_list(p, SWIFT_LIST_NODE, sonde__swift_pop_type);
    children[0] = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    children[1] = sonde__swift_pop_context(p);
    return sonde__swift_make_all(p, SWIFT_ANONYMOUS_NODE, 3, children);
}

/* `Xx`, `XX`: memory for captured variables. Children: signature or none, fields, arguments. */
static swift_ref box(struct sonde__swift *p, bool generic)
{
    swift_ref children[3] = {generic ? sonde__swift_pop(p, SWIFT_SIGNATURE_NODE) : 0};
    if (generic) {
        children[2] = sonde__swift_pop_list(p, SWIFT_LIST_NODE, sonde__swift_pop_type);
    }
    children[1] = sonde__swift_pop_list(p, SWIFT_LIST_NODE, sonde__swift_pop_type);
    return generic && children[0] == 0 ? sonde__swift_fail(p)
                                       : sonde__swift_make(p, SWIFT_BOX_NODE, 3, children);
}

/* 0 without `failed`: a row of the table. */
swift_ref sonde__swift_special_type(struct sonde__swift *p)
{
    static const char codes[] = "EAfKULBC";
    static const char *const prefixes[] = {" ",
                                           "@autoclosure ",
                                           " @convention(thin) ",
                                           "@autoclosure ",
                                           " ",
                                           "@escaping @convention(block) ",
                                           "@convention(block) ",
                                           " @convention(c) "};
    char c = sonde__swift_peek(p);
    const char *function = c == '\0' ? NULL : strchr(codes, c);
    if (function != NULL) {
        p->in++;
        return sonde__swift_function_type(p, prefixes[function - codes]);
    }
    if (c == '\0' || strchr("zMmPclZxX", c) == NULL) {
        return 0;
    }
    p->in++;
    switch (c) {
    case 'z':
        return c_function_type(p);
    case 'M':
        return metatype(p, SWIFT_METATYPE_NODE);
    case 'm':
        return metatype(p, SWIFT_EXISTENTIAL_METATYPE_NODE);
    case 'P':
        return constrained(p);
    case 'c':
        return protocols_and_class(p);
    case 'l':
        return protocols_and_object(p);
    case 'x':
    case 'X':
        return box(p, c == 'X');
    default:
        return anonymous(p);
    }
}
