// SPDX-License-Identifier: Apache-2.0
/* Declarations (Mangling.rst, "Entities", "Declaration Contexts"). All have the same five children,
 * some of them none: context, name, labels, type, private name. The node's text is the part of the
 * name that the kind gives ("init", "closure #"), and its number counts. */
#include <string.h>

#include "swift_node.h"

/* A declaration of `children`; `text` may be null. Fails without a context. */
static swift_ref entity(struct sonde__swift *p, enum sonde__swift_kind kind, const char *text,
                        const swift_ref *children)
{
    swift_ref ref = children[SWIFT_OF_CONTEXT] == 0 ? sonde__swift_fail(p)
                                                    : sonde__swift_make(p, kind, 5, children);
    if (ref != 0 && text != NULL) {
        p->nodes[ref].text = text;
        p->nodes[ref].length = (uint16_t)strlen(text);
    }
    return ref;
}

swift_ref sonde__swift_nominal(struct sonde__swift *p, enum sonde__swift_kind kind)
{
    swift_ref children[5] = {0};
    children[SWIFT_OF_NAME] = sonde__swift_pop_use(p, SWIFT_DECL);
    children[SWIFT_OF_CONTEXT] = sonde__swift_pop_context(p);
    return sonde__swift_substitutable(
        p, children[SWIFT_OF_NAME] == 0 ? 0 : entity(p, kind, NULL, children));
}

/* Children: module, extended type, perhaps a signature. */
swift_ref sonde__swift_extension(struct sonde__swift *p)
{
    swift_ref children[3] = {0, 0, sonde__swift_pop(p, SWIFT_SIGNATURE_NODE)};
    children[0] = sonde__swift_pop_module(p);
    children[1] = sonde__swift_pop_use(p, SWIFT_GENERIC);
    return sonde__swift_make_all(p, SWIFT_EXTENSION_NODE, children[2] != 0 ? 3 : 2, children);
}

/* --- labels --- */

/* The parameters of a function's type; none: not a function whose parameters have labels. */
static swift_ref parameters(const struct sonde__swift *p, swift_ref type)
{
    if (sonde__swift_kind_of(p, type) == SWIFT_GENERIC_TYPE_NODE) {
        type = sonde__swift_child(p, type, 1);
    }
    return sonde__swift_kind_of(p, type) == SWIFT_FUNCTION_TYPE_NODE &&
                   strcmp(p->nodes[type].text, " ") == 0
               ? sonde__swift_child(p, type, 0)
               : 0;
}

static swift_ref label_of_element(struct sonde__swift *p, swift_ref element)
{
    struct sonde__swift_node node = p->nodes[element];
    return node.length != 0 ? sonde__swift_leaf(p, SWIFT_IDENTIFIER_NODE, node.text, node.length)
                            : sonde__swift_make(p, SWIFT_FIRST_NODE, 0, NULL);
}

static swift_ref pop_label(struct sonde__swift *p)
{
    swift_ref label = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    label = label != 0 ? label : sonde__swift_pop(p, SWIFT_FIRST_NODE);
    return label != 0 ? label : sonde__swift_fail(p);
}

/* Labels of the parameters, with FIRST for no label; without children if no parameter has one.
 * None: the type has no labels. */
static swift_ref pop_labels(struct sonde__swift *p, swift_ref type)
{
    swift_ref labels[SWIFT_LIST_MAX], list = parameters(p, type);
    bool tuple = sonde__swift_kind_of(p, list) == SWIFT_TUPLE_NODE, any = false;
    size_t count = tuple ? p->nodes[list].count : 1;
    if (!p->old_functions && sonde__swift_pop(p, SWIFT_EMPTY_LIST_NODE) != 0) {
        return sonde__swift_make(p, SWIFT_LABELS_NODE, 0, NULL);
    }
    if (list == 0 || count == 0 || count > SWIFT_LIST_MAX) {
        return 0;
    }
    if (p->old_functions && !tuple) {
        return sonde__swift_make(p, SWIFT_LABELS_NODE, 0, NULL);
    }
    for (size_t i = count; i-- > 0;) {
        labels[i] =
            p->old_functions ? label_of_element(p, sonde__swift_child(p, list, i)) : pop_label(p);
        any |= sonde__swift_kind_of(p, labels[i]) == SWIFT_IDENTIFIER_NODE;
    }
    return sonde__swift_make_all(p, SWIFT_LABELS_NODE, any ? count : 0, labels);
}

/* --- functions and variables --- */

