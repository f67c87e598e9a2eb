// SPDX-License-Identifier: Apache-2.0
/* The types of functions as compiled code has them, in the names of thunks (Mangling.rst,
 * "impl-function-type"): how each value is passed, by letter. */
#include <string.h>

#include "swift_node.h"

enum { VALUES_MAX = 64 };

struct letter {
    char code;
    const char *text;
};

static const struct letter parameters[] = {
    {'i', "@in "},
    {'c', "@in_constant "},
    {'l', "@inout "},
    {'b', "@inout_aliasable "},
    {'n', "@in_guaranteed "},
    {'X', "@in_cxx "},
    {'x', "@owned "},
    {'g', "@guaranteed "},
    {'e', "@deallocating "},
    {'y', "@unowned "},
    {'v', "@pack_owned "},
    {'p', "@pack_guaranteed "},
    {'m', "@pack_inout "},
};
static const struct letter results[] = {
    {'r', "@out "},
    {'o', "@owned "},
    {'d', "@unowned "},
    {'u', "@unowned_inner_pointer "},
    {'a', "@autoreleased "},
    {'k', "@pack_out "},
    {'l', "@guaranteed_address "},
    {'g', "@guaranteed "},
    {'m', "@inout "},
};
/* in the order in which they occur; those of one group exclude each other */
static const struct {
    struct letter letter;
    char group;
} attributes[] = {
    {{'e', "@escaping "}, 'e'},
    {{'A', "@isolated(any) "}, 'A'},
    {{'N', "nonisolated(nonsending) "}, 'A'},
    {{'O', "@called(atMostOnce) "}, 'O'},
    {{'d', "@differentiable "}, 'd'},
    {{'l', "@differentiable(_linear) "}, 'd'},
    {{'f', "@differentiable(_forward) "}, 'd'},
    {{'r', "@differentiable(reverse) "}, 'd'},
    {{'y', "@callee_unowned "}, 'c'},
    {{'g', "@callee_guaranteed "}, 'c'},
    {{'x', "@callee_owned "}, 'c'},
    {{'t', "@convention(thin) "}, 'c'},
    {{'B', "@convention(block) "}, 'B'},
    {{'C', "@convention(c) "}, 'B'},
    {{'M', "@convention(method) "}, 'B'},
    {{'J', "@convention(objc_method) "}, 'B'},
    {{'O', "@convention(objc_method) "}, 'B'},
    {{'K', "@convention(closure) "}, 'B'},
    {{'W', "@convention(witness_method) "}, 'B'},
    {{'A', "@yield_once "}, 'y'},
    {{'I', "@yield_once_2 "}, 'y'},
    {{'G', "@yield_many "}, 'y'},
    {{'h', "@Sendable "}, 'h'},
    {{'H', "@async "}, 'H'},
};

struct impl {
    char text[256]; /* attributes, or the convention of a value */
    size_t length;
    swift_ref children[3 + VALUES_MAX];
    size_t count;
};

static void add_text(struct sonde__swift *p, struct impl *impl, const char *text)
{
    size_t length = strlen(text);
    if (length > sizeof impl->text - impl->length) {
        sonde__swift_fail(p);
        return;
    }
    memcpy(impl->text + impl->length, text, length);
    impl->length += length;
}

/* Move the text so far to a node and begin the next one. */
static void keep_text(struct sonde__swift *p, struct impl *impl, swift_ref ref)
{
    char *text = sonde__swift_text(p, impl->length);
    if (text != NULL && ref != 0) {
        memcpy(text, impl->text, impl->length);
        p->nodes[ref].text = text;
        p->nodes[ref].length = (uint16_t)impl->length;
    }
    impl->length = 0;
}

static bool add_letter(struct sonde__swift *p, struct impl *impl, const struct letter *letters,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sonde__swift_skip(p, letters[i].code)) {
            add_text(p, impl, letters[i].text);
            return true;
        }
    }
    return false;
}

static bool add_parameter(struct sonde__swift *p, struct impl *impl)
{
    static const struct letter flags[] = {
        {'w', "@noDerivative "}, {'T', "sending "}, {'I', "isolated "}, {'L', ""}};
    if (!add_letter(p, impl, parameters, sizeof parameters / sizeof parameters[0])) {
        return false;
    }
    /* an actor that the compiler passes: not shown */
    if (p->end - p->in >= 2 && memcmp(p->in, "IL", 2) == 0) {
        p->in += 2;
        return true;
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        add_letter(p, impl, &flags[i], 1);
    }
    return true;
}

