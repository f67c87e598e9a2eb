// SPDX-License-Identifier: Apache-2.0
/* Declarations in C. A declarator grows outwards from the name: pointers before it, dimensions and
 * parameters after it, with parentheses around a pointer that these apply to. */
#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "mem_heap.h"
#include "types_data.h"

/* --- growing text --- */

static char *make_room(struct types_text *text, size_t more)
{
    if (text->length + more + 1 > TYPES_TEXT_MAX) {
        text->status = SONDE_LIMIT;
        return NULL;
    }
    if (text->length + more + 1 > text->capacity) {
        size_t capacity = (text->length + more + 1) * 2;
        char *data = sonde__mem_resize_array(text->data, capacity, 1);
        if (data == NULL) {
            text->status = SONDE_MEMORY;
            return NULL;
        }
        text->data = data;
        text->capacity = capacity;
    }
    return text->data;
}

void types_text_add(struct types_text *text, const char *more)
{
    size_t size = strlen(more);
    if (make_room(text, size) != NULL) {
        memcpy(text->data + text->length, more, size + 1);
        text->length += size;
    }
}

void types_text_insert(struct types_text *text, const char *more)
{
    size_t size = strlen(more);
    if (make_room(text, size) != NULL) {
        memmove(text->data + size, text->data, text->length);
        memcpy(text->data, more, size);
        text->length += size;
        text->data[text->length] = '\0';
    }
}

void types_text_done(struct types_text *text)
{
    sonde__mem_free(text->data);
    text->data = NULL;
}

static void note(struct types_text *text, enum sonde_status status)
{
    text->status = text->status == SONDE_OK ? status : text->status;
}

/* Copy to the caller's buffer, truncated if necessary; frees the text. */
static enum sonde_status deliver(struct types_text *text, char *ret_text, size_t size)
{
    const char *from = types_text_string(text);
    size_t length = text->data != NULL ? text->length : 0;
    if (size == 0) {
        note(text, SONDE_LIMIT);
    } else {
        if (length >= size) {
            length = size - 1;
            note(text, SONDE_LIMIT);
        }
        memcpy(ret_text, from, length);
        ret_text[length] = '\0';
    }
    types_text_done(text);
    return text->status;
}

/* --- names --- */

static void add_scopes(struct sonde__types *t, struct sonde__type_ref ref, struct types_text *text)
{
    uint32_t scope;
    enum sonde_status status = types_scope_of(t, ref, &scope);
    if (status != SONDE_OK) {
        note(text, status);
        return;
    }
    struct types_text names = {0};
    const struct types_unit *u = &t->units[ref.unit];
    for (int hop = 0; scope != UINT32_MAX && hop < TYPES_HOPS_MAX; hop++) {
        const char *name = u->scopes[scope].name;
        if (name[0] == '\0') {
            break; /* inside a function */
        }
        types_text_insert(&names, "::");
        types_text_insert(&names, name);
        scope = u->scopes[scope].parent;
    }
    types_text_add(text, types_text_string(&names));
    note(text, names.status);
    types_text_done(&names);
}

static void add_qualified(struct sonde__types *t, const struct sonde__type *type,
                          struct types_text *text)
{
    struct types_die die;
    struct sonde__type_ref at = type->self;
    if (type->name == NULL) {
        return;
    }
    if (!type->is_plain && type->kind != SONDE__TYPE_BASE) {
        /* a class defined outside of its scope */
        if (types_die(t, at, &die) == SONDE_OK && die.specification.die != 0) {
            at = die.specification;
        }
        add_scopes(t, at, text);
    }
    types_text_add(text, type->name);
}

enum sonde_status sonde__type_qualified_name(struct sonde__types *t, struct sonde__type_ref ref,
                                             char *ret_text, size_t size)
{
    struct types_text text = {0};
    struct sonde__type type = {0};
    enum sonde_status status = sonde__type_get(t, ref, &type);
    note(&text, status);
    if (status == SONDE_OK) {
        add_qualified(t, &type, &text);
    }
    return deliver(&text, ret_text, size);
}

