// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>

#include "cli_print.h"
#include "mem_heap.h"
#include "types_block.h"
#include "types_print.h"

static const char *kind_name(enum sonde__type_kind kind)
{
    static const char *const names[] = {
        "void",           "base",    "struct",   "class",     "union",
        "enum",           "typedef", "pointer",  "reference", "rvalue_reference",
        "member_pointer", "const",   "volatile", "restrict",  "atomic",
        "qualified",      "array",   "function", "unknown",
    };
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

static void print_text(struct types_print *print, struct sonde__type_ref ref)
{
    char *text = sonde__mem_alloc(TYPES_PRINT_TEXT);
    if (text == NULL ||
        !types_print_ok(print, sonde__type_text(print->types, ref, NULL, text, TYPES_PRINT_TEXT))) {
        (void)types_print_ok(print, text == NULL ? SONDE_MEMORY : SONDE_OK);
    }
    sonde__cli_print_json_string(stdout, text != NULL ? text : "");
    sonde__mem_free(text);
}

static void print_place(struct types_print *print, struct sonde__type_ref ref)
{
    char path[TYPES_PRINT_PATH];
    uint32_t line;
    if (sonde__type_declared_at(print->types, ref, path, sizeof path, &line)) {
        printf(", \"file\": ");
        sonde__cli_print_json_string(stdout, path);
        printf(", \"line\": %" PRIu32, line);
    }
}

static void print_name(const char *name)
{
    if (name == NULL) {
        printf("null");
    } else {
        sonde__cli_print_json_string(stdout, name);
    }
}

static bool is_compound(enum sonde__type_kind kind)
{
    return kind == SONDE__TYPE_STRUCT || kind == SONDE__TYPE_CLASS || kind == SONDE__TYPE_UNION;
}

static void print_members(struct types_print *print, struct sonde__type_ref ref, uint64_t base,
                          unsigned depth);

static void print_member(struct types_print *print, const struct sonde__type_member *member,
                         uint64_t base, unsigned depth)
{
    struct sonde__type own = {0};
    uint64_t size;
    uint64_t offset = base + member->bit_offset;
    printf("{\"name\": ");
    print_name(member->name);
    printf(", \"type\": ");
    print_text(print, member->type);
    if (member->has_offset) {
        printf(", \"offset\": %" PRIu64, offset / 8);
    }
    if (member->bit_size != 0) {
        printf(", \"bit_offset\": %" PRIu64 ", \"bit_size\": %" PRIu32, offset % 8,
               member->bit_size);
    }
    if (sonde__type_size(print->types, member->type, &size)) {
        printf(", \"size\": %" PRIu64, size);
    }
    printf("%s%s%s", member->is_base ? ", \"base\": true" : "",
           member->is_virtual ? ", \"virtual\": true" : "",
           member->in_variant ? ", \"variant\": true" : "");
    if (types_print_ok(print, sonde__type_get(print->types, member->type, &own)) &&
        is_compound(own.kind) && !own.declared_only && !member->is_base && member->has_offset &&
        depth < TYPES_PRINT_DEPTH && (own.name == NULL || print->expand)) {
        printf(", ");
        print_members(print, own.self, offset, depth + 1);
    }
    putchar('}');
}

enum { MEMBERS_MAX = 100000 };

static void print_members(struct types_print *print, struct sonde__type_ref ref, uint64_t base,
                          unsigned depth)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_member member;
    enum sonde_status status = sonde__type_children(print->types, ref, &cursor);
    bool any = false;
    printf("\"members\": [");
    while (status == SONDE_OK) {
        status = sonde__type_next_member(print->types, &cursor, &member);
        if (status == SONDE_OK && print->lines++ >= MEMBERS_MAX) {
            status = SONDE_LIMIT;
        }
        if (status == SONDE_OK) {
            printf("%s", any ? ", " : "");
            print_member(print, &member, base, depth);
            any = true;
        }
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
    putchar(']');
}

static void print_enumerators(struct types_print *print, struct sonde__type_ref ref)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_enumerator enumerator;
    enum sonde_status status = sonde__type_children(print->types, ref, &cursor);
    bool any = false;
    printf(", \"enumerators\": [");
    while (status == SONDE_OK) {
        status = sonde__type_next_enumerator(print->types, &cursor, &enumerator);
        if (status == SONDE_OK) {
            printf("%s{\"name\": ", any ? ", " : "");
            sonde__cli_print_json_string(stdout, enumerator.name);
            printf(", \"value\": %" PRId64 "}", enumerator.value);
            any = true;
        }
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
    putchar(']');
}

void types_json_type(struct types_print *print, const struct sonde__type *type, const char *asked)
{
    char name[TYPES_PRINT_PATH];
    struct sonde__type whole = *type;
    uint64_t size;
    (void)types_print_ok(print,
                         sonde__type_qualified_name(print->types, type->self, name, sizeof name));
    printf("{\"asked\": ");
    sonde__cli_print_json_string(stdout, asked);
    printf(", \"kind\": \"%s\", \"name\": ", kind_name(type->kind));
    sonde__cli_print_json_string(stdout, name);
    printf(", \"type\": ");
    print_text(print, type->self);
    if (sonde__type_size(print->types, type->self, &size)) {
        printf(", \"size\": %" PRIu64, size);
    }
    print_place(print, type->self);
    if (type->kind == SONDE__TYPE_TYPEDEF) {
        printf(", \"target\": ");
        print_text(print, type->target);
        (void)types_print_ok(print, sonde__type_strip(print->types, type->self, &whole));
    }
    if (whole.declared_only) {
        printf(", \"declared_only\": true");
    } else if (is_compound(whole.kind)) {
        printf(", ");
        print_members(print, whole.self, 0, 0);
    } else if (whole.kind == SONDE__TYPE_ENUM) {
        print_enumerators(print, whole.self);
    }
    putchar('}');
}

static void print_capture(struct types_print *print, const struct sonde__types_capture *capture)
{
    printf("{\"name\": ");
    print_name(capture->name);
    printf(", \"type\": ");
    print_text(print, capture->type);
    if (capture->is_stored) {
        printf(", \"offset\": %" PRIu64, capture->offset);
    }
    if (capture->size != 0) {
        printf(", \"size\": %" PRIu64, capture->size);
    }
    if (capture->is_byref) {
        printf(", \"byref\": {\"offset\": %" PRIu64 ", \"size\": %" PRIu64
               ", \"box_size\": %" PRIu64 "}",
               capture->variable_offset, capture->variable_size, capture->box_size);
    }
    if (capture->line != 0) {
        printf(", \"line\": %" PRIu64, capture->line);
    }
    printf("%s}", capture->is_stored ? "" : ", \"constant\": true");
}

static void print_block(struct types_print *print, const struct sonde__type_function *function)
{
    struct sonde__types_block block;
    struct sonde__types_captures captures = {0};
    struct sonde__types_capture capture;
    enum sonde_status status = sonde__types_block_of(print->types, function, &block);
    bool any = false;
    if (status != SONDE_OK) {
        (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
        return;
    }
    printf(", \"block\": {\"size\": %" PRIu64 ", \"captures\": [", block.literal.size);
    while (status == SONDE_OK) {
        status = sonde__types_next_capture(print->types, &block, &captures, &capture);
        if (status == SONDE_OK) {
            printf("%s", any ? ", " : "");
            any = true;
            print_capture(print, &capture);
        }
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
    printf("]}");
}

void types_json_function(struct types_print *print, const struct sonde__type_function *function,
                         const char *asked)
{
    char *text = sonde__mem_alloc(TYPES_PRINT_TEXT);
    struct sonde__type_cursor cursor;
    struct sonde__type_parameter parameter;
    bool any = false;
    if (text != NULL) {
        (void)types_print_ok(
            print, sonde__type_function_text(print->types, function, text, TYPES_PRINT_TEXT));
    }
    printf("{\"asked\": ");
    sonde__cli_print_json_string(stdout, asked);
    printf(", \"kind\": \"function\", \"name\": ");
    print_name(function->name);
    printf(", \"linkage_name\": ");
    print_name(function->linkage);
    printf(", \"declaration\": ");
    sonde__cli_print_json_string(stdout, text != NULL ? text : "");
    sonde__mem_free(text);
    printf(", \"low\": %" PRIu64 ", \"high\": %" PRIu64 ", \"returns\": ", function->low,
           function->high);
    print_text(print, function->returns);
    print_place(print, function->self);
    printf(", \"parameters\": [");
    enum sonde_status status = sonde__type_children(print->types, function->declaration, &cursor);
    while (status == SONDE_OK) {
        uint64_t size;
        status = sonde__type_next_parameter(print->types, &cursor, &parameter);
        if (status != SONDE_OK) {
            break;
        }
        printf("%s{\"name\": ", any ? ", " : "");
        any = true;
        print_name(parameter.is_rest ? "..." : parameter.name);
        if (!parameter.is_rest) {
            printf(", \"type\": ");
            print_text(print, parameter.type);
            if (sonde__type_size(print->types, parameter.type, &size)) {
                printf(", \"size\": %" PRIu64, size);
            }
        }
        printf("%s}", parameter.is_artificial ? ", \"implicit\": true" : "");
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
    putchar(']');
    print_block(print, function);
    putchar('}');
}