static bool add_result(struct sonde__swift *p, struct impl *impl)
{
    static const struct letter flag = {'w', "@noDerivative "};
    bool is = add_letter(p, impl, results, sizeof results / sizeof results[0]);
    if (is) {
        add_letter(p, impl, &flag, 1);
    }
    return is;
}

/* A value whose text was added; its type is popped later. number 1: a result. */
static void add_value(struct sonde__swift *p, struct impl *impl, bool result)
{
    swift_ref none = 0;
    if (impl->count == 3 + VALUES_MAX) {
        sonde__swift_fail(p);
        return;
    }
    swift_ref ref = sonde__swift_make(p, SWIFT_IMPL_VALUE_NODE, 1, &none);
    keep_text(p, impl, ref);
    sonde__swift_at(p, ref)->number = result;
    impl->children[impl->count++] = ref;
}

static void add_values(struct sonde__swift *p, struct impl *impl)
{
    while (!p->failed && add_parameter(p, impl)) {
        add_value(p, impl, false);
    }
    while (!p->failed && add_result(p, impl)) {
        add_value(p, impl, true);
    }
    while (!p->failed && sonde__swift_skip(p, 'Y')) {
        add_text(p, impl, "@yields ");
        if (!add_parameter(p, impl)) {
            sonde__swift_fail(p);
        }
        add_value(p, impl, true);
    }
    if (!p->failed && sonde__swift_skip(p, 'z')) {
        add_text(p, impl, "@error ");
        if (!add_result(p, impl)) {
            sonde__swift_fail(p);
        }
        add_value(p, impl, true);
    }
}

/* Types were mangled before the letters: pop them into the values, last one first. */
static void fill_types(struct sonde__swift *p, struct impl *impl)
{
    for (size_t i = impl->count; i-- > 3;) {
        swift_ref type = sonde__swift_pop_type(p);
        if (type == 0) {
            sonde__swift_fail(p);
            return;
        }
        p->children[p->nodes[impl->children[i]].first] = type;
    }
}

static bool add_attributes(struct sonde__swift *p, struct impl *impl)
{
    char seen = 0;
    bool callee = false;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].group != seen && (attributes[i].group != 'c' || !callee) &&
            add_letter(p, impl, &attributes[i].letter, 1)) {
            seen = attributes[i].group;
            callee |= seen == 'c';
        }
        if (!callee && attributes[i].group == 'B') {
            return false;
        }
    }
    return callee;
}

/* The list of arguments of `s` or `I`; only one level makes sense. */
static swift_ref substitutions(struct sonde__swift *p)
{
    swift_ref lists[16];
    size_t count;
    return sonde__swift_pop_arguments(p, lists, &count) && count == 1 ? lists[0]
                                                                      : sonde__swift_fail(p);
}

/* Children: signature of the pattern, its arguments with those of the invocation, signature; then
 * the values. The node's text has the attributes; number 1: the result is sent. */
swift_ref sonde__swift_impl_function(struct sonde__swift *p)
{
    struct impl impl;
    swift_ref arguments[2] = {0};
    impl.length = 0;
    impl.count = 3;
    impl.children[0] = 0;
    if (sonde__swift_skip(p, 's')) {
        arguments[0] = substitutions(p);
        impl.children[0] = sonde__swift_pop(p, SWIFT_SIGNATURE_NODE);
        if (impl.children[0] == 0) {
            return sonde__swift_fail(p);
        }
    }
    arguments[1] = sonde__swift_skip(p, 'I') ? substitutions(p) : 0;
    impl.children[1] = sonde__swift_make(p, SWIFT_LABELS_NODE, 2, arguments);
    impl.children[2] = sonde__swift_pop(p, SWIFT_SIGNATURE_NODE);
    if (impl.children[2] != 0) {
        sonde__swift_skip(p, 'P');
    }
    swift_ref ref = add_attributes(p, &impl) ? sonde__swift_make(p, SWIFT_TYPE_NODE, 0, NULL) : 0;
    keep_text(p, &impl, ref);
    bool sending = sonde__swift_skip(p, 'T');
    add_values(p, &impl);
    if (ref == 0 || !sonde__swift_skip(p, '_')) {
        return sonde__swift_fail(p);
    }
    fill_types(p, &impl);
    swift_ref function = sonde__swift_make(p, SWIFT_IMPL_FUNCTION_NODE, impl.count, impl.children);
    sonde__swift_at(p, function)->text = p->nodes[ref].text;
    sonde__swift_at(p, function)->length = p->nodes[ref].length;
    sonde__swift_at(p, function)->number = sending;
    return function;
}
