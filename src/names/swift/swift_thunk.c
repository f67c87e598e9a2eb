// SPDX-License-Identifier: Apache-2.0
/* Thunks and witnesses that take a varying number of operands: after `T`, `W` and `w`. */
#include <stdio.h>
#include <string.h>

#include "swift_specialization.h"

/* An attribute with a text of its own. */
static swift_ref attribute(struct sonde__swift *p, const char *text, size_t length)
{
    char *kept = sonde__swift_text(p, length);
    if (kept == NULL) {
        return 0;
    }
    memcpy(kept, text, length);
    return sonde__swift_leaf(p, SWIFT_ATTRIBUTE_NODE, kept, length);
}

/* `Tv`: data that the compiler moved out of a function */
static swift_ref outlined_variable(struct sonde__swift *p)
{
    char text[64];
    int32_t index = sonde__swift_index(p);
    bool read_only = index >= 0 && sonde__swift_skip(p, 'r');
    int length = snprintf(text, sizeof text, "outlined %s #%d of ",
                          read_only ? "read-only object" : "variable", (int)index);
    return index < 0 ? sonde__swift_fail(p) : attribute(p, text, (size_t)length);
}

/* `Te`: a call of an Objective-C method with conversions of its arguments */
static swift_ref outlined_method(struct sonde__swift *p)
{
    char text[160];
    const char *begin = p->in;
    size_t length = 0, left = (size_t)(p->end - p->in);
    while (length < left && begin[length] != '_') {
        if (strchr(length == 0 ? "opam" : "nbg", begin[length]) == NULL || length == 100) {
            return sonde__swift_fail(p);
        }
        length++;
    }
    if (length == 0 || length == left) {
        return sonde__swift_fail(p);
    }
    p->in += length + 1;
    int used =
        snprintf(text, sizeof text, "outlined bridged method (%.*s) of ", (int)length, begin);
    return attribute(p, text, (size_t)used);
}

static swift_ref words(struct sonde__swift *p, const char *text)
{
    return sonde__swift_word_leaf(p, SWIFT_IDENTIFIER_NODE, text);
}

/* Types from the top of the stack, into the end of `types` of SWIFT_LIST_MAX; returns the first. */
static size_t pop_types(struct sonde__swift *p, swift_ref *types)
{
    size_t begin = SWIFT_LIST_MAX;
    swift_ref type;
    while (begin > 8 && (type = sonde__swift_pop_type(p)) != 0) {
        types[--begin] = type;
    }
    return begin;
}

/* `TK`, `Tk`: functions of a key path. Popped: types, perhaps a signature, the declaration. */
static swift_ref key_path(struct sonde__swift *p, char code)
{
    swift_ref parts[SWIFT_LIST_MAX + 1];
    const char *text = code == 'K' ? "key path getter for " : "key path setter for ";
    if (p->end - p->in >= 2 && memcmp(p->in, "mu", 2) == 0) {
        text = "key path unapplied method ";
        p->in += 2;
    } else if (p->end - p->in >= 2 && memcmp(p->in, "MA", 2) == 0) {
        text = "key path applied method ";
        p->in += 2;
    }
    bool serialized = sonde__swift_skip(p, 'q');
    size_t begin = pop_types(p, parts), end = SWIFT_LIST_MAX;
    swift_ref signature = sonde__swift_pop(p, SWIFT_SIGNATURE_NODE);
    if (begin == end) {
        return sonde__swift_fail(p);
    }
    if (signature != 0) {
        parts[--begin] = signature;
    }
    parts[--begin] = words(p, " : ");
    parts[--begin] = sonde__swift_pop_any(p);
    if (serialized) {
        parts[end++] = words(p, ", serialized");
    }
    return sonde__swift_prefixed(p, text, end - begin, parts + begin);
}

/* `TH`, `Th`: functions of the indices in a key path */
static swift_ref key_path_index(struct sonde__swift *p, char code)
{
    swift_ref types[SWIFT_LIST_MAX], parts[3];
    size_t count = 0;
    bool serialized = sonde__swift_skip(p, 'q');
    swift_ref signature = sonde__swift_pop(p, SWIFT_SIGNATURE_NODE);
    size_t begin = pop_types(p, types);
    if (signature != 0) {
        parts[count++] = signature;
    }
    parts[count++] =
        sonde__swift_make_all(p, SWIFT_TUPLE_NODE, SWIFT_LIST_MAX - begin, types + begin);
    if (serialized) {
        parts[count++] = words(p, ", serialized");
    }
    return sonde__swift_prefixed(p,
                                 code == 'H' ? "key path index equality operator for "
                                             : "key path index hash operator for ",
                                 count, parts);
}