static const char *keyword(enum sonde__type_kind kind)
{
    return kind == SONDE__TYPE_UNION   ? "union"
           : kind == SONDE__TYPE_ENUM  ? "enum"
           : kind == SONDE__TYPE_CLASS ? "class"
                                       : "struct";
}

/* The leftmost type of a declaration. */
static void add_base(struct sonde__types *t, const struct sonde__type *type,
                     struct types_text *text)
{
    switch (type->kind) {
    case SONDE__TYPE_VOID:
        types_text_add(text, "void");
        return;
    case SONDE__TYPE_STRUCT:
    case SONDE__TYPE_CLASS:
    case SONDE__TYPE_UNION:
    case SONDE__TYPE_ENUM:
        if (type->name == NULL) {
            types_text_add(text, keyword(type->kind));
            types_text_add(text, " {...}");
            return;
        }
        if (type->is_plain) {
            types_text_add(text, keyword(type->kind));
            types_text_add(text, " ");
        }
        break;
    default:
        break;
    }
    if (type->name == NULL) {
        types_text_add(text, "<unknown type>");
    } else {
        add_qualified(t, type, text);
    }
}

/* --- declarators --- */

enum { CONST = 1, VOLATILE = 2, RESTRICT = 4, ATOMIC = 8 };

struct declarator {
    struct types_text head, tail; /* before and after the name */
    unsigned qualifiers;          /* for the next step */
    bool pointer_last;            /* a pointer was added last */
    bool method;                  /* ... to a member function, which has `this` */
};

static void add_qualifiers(unsigned qualifiers, struct types_text *text)
{
    types_text_add(text, (qualifiers & CONST) != 0 ? "const " : "");
    types_text_add(text, (qualifiers & VOLATILE) != 0 ? "volatile " : "");
    types_text_add(text, (qualifiers & ATOMIC) != 0 ? "_Atomic " : "");
    types_text_add(text, (qualifiers & RESTRICT) != 0 ? "restrict " : "");
}

/* mark: "*", "&", … followed by its qualifiers. has_name: a word follows. */
static void add_pointer(struct declarator *d, const char *mark, bool has_name)
{
    struct types_text words = {0};
    add_qualifiers(d->qualifiers, &words);
    size_t length = words.length;
    if (length > 0 && d->head.length == 0 && !has_name) {
        words.data[length - 1] = '\0';
    }
    types_text_insert(&d->head, types_text_string(&words));
    types_text_insert(&d->head, mark);
    note(&d->head, words.status);
    types_text_done(&words);
    d->qualifiers = 0;
    d->pointer_last = true;
}

static void close_pointer(struct declarator *d)
{
    if (d->pointer_last) {
        types_text_insert(&d->head, "(");
        types_text_add(&d->tail, ")");
    }
    d->pointer_last = false;
}

/* GCC's vectors are written as arrays. */
static void add_vector(struct sonde__types *t, const struct sonde__type *type, struct declarator *d)
{
    char text[64];
    uint64_t size;
    bool known = sonde__type_size(t, type->self, &size);
    snprintf(text, sizeof text, " __attribute__((vector_size(%llu)))",
             known ? (unsigned long long)size : 0);
    close_pointer(d);
    types_text_add(&d->tail, text);
}

static void add_dimensions(struct sonde__types *t, struct sonde__type_ref array,
                           struct declarator *d)
{
    struct sonde__type_cursor cursor;
    uint64_t count;
    char number[32];
    bool any = false;
    enum sonde_status status = sonde__type_children(t, array, &cursor);
    close_pointer(d);
    while (status == SONDE_OK) {
        status = sonde__type_next_dimension(t, &cursor, &count);
        if (status != SONDE_OK) {
            break;
        }
        any = true;
        snprintf(number, sizeof number, "[%llu]", (unsigned long long)count);
        types_text_add(&d->tail, count == SONDE__TYPE_UNBOUNDED ? "[]" : number);
        if (d->tail.status != SONDE_OK) {
            return;
        }
    }
    types_text_add(&d->tail, any ? "" : "[]");
    note(&d->tail, status == SONDE_ABSENT ? SONDE_OK : status);
}