swift_ref sonde__swift_function(struct sonde__swift *p)
{
    swift_ref children[5] = {0};
    swift_ref signature = sonde__swift_pop(p, SWIFT_SIGNATURE_NODE);
    swift_ref type = sonde__swift_function_type(p, " ");
    swift_ref generic[2] = {signature, type};
    children[SWIFT_OF_LABELS] = pop_labels(p, type);
    children[SWIFT_OF_TYPE] =
        signature != 0 ? sonde__swift_make_all(p, SWIFT_GENERIC_TYPE_NODE, 2, generic) : type;
    children[SWIFT_OF_NAME] = sonde__swift_pop_use(p, SWIFT_DECL);
    children[SWIFT_OF_CONTEXT] = sonde__swift_pop_context(p);
    return children[SWIFT_OF_NAME] == 0 ? sonde__swift_fail(p)
                                        : entity(p, SWIFT_FUNCTION_NODE, NULL, children);
}

static swift_ref named(struct sonde__swift *p, enum sonde__swift_kind kind)
{
    swift_ref children[5] = {0};
    children[SWIFT_OF_TYPE] = sonde__swift_pop_type(p);
    children[SWIFT_OF_LABELS] = pop_labels(p, children[SWIFT_OF_TYPE]);
    children[SWIFT_OF_NAME] = sonde__swift_pop_use(p, SWIFT_DECL);
    children[SWIFT_OF_CONTEXT] = sonde__swift_pop_context(p);
    return children[SWIFT_OF_TYPE] == 0 || children[SWIFT_OF_NAME] == 0
               ? sonde__swift_fail(p)
               : entity(p, kind, NULL, children);
}

/* The accessor that follows, of `storage`; `p`: the storage itself. */
static swift_ref accessor(struct sonde__swift *p, swift_ref storage)
{
    static const struct {
        const char *code, *name;
    } names[] = {
        {"m", "materializeForSet"},
        {"s", "setter"},
        {"g", "getter"},
        {"G", "getter"},
        {"w", "willset"},
        {"W", "didset"},
        {"r", "read"},
        {"y", "read2"},
        {"M", "modify"},
        {"x", "modify2"},
        {"i", "init"},
        {"b", "borrow"},
        {"z", "mutate"},
        {"aO", "owningMutableAddressor"},
        {"ao", "nativeOwningMutableAddressor"},
        {"aP", "nativePinningMutableAddressor"},
        {"au", "unsafeMutableAddressor"},
        {"lO", "owningAddressor"},
        {"lo", "nativeOwningAddressor"},
        {"lp", "nativePinningAddressor"},
        {"lu", "unsafeAddressor"},
    };
    if (sonde__swift_skip(p, 'p')) {
        return storage;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i].code);
        if ((size_t)(p->end - p->in) >= length && memcmp(p->in, names[i].code, length) == 0) {
            swift_ref children[5] = {storage};
            p->in += length;
            return entity(p, SWIFT_ACCESSOR_NODE, names[i].name, children);
        }
    }
    return sonde__swift_fail(p);
}

swift_ref sonde__swift_variable(struct sonde__swift *p)
{
    return accessor(p, named(p, SWIFT_VARIABLE_NODE));
}

swift_ref sonde__swift_subscript(struct sonde__swift *p)
{
    swift_ref children[5] = {0};
    children[SWIFT_OF_PRIVATE] = sonde__swift_pop(p, SWIFT_PRIVATE_NAME_NODE);
    children[SWIFT_OF_TYPE] = sonde__swift_pop_type(p);
    children[SWIFT_OF_LABELS] = pop_labels(p, children[SWIFT_OF_TYPE]);
    children[SWIFT_OF_CONTEXT] = sonde__swift_pop_context(p);
    return children[SWIFT_OF_TYPE] == 0
               ? sonde__swift_fail(p)
               : accessor(p, entity(p, SWIFT_SUBSCRIPT_NODE, "subscript", children));
}

/* --- after `f` --- */

struct function_entity {
    char code;
    char operands; /* 0, t: type and perhaps a private name, i: index, b: index and type */
    uint8_t kind;
    const char *text, *of_struct; /* of_struct null: as text */
};

static const struct function_entity function_entities[] = {
    {'D', 0, SWIFT_DESTRUCTOR_NODE, "__deallocating_deinit", "deinit"},
    {'d', 0, SWIFT_DESTRUCTOR_NODE, "deinit", NULL},
    {'Z', 0, SWIFT_DESTRUCTOR_NODE, "__isolated_deallocating_deinit", "deinit"},
    {'E', 0, SWIFT_DESTRUCTOR_NODE, "__ivar_destroyer", NULL},
    {'e', 0, SWIFT_DESTRUCTOR_NODE, "__ivar_initializer", NULL},
    {'i', 0, SWIFT_INITIALIZER_NODE, "variable initialization expression", NULL},
    {'P', 0, SWIFT_INITIALIZER_NODE, "property wrapper backing initializer", NULL},
    {'F', 0, SWIFT_INITIALIZER_NODE, "property wrapped field init accessor", NULL},
    {'W', 0, SWIFT_INITIALIZER_NODE, "property wrapper init from projected value", NULL},
    {'A', 'i', SWIFT_INITIALIZER_NODE, "default argument ", NULL},
    {'U', 'b', SWIFT_CLOSURE_NODE, "closure #", NULL},
    {'u', 'b', SWIFT_CLOSURE_NODE, "implicit closure #", NULL},
    {'C', 't', SWIFT_ALLOCATOR_NODE, "__allocating_init", "init"},
    {'c', 't', SWIFT_CONSTRUCTOR_NODE, "init", NULL},
};