static swift_ref partial_apply(struct sonde__swift *p, const char *text)
{
    return sonde__swift_word_leaf(p, SWIFT_PARTIAL_APPLY_NODE, text);
}

/* `WZ`, `Wz`: initialization of global variables at their first use */
static swift_ref once(struct sonde__swift *p, const char *text)
{
    swift_ref names[SWIFT_LIST_MAX], list;
    size_t begin = SWIFT_LIST_MAX;
    while (begin > 0 && sonde__swift_pop(p, SWIFT_FIRST_NODE) != 0) {
        names[--begin] = sonde__swift_pop_use(p, SWIFT_DECL);
    }
    size_t count = SWIFT_LIST_MAX - begin;
    if (count == 0 || sonde__swift_pop_context(p) == 0) {
        return sonde__swift_fail(p);
    }
    list = count == 1 ? names[begin]
                      : sonde__swift_make_all(p, SWIFT_TUPLE_NODE, count, names + begin);
    return sonde__swift_prefixed(p, text, 1, &list);
}

static swift_ref witness(struct sonde__swift *p)
{
    return sonde__swift_skip(p, 'Z')   ? once(p, "one-time initialization function for ")
           : sonde__swift_skip(p, 'z') ? once(p, "one-time initialization token for ")
           : sonde__swift_skip(p, 'J') ? sonde__swift_differentiability(p)
                                       : 0;
}

/* p->in is behind a `T` or `W`. */
swift_ref sonde__swift_thunk(struct sonde__swift *p)
{
    if (p->in[-1] == 'W') {
        return witness(p);
    }
    char c = sonde__swift_peek(p);
    if (c == '\0' || strchr("AaevKkHhgGBtsipPfJ", c) == NULL) {
        return 0;
    }
    p->in++;
    switch (c) {
    case 'A':
        return partial_apply(p, "partial apply forwarder");
    case 'a':
        return partial_apply(p, "partial apply ObjC forwarder");
    case 'e':
        return outlined_method(p);
    case 'v':
        return outlined_variable(p);
    case 'K':
    case 'k':
        return key_path(p, c);
    case 'H':
    case 'h':
        return key_path_index(p, c);
    case 'f':
        return sonde__swift_signature_specialization(p);
    case 'J':
        return sonde__swift_derivative(p);
    default:
        return sonde__swift_specialization(p);
    }
}

/* `w` */
swift_ref sonde__swift_value_witness(struct sonde__swift *p)
{
    static const struct {
        char code[3];
        const char *name;
    } names[] = {
        {"al", "allocateBuffer value witness for "},
        {"ca", "assignWithCopy value witness for "},
        {"ta", "assignWithTake value witness for "},
        {"de", "deallocateBuffer value witness for "},
        {"xx", "destroy value witness for "},
        {"XX", "destroyBuffer value witness for "},
        {"Xx", "destroyArray value witness for "},
        {"CP", "initializeBufferWithCopyOfBuffer value witness for "},
        {"Cp", "initializeBufferWithCopy value witness for "},
        {"cp", "initializeWithCopy value witness for "},
        {"TK", "initializeBufferWithTakeOfBuffer value witness for "},
        {"Tk", "initializeBufferWithTake value witness for "},
        {"tk", "initializeWithTake value witness for "},
        {"pr", "projectBuffer value witness for "},
        {"xs", "storeExtraInhabitant value witness for "},
        {"xg", "getExtraInhabitantIndex value witness for "},
        {"Cc", "initializeArrayWithCopy value witness for "},
        {"Tt", "initializeArrayWithTakeFrontToBack value witness for "},
        {"tT", "initializeArrayWithTakeBackToFront value witness for "},
        {"ug", "getEnumTag value witness for "},
        {"up", "destructiveProjectEnumData value witness for "},
        {"ui", "destructiveInjectEnumTag value witness for "},
        {"et", "getEnumTagSinglePayload value witness for "},
        {"st", "storeEnumTagSinglePayload value witness for "},
    };
    swift_ref type = sonde__swift_pop_type(p);
    for (size_t i = 0; p->end - p->in >= 2 && i < sizeof names / sizeof names[0]; i++) {
        if (memcmp(p->in, names[i].code, 2) == 0) {
            p->in += 2;
            return sonde__swift_prefixed(p, names[i].name, 1, &type);
        }
    }
    return sonde__swift_fail(p);
}