static void declare(struct sonde__types *t, struct sonde__type_ref ref, const char *name,
                    unsigned depth, struct types_text *text);

void types_add_parameters(struct sonde__types *t, struct sonde__type_ref function, bool prototyped,
                          bool method, unsigned depth, struct types_text *text)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_parameter parameter;
    enum sonde_status status = sonde__type_children(t, function, &cursor);
    bool any = false;
    types_text_add(text, "(");
    while (status == SONDE_OK && text->status == SONDE_OK) {
        status = sonde__type_next_parameter(t, &cursor, &parameter);
        if (status != SONDE_OK || (method && !any && parameter.is_artificial)) {
            method = false;
            continue;
        }
        types_text_add(text, any ? ", " : "");
        if (parameter.is_rest && !any && !prototyped) {
            break; /* C without a prototype */
        }
        any = true;
        if (parameter.is_rest) {
            types_text_add(text, "...");
        } else {
            declare(t, parameter.type, parameter.name, depth + 1, text);
        }
    }
    types_text_add(text, any || !prototyped ? ")" : "void)");
    note(text, status == SONDE_ABSENT ? SONDE_OK : status);
}

/* clang describes a block type as a structure that contains a pointer to its function. */
static bool is_block(struct sonde__types *t, struct sonde__type_ref pointed,
                     struct sonde__type_ref *ret_function)
{
    struct types_die die;
    struct sonde__type type;
    struct sonde__type_cursor cursor;
    struct sonde__type_member member;
    if (pointed.die == 0 || types_die(t, pointed, &die) != SONDE_OK || !die.apple_block ||
        sonde__type_children(t, pointed, &cursor) != SONDE_OK) {
        return false;
    }
    while (sonde__type_next_member(t, &cursor, &member) == SONDE_OK) {
        if (member.name != NULL && strcmp(member.name, "__FuncPtr") == 0 &&
            sonde__type_get(t, member.type, &type) == SONDE_OK &&
            type.kind == SONDE__TYPE_POINTER) {
            *ret_function = type.target;
            return true;
        }
    }
    return false;
}

static void add_function(struct sonde__types *t, struct sonde__type_ref function,
                         struct declarator *d, unsigned depth)
{
    struct types_die die;
    bool prototyped = types_die(t, function, &die) == SONDE_OK &&
                      (die.prototyped || !types_is_c(t, function.unit));
    close_pointer(d);
    d->qualifiers = 0; /* a method type's qualifiers belong to `this` */
    types_add_parameters(t, function, prototyped, d->method, depth, &d->tail);
    d->method = false;
}

static void add_member_pointer(struct sonde__types *t, const struct sonde__type *type,
                               struct declarator *d, bool has_name)
{
    struct types_text mark = {0};
    struct sonde__type holder = {0};
    if (sonde__type_get(t, type->holder, &holder) == SONDE_OK) {
        add_qualified(t, &holder, &mark);
    }
    types_text_add(&mark, "::*");
    add_pointer(d, types_text_string(&mark), has_name);
    types_text_done(&mark);
    d->method = true;
}

