// SPDX-License-Identifier: Apache-2.0
#include "cli_report.h"
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

struct writer {
    struct types_print *print;
    struct sonde__json json;
    struct sonde__report_out out;
};

static void begin(struct writer *w, struct types_print *print, const char *asked)
{
    w->print = print;
    sonde__cli_json_begin(&w->json, &w->out);
    sonde__json_object(&w->json, NULL);
    sonde__json_string(&w->json, "asked", asked);
}

static void end(struct writer *w)
{
    sonde__json_close(&w->json);
    sonde__report_out_flush(&w->out);
}

static void put_type(struct writer *w, const char *key, struct sonde__type_ref ref)
{
    char *text = sonde__mem_alloc(TYPES_PRINT_TEXT);
    (void)types_print_ok(w->print, text == NULL ? SONDE_MEMORY
                                                : sonde__type_text(w->print->types, ref, NULL, text,
                                                                   TYPES_PRINT_TEXT));
    sonde__json_string(&w->json, key, text != NULL ? text : "");
    sonde__mem_free(text);
}

static void put_size(struct writer *w, struct sonde__type_ref ref)
{
    uint64_t size;
    if (sonde__type_size(w->print->types, ref, &size)) {
        sonde__json_uint(&w->json, "size", size);
    }
}

static void put_place(struct writer *w, struct sonde__type_ref ref)
{
    char path[TYPES_PRINT_PATH];
    uint32_t line;
    if (sonde__type_declared_at(w->print->types, ref, path, sizeof path, &line)) {
        sonde__json_string(&w->json, "file", path);
        sonde__json_uint(&w->json, "line", line);
    }
}

static void put_flag(struct writer *w, const char *key, bool is_set)
{
    if (is_set) {
        sonde__json_bool(&w->json, key, true);
    }
}

/* The end of a list. */
static void close_list(struct writer *w, enum sonde_status status)
{
    (void)types_print_ok(w->print, status == SONDE_ABSENT ? SONDE_OK : status);
    sonde__json_close(&w->json);
}

static bool is_compound(enum sonde__type_kind kind)
{
    return kind == SONDE__TYPE_STRUCT || kind == SONDE__TYPE_CLASS || kind == SONDE__TYPE_UNION;
}

static void put_members(struct writer *w, struct sonde__type_ref ref, uint64_t base,
                        unsigned depth);

static void put_member(struct writer *w, const struct sonde__type_member *member, uint64_t base,
                       unsigned depth)
{
    struct sonde__type own = {0};
    uint64_t offset = base + member->bit_offset;
    sonde__json_object(&w->json, NULL);
    sonde__json_string(&w->json, "name", member->name);
    put_type(w, "type", member->type);
    if (member->has_offset) {
        sonde__json_uint(&w->json, "offset", offset / 8);
    }
    if (member->bit_size != 0) {
        sonde__json_uint(&w->json, "bit_offset", offset % 8);
        sonde__json_uint(&w->json, "bit_size", member->bit_size);
    }
    put_size(w, member->type);
    put_flag(w, "base", member->is_base);
    put_flag(w, "virtual", member->is_virtual);
    put_flag(w, "variant", member->in_variant);
    if (types_print_ok(w->print, sonde__type_get(w->print->types, member->type, &own)) &&
        is_compound(own.kind) && !own.declared_only && !member->is_base && member->has_offset &&
        depth < TYPES_PRINT_DEPTH && (own.name == NULL || w->print->expand)) {
        put_members(w, own.self, offset, depth + 1);
    }
    sonde__json_close(&w->json);
}

enum { MEMBERS_MAX = 100000 };

static void put_members(struct writer *w, struct sonde__type_ref ref, uint64_t base, unsigned depth)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_member member;
    enum sonde_status status = sonde__type_children(w->print->types, ref, &cursor);
    sonde__json_array(&w->json, "members");
    while (status == SONDE_OK) {
        status = sonde__type_next_member(w->print->types, &cursor, &member);
        if (status == SONDE_OK && w->print->lines++ >= MEMBERS_MAX) {
            status = SONDE_LIMIT;
        }
        if (status == SONDE_OK) {
            put_member(w, &member, base, depth);
        }
    }
    close_list(w, status);
}

static void put_enumerators(struct writer *w, struct sonde__type_ref ref)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_enumerator enumerator;
    enum sonde_status status = sonde__type_children(w->print->types, ref, &cursor);
    sonde__json_array(&w->json, "enumerators");
    while (status == SONDE_OK) {
        status = sonde__type_next_enumerator(w->print->types, &cursor, &enumerator);
        if (status == SONDE_OK) {
            sonde__json_object(&w->json, NULL);
            sonde__json_string(&w->json, "name", enumerator.name);
            sonde__json_int(&w->json, "value", enumerator.value);
            sonde__json_close(&w->json);
        }
    }
    close_list(w, status);
}

