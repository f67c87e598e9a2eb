// SPDX-License-Identifier: Apache-2.0
/* Names of functions and files. */
#include "base_text.h"
#include "v8.h"

/* Names of a function by its scope. */
struct scope_names {
    uint64_t name, inferred; /* inferred: what it is assigned to; 0: none */
    const char *of_class; /* V8's name for code that sets the members of a class; null: it is not */
};

/* Such a function has no name, and is assigned to its class. Versions before 12 name it in its
 * scope. */
static const char *name_of_class_code(const struct v8 *v8, uint64_t flags)
{
    enum { KIND_AT = 17, KINDS = 32, MEMBERS = 24 };
    uint64_t kind = flags >> KIND_AT & (KINDS - 1), each = v8->layout.class_kinds;
    return kind < MEMBERS              ? NULL
           : kind < MEMBERS + each     ? "<instance_members_initializer>"
           : kind < MEMBERS + 2 * each ? "<static_initializer>"
                                       : NULL;
}

/* They are behind the names and properties of its variables. */
static struct scope_names names_by_scope(struct v8 *v8, uint64_t scope)
{
    enum { FLAGS = 8, LOCALS = 24, INLINE_MAX = 75, LOCALS_MAX = 1 << 20 };
    enum { HAS_CLASS = 1 << 10, VARIABLE = 3 << 12, HAS_INFERRED = 1 << 14 };
    uint64_t flags = sonde__v8_raw_word(v8, scope, FLAGS),
             count = sonde__v8_word(v8, scope, LOCALS);
    struct scope_names names = {.name = 0};
    if (!v8_is_small(count) || count >> 32 > LOCALS_MAX) {
        v8->is_unclear = true;
        return names;
    }
    flags = v8->layout.has_plain_flags ? (uint32_t)flags : flags >> 32;
    count >>= 32;
    uint64_t at = (uint64_t)v8->layout.of[V8_SCOPE_FIRST] + 1;
    at += (flags & 15) == v8->layout.function_scope + 1u; /* a module: the number of variables */
    at += (count < INLINE_MAX ? count : 1) + count;
    at += (flags & HAS_CLASS) != 0;
    names.of_class = name_of_class_code(v8, flags);
    if ((flags & VARIABLE) != 0) {
        names.name = sonde__v8_word(v8, scope, (int32_t)(8 * at));
        at += 2;
    }
    if ((flags & HAS_INFERRED) != 0) {
        names.inferred = sonde__v8_word(v8, scope, (int32_t)(8 * at));
    }
    return names;
}

/* The name that a function got when it was made (a computed one of a method): the one string among
 * its own words, behind those of all functions. 0: none. */
static uint64_t own_name(struct v8 *v8, uint64_t function)
{
    enum { BEHIND = 56 };
    const int32_t *of = v8->layout.of;
    uint64_t map = sonde__v8_word(v8, function, of[V8_MAP]);
    const uint8_t *words =
        v8_is_object(map) ? v8->at(v8->ctx, map - 1 + (uint64_t)of[V8_MAP_SIZE], 1) : NULL;
    int32_t size = words != NULL ? 8 * *words : 0;
    for (int32_t at = BEHIND; at < size && at < 2 * BEHIND; at += 8) {
        uint64_t word = sonde__v8_word(v8, function, at);
        if (sonde__v8_is_text(v8, word)) {
            return word;
        }
    }
    return 0;
}

/* A string's text; null: it has none, or it is no string. */
static const char *some_text(struct v8 *v8, uint64_t object)
{
    bool is_text = sonde__v8_is_text(v8, object);
    const char *text = is_text ? sonde__v8_text(v8, object) : NULL;
    v8->is_unclear |= is_text && text == NULL;
    return text != NULL && *text != '\0' ? text : NULL;
}

const char *sonde__v8_function_name(struct v8 *v8, uint64_t function, uint64_t shared,
                                    uint64_t script)
{
    uint64_t name = sonde__v8_word(v8, shared, v8->layout.of[V8_SHARED_NAME]);
    struct scope_names names = {.name = name};
    const char *text = NULL;
    if (v8_is(v8, name, V8_TYPE_SCOPE)) {
        names = names_by_scope(v8, name);
    } else {
        v8->is_unclear |= !v8_is_small(name) && !sonde__v8_is_text(v8, name);
    }
    if (names.of_class != NULL) {
        return names.of_class;
    }
    if ((text = some_text(v8, names.name)) == NULL &&
        (text = some_text(v8, own_name(v8, function))) == NULL) {
        text = some_text(v8, names.inferred);
    }
    uint64_t maker = sonde__v8_word(v8, script, v8->layout.of[V8_SCRIPT_EVAL]);
    return text != NULL ? text : v8_is(v8, maker, V8_TYPE_SHARED) ? "eval" : "<anonymous>";
}

static bool has_escape(const char *text)
{
    while (*text != '\0' && *text != '%') {
        text++;
    }
    return *text == '%';
}

const char *sonde__v8_file_name(struct v8 *v8, uint64_t script)
{
    static const char scheme[] = "file://";
    uint64_t name = sonde__v8_word(v8, script, v8->layout.of[V8_SCRIPT_NAME]);
    const char *text = sonde__v8_is_text(v8, name) ? sonde__v8_text(v8, name) : "";
    bool is_url = text != NULL && sonde__base_starts_with(text, scheme) && !has_escape(text);
    return is_url ? text + sizeof scheme - 1 : text;
}