/* Take one step outwards from the name; false: `type` is the leftmost one. */
static bool step(struct sonde__types *t, const struct sonde__type *type, struct declarator *d,
                 bool has_name, unsigned depth, struct sonde__type_ref *ref)
{
    struct sonde__type_ref function;
    *ref = type->target;
    switch (type->kind) {
    case SONDE__TYPE_CONST:
        d->qualifiers |= CONST;
        return true;
    case SONDE__TYPE_VOLATILE:
        d->qualifiers |= VOLATILE;
        return true;
    case SONDE__TYPE_RESTRICT:
        d->qualifiers |= RESTRICT;
        return true;
    case SONDE__TYPE_ATOMIC:
        d->qualifiers |= ATOMIC;
        return true;
    case SONDE__TYPE_TRANSPARENT:
        return true;
    case SONDE__TYPE_POINTER:
        if (is_block(t, type->target, &function)) {
            add_pointer(d, "^", has_name);
            *ref = function;
        } else {
            add_pointer(d, "*", has_name);
        }
        return true;
    case SONDE__TYPE_REFERENCE:
        add_pointer(d, "&", has_name);
        return true;
    case SONDE__TYPE_RVALUE_REFERENCE:
        add_pointer(d, "&&", has_name);
        return true;
    case SONDE__TYPE_MEMBER_POINTER:
        add_member_pointer(t, type, d, has_name);
        return true;
    case SONDE__TYPE_ARRAY:
        if (type->is_vector) {
            add_vector(t, type, d);
        } else {
            add_dimensions(t, type->self, d);
        }
        return true;
    case SONDE__TYPE_FUNCTION:
        add_function(t, type->self, d, depth);
        return true;
    default:
        return false;
    }
}

static void declare(struct sonde__types *t, struct sonde__type_ref ref, const char *name,
                    unsigned depth, struct types_text *text)
{
    struct declarator d = {0};
    struct sonde__type type = {0};
    bool has_name = name != NULL && name[0] != '\0';
    enum sonde_status status = depth > TYPES_DEPTH_MAX ? SONDE_LIMIT : SONDE_OK;
    for (int hop = 0; status == SONDE_OK; hop++) {
        status = hop < TYPES_HOPS_MAX ? sonde__type_get(t, ref, &type) : SONDE_CORRUPT;
        if (status != SONDE_OK || !step(t, &type, &d, has_name, depth, &ref)) {
            break;
        }
    }
    add_qualifiers(d.qualifiers, text);
    if (status == SONDE_OK) {
        add_base(t, &type, text);
    } else {
        types_text_add(text, "...");
        note(text, status);
    }
    if (d.head.length + d.tail.length > 0 || has_name) {
        types_text_add(text, " ");
    }
    types_text_add(text, types_text_string(&d.head));
    if (has_name) {
        types_text_add(text, name);
    }
    types_text_add(text, types_text_string(&d.tail));
    note(text, d.head.status);
    note(text, d.tail.status);
    types_text_done(&d.head);
    types_text_done(&d.tail);
}

enum sonde_status sonde__type_text(struct sonde__types *t, struct sonde__type_ref ref,
                                   const char *name, char *ret_text, size_t size)
{
    struct types_text text = {0};
    declare(t, ref, name, 0, &text);
    return deliver(&text, ret_text, size);
}

enum sonde_status sonde__type_function_text(struct sonde__types *t,
                                            const struct sonde__type_function *function,
                                            char *ret_text, size_t size)
{
    struct types_text whole = {0};
    struct types_text text = {0};
    struct types_die die;
    /* its name, with the classes and namespaces of its declaration */
    struct sonde__type_ref at = function->declaration;
    if (types_die(t, at, &die) == SONDE_OK && die.specification.die != 0) {
        at = die.specification;
    }
    if (!types_is_c(t, at.unit)) {
        add_scopes(t, at, &whole);
    }
    types_text_add(&whole, function->name != NULL      ? function->name
                           : function->linkage != NULL ? function->linkage
                                                       : "<unnamed>");
    bool prototyped = function->is_prototyped || !types_is_c(t, at.unit);
    types_add_parameters(t, function->declaration, prototyped, true, 0, &whole);
    declare(t, function->returns, types_text_string(&whole), 0, &text);
    note(&text, whole.status);
    types_text_done(&whole);
    return deliver(&text, ret_text, size);
}