void types_json_type(struct types_print *print, const struct sonde__type *type, const char *asked)
{
    char name[TYPES_PRINT_PATH];
    struct sonde__type whole = *type;
    struct writer w;
    begin(&w, print, asked);
    (void)types_print_ok(print,
                         sonde__type_qualified_name(print->types, type->self, name, sizeof name));
    sonde__json_string(&w.json, "kind", kind_name(type->kind));
    sonde__json_string(&w.json, "name", name);
    put_type(&w, "type", type->self);
    put_size(&w, type->self);
    put_place(&w, type->self);
    if (type->kind == SONDE__TYPE_TYPEDEF) {
        put_type(&w, "target", type->target);
        (void)types_print_ok(print, sonde__type_strip(print->types, type->self, &whole));
    }
    if (whole.declared_only) {
        put_flag(&w, "declared_only", true);
    } else if (is_compound(whole.kind)) {
        put_members(&w, whole.self, 0, 0);
    } else if (whole.kind == SONDE__TYPE_ENUM) {
        put_enumerators(&w, whole.self);
    }
    end(&w);
}

static void put_capture(struct writer *w, const struct sonde__types_capture *capture)
{
    sonde__json_object(&w->json, NULL);
    sonde__json_string(&w->json, "name", capture->name);
    put_type(w, "type", capture->type);
    if (capture->is_stored) {
        sonde__json_uint(&w->json, "offset", capture->offset);
    }
    if (capture->size != 0) {
        sonde__json_uint(&w->json, "size", capture->size);
    }
    if (capture->is_byref) {
        sonde__json_object(&w->json, "byref");
        sonde__json_uint(&w->json, "offset", capture->variable_offset);
        sonde__json_uint(&w->json, "size", capture->variable_size);
        sonde__json_uint(&w->json, "box_size", capture->box_size);
        sonde__json_close(&w->json);
    }
    if (capture->line != 0) {
        sonde__json_uint(&w->json, "line", capture->line);
    }
    put_flag(w, "constant", !capture->is_stored);
    sonde__json_close(&w->json);
}

static void put_block(struct writer *w, const struct sonde__type_function *function)
{
    struct sonde__types_block block;
    struct sonde__types_captures captures = {0};
    struct sonde__types_capture capture;
    enum sonde_status status = sonde__types_block_of(w->print->types, function, &block);
    if (status != SONDE_OK) {
        (void)types_print_ok(w->print, status == SONDE_ABSENT ? SONDE_OK : status);
        return;
    }
    sonde__json_object(&w->json, "block");
    sonde__json_uint(&w->json, "size", block.literal.size);
    sonde__json_array(&w->json, "captures");
    while (status == SONDE_OK) {
        status = sonde__types_next_capture(w->print->types, &block, &captures, &capture);
        if (status == SONDE_OK) {
            put_capture(w, &capture);
        }
    }
    close_list(w, status);
    sonde__json_close(&w->json);
}

static void put_parameters(struct writer *w, const struct sonde__type_function *function)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_parameter parameter;
    enum sonde_status status =
        sonde__type_children(w->print->types, function->declaration, &cursor);
    sonde__json_array(&w->json, "parameters");
    while (status == SONDE_OK) {
        status = sonde__type_next_parameter(w->print->types, &cursor, &parameter);
        if (status != SONDE_OK) {
            break;
        }
        sonde__json_object(&w->json, NULL);
        sonde__json_string(&w->json, "name", parameter.is_rest ? "..." : parameter.name);
        if (!parameter.is_rest) {
            put_type(w, "type", parameter.type);
            put_size(w, parameter.type);
        }
        put_flag(w, "implicit", parameter.is_artificial);
        sonde__json_close(&w->json);
    }
    close_list(w, status);
}

void types_json_function(struct types_print *print, const struct sonde__type_function *function,
                         const char *asked)
{
    char *text = sonde__mem_alloc(TYPES_PRINT_TEXT);
    struct writer w;
    if (text != NULL) {
        (void)types_print_ok(
            print, sonde__type_function_text(print->types, function, text, TYPES_PRINT_TEXT));
    }
    begin(&w, print, asked);
    sonde__json_string(&w.json, "kind", "function");
    sonde__json_string(&w.json, "name", function->name);
    sonde__json_string(&w.json, "linkage_name", function->linkage);
    sonde__json_string(&w.json, "declaration", text != NULL ? text : "");
    sonde__mem_free(text);
    sonde__json_uint(&w.json, "low", function->low);
    sonde__json_uint(&w.json, "high", function->high);
    put_type(&w, "returns", function->returns);
    put_place(&w, function->self);
    put_parameters(&w, function);
    put_block(&w, function);
    end(&w);
}