static swift_ref function_entity(struct sonde__swift *p, const struct function_entity *row)
{
    swift_ref children[5] = {0};
    int32_t index = row->operands == 'i' || row->operands == 'b' ? sonde__swift_index(p) : 0;
    bool typed = row->operands == 't' || row->operands == 'b';
    if (row->operands == 't') {
        children[SWIFT_OF_PRIVATE] = sonde__swift_pop(p, SWIFT_PRIVATE_NAME_NODE);
    }
    children[SWIFT_OF_TYPE] = typed ? sonde__swift_pop_type(p) : 0;
    if (row->operands == 't') {
        children[SWIFT_OF_LABELS] = pop_labels(p, children[SWIFT_OF_TYPE]);
    }
    children[SWIFT_OF_CONTEXT] = sonde__swift_pop_context(p);
    if (index < 0 || (typed && children[SWIFT_OF_TYPE] == 0)) {
        return sonde__swift_fail(p);
    }
    bool class = sonde__swift_kind_of(p, children[SWIFT_OF_CONTEXT]) == SWIFT_CLASS_NODE;
    swift_ref ref = entity(p, (enum sonde__swift_kind)row->kind,
                           row->of_struct != NULL && !class ? row->of_struct : row->text, children);
    sonde__swift_at(p, ref)->number = (uint32_t)index + (row->operands == 'b');
    return ref;
}

swift_ref sonde__swift_function_entity(struct sonde__swift *p)
{
    char c = sonde__swift_next(p);
    for (size_t i = 0; i < sizeof function_entities / sizeof function_entities[0]; i++) {
        if (function_entities[i].code == c) {
            return function_entity(p, &function_entities[i]);
        }
    }
    return c == 'm'   ? named(p, SWIFT_MACRO_NODE)
           : c == 'p' ? named(p, SWIFT_PARAMETER_DECL_NODE)
           : c == 'M' ? sonde__swift_macro_expansion(p)
                      : sonde__swift_fail(p);
}

/* `fMX`: where a macro that is in no declaration was expanded */
static swift_ref macro_place(struct sonde__swift *p)
{
    int32_t line = sonde__swift_index(p), column = sonde__swift_index(p);
    swift_ref file = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    const swift_ref children[4] = {sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE), file,
                                   sonde__swift_number(p, SWIFT_NUMBER_NODE, (uint32_t)line),
                                   sonde__swift_number(p, SWIFT_NUMBER_NODE, (uint32_t)column)};
    return line < 0 || column < 0 ? sonde__swift_fail(p)
                                  : sonde__swift_make_all(p, SWIFT_MACRO_PLACE_NODE, 4, children);
}

/* The macro's name is in the place of labels. */
swift_ref sonde__swift_macro_expansion(struct sonde__swift *p)
{
    static const char codes[] = "armpceqbfu";
    static const char *const texts[] = {"accessor macro @",
                                        "memberAttribute macro @",
                                        "member macro @",
                                        "peer macro @",
                                        "conformance macro @",
                                        "extension macro @",
                                        "preamble macro @",
                                        "body macro @",
                                        "freestanding macro expansion #",
                                        "unique name #"};
    swift_ref children[5] = {0};
    char c = sonde__swift_next(p);
    const char *row = c == '\0' ? NULL : strchr(codes, c);
    if (c == 'X') {
        return macro_place(p);
    }
    if (row == NULL) {
        return sonde__swift_fail(p);
    }
    bool attached = c != 'f' && c != 'u';
    swift_ref macro = sonde__swift_pop(p, SWIFT_IDENTIFIER_NODE);
    children[SWIFT_OF_NAME] = attached ? sonde__swift_pop_use(p, SWIFT_DECL) : macro;
    children[SWIFT_OF_LABELS] = attached ? macro : 0;
    children[SWIFT_OF_PRIVATE] = c == 'f' ? sonde__swift_pop(p, SWIFT_PRIVATE_NAME_NODE) : 0;
    children[SWIFT_OF_CONTEXT] = sonde__swift_pop_context(p);
    int32_t index = sonde__swift_index(p);
    if (index < 0 || macro == 0 || children[SWIFT_OF_NAME] == 0) {
        return sonde__swift_fail(p);
    }
    swift_ref ref = entity(p, SWIFT_MACRO_EXPANSION_NODE, texts[row - codes], children);
    sonde__swift_at(p, ref)->number = (uint32_t)index + 1;
    return ref;
}
