// SPDX-License-Identifier: Apache-2.0
#include "types_print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base_text.h"
#include "cli_print.h"
#include "mem_heap.h"
#include "types_block.h"

/* Limit: nested structures can give any number of lines, and nobody reads more. */
enum { LINES_MAX = 100000, CODE_COLUMNS = 50 };

bool types_print_ok(struct types_print *print, enum sonde_status status)
{
    if (status == SONDE_OK) {
        return true;
    }
    if (!print->incomplete) {
        print->why = status == SONDE_LIMIT    ? "too long, or nested too deeply: it was cut"
                     : status == SONDE_MEMORY ? "out of memory"
                                              : "malformed debug information: something is missing";
    }
    print->incomplete = true;
    return false;
}

static void print_indent(unsigned depth)
{
    printf("%*s", (int)depth * 4, "");
}

/* Print code, and a comment at a fixed column. */
static void print_code(struct types_print *print, unsigned depth, const char *code,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
static void print_code(struct types_print *print, unsigned depth, const char *code,
                       const char *format, ...)
{
    int column = (int)(4 * (size_t)depth + strlen(code));
    va_list list;
    print_indent(depth);
    sonde__cli_print_visible(stdout, code);
    if (format != NULL) {
        printf("%*s ", column < CODE_COLUMNS ? CODE_COLUMNS - column : 0, "");
        va_start(list, format);
        vprintf(format, list);
        va_end(list);
    }
    putchar('\n');
    print->lines++;
}

/* The caller has left room for it. */
static void end_code(char *text)
{
    memcpy(text + strlen(text), ";", 2);
}

static bool is_compound(enum sonde__type_kind kind)
{
    return kind == SONDE__TYPE_STRUCT || kind == SONDE__TYPE_CLASS || kind == SONDE__TYPE_UNION;
}

static const char *keyword(enum sonde__type_kind kind)
{
    return kind == SONDE__TYPE_CLASS ? "class" : kind == SONDE__TYPE_UNION ? "union" : "struct";
}

/* --- members --- */

/* The bytes of an object in use; the gaps are holes. */
struct layout {
    uint64_t end; /* end in bits of what was printed so far */
    uint64_t holes, hole_bits, members;
    bool unknown; /* place or size of a member is unknown */
};

static void print_hole(struct types_print *print, unsigned depth, uint64_t from, uint64_t to)
{
    char text[80];
    if ((to - from) % 8 == 0 && from % 8 == 0) {
        snprintf(text, sizeof text, "/* hole: %" PRIu64 " byte%s at %" PRIu64 " */",
                 (to - from) / 8, to - from == 8 ? "" : "s", from / 8);
    } else {
        snprintf(text, sizeof text, "/* hole: %" PRIu64 " bit%s at %" PRIu64 ":%" PRIu64 " */",
                 to - from, to - from == 1 ? "" : "s", from / 8, from % 8);
    }
    print_code(print, depth, text, NULL);
}

static void print_members(struct types_print *print, const struct sonde__type *type, uint64_t base,
                          unsigned depth, struct layout *layout);

static void print_totals(const struct sonde__type *type, const struct layout *layout)
{
    uint64_t bits = type->size * 8;
    printf("/* size: %" PRIu64 ", members: %" PRIu64, type->size, layout->members);
    if (layout->holes != 0) {
        printf(", holes: %" PRIu64 " (", layout->holes);
        if (layout->hole_bits >= 8) {
            printf("%" PRIu64 " byte%s", layout->hole_bits / 8, layout->hole_bits < 16 ? "" : "s");
        }
        if (layout->hole_bits % 8 != 0) {
            printf("%s%" PRIu64 " bit%s", layout->hole_bits >= 8 ? " and " : "",
                   layout->hole_bits % 8, layout->hole_bits % 8 == 1 ? "" : "s");
        }
        putchar(')');
    }
    if (type->kind != SONDE__TYPE_UNION && !layout->unknown && bits > layout->end &&
        layout->members != 0) {
        printf(", padding: %" PRIu64, (bits - layout->end) / 8);
        if ((bits - layout->end) % 8 != 0) {
            printf(" and %" PRIu64 " bits", (bits - layout->end) % 8);
        }
    }
    printf(" */");
}

/* Print the members of a member's structure. name: of the member, or null. */
static void print_within(struct types_print *print, const struct sonde__type *type,
                         const char *name, uint64_t offset, unsigned depth)
{
    char text[TYPES_PRINT_PATH];
    struct layout layout = {.end = offset};
    bool named = type->name != NULL;
    snprintf(text, sizeof text, "%s%s%s {", keyword(type->kind), named ? " " : "",
             named ? type->name : "");
    print_code(print, depth, text, NULL);
    print_members(print, type, offset, depth + 1, &layout);
    snprintf(text, sizeof text, "}%s%s;", name != NULL ? " " : "", name != NULL ? name : "");
    print_code(print, depth, text, "/* %5" PRIu64 " %5" PRIu64 " */", offset / 8, type->size);
}

static void print_place(struct types_print *print, const struct sonde__type_member *member,
                        const char *code, uint64_t offset, bool has_size, uint64_t size,
                        unsigned depth)
{
    const char *variant = member->in_variant ? " of a variant" : "";
    if (!member->has_offset) {
        print_code(print, depth, code, "/* known at run time */");
    } else if (member->bit_size != 0) {
        print_code(print, depth, code, "/* %5" PRIu64 ":%-2" PRIu64 " %2u bit%s%s */", offset / 8,
                   offset % 8, member->bit_size, member->bit_size == 1 ? "" : "s", variant);
    } else if (has_size) {
        print_code(print, depth, code, "/* %5" PRIu64 " %5" PRIu64 "%s */", offset / 8, size,
                   variant);
    } else {
        print_code(print, depth, code, "/* %5" PRIu64 "     ?%s */", offset / 8, variant);
    }
}

static void print_member(struct types_print *print, const struct sonde__type_member *member,
                         uint64_t offset, unsigned depth, bool has_size, uint64_t size)
{
    char *text = sonde__mem_alloc(TYPES_PRINT_TEXT);
    struct sonde__type own = {0};
    if (text == NULL) {
        (void)types_print_ok(print, SONDE_MEMORY);
        return;
    }
    bool direct = types_print_ok(print, sonde__type_get(print->types, member->type, &own)) &&
                  is_compound(own.kind) && own.has_size && !own.declared_only;
    if (direct && member->has_offset && depth < TYPES_PRINT_DEPTH && !member->is_base &&
        (own.name == NULL || print->expand)) {
        print_within(print, &own, member->name, offset, depth);
        sonde__mem_free(text);
        return;
    }
    if (member->is_base) {
        size_t at = (size_t)snprintf(text, TYPES_PRINT_TEXT, "/* %sbase */ ",
                                     member->is_virtual ? "virtual " : "");
        (void)types_print_ok(print, sonde__type_text(print->types, member->type, NULL, text + at,
                                                     TYPES_PRINT_TEXT - at - 16));
    } else {
        (void)types_print_ok(print, sonde__type_text(print->types, member->type, member->name, text,
                                                     TYPES_PRINT_TEXT - 32));
    }
    size_t length = strlen(text);
    if (member->bit_size != 0) {
        length += (size_t)snprintf(text + length, 16, ":%u", member->bit_size);
    }
    memcpy(text + length, ";", 2);
    print_place(print, member, text, offset, has_size, size, depth);
    sonde__mem_free(text);
}

/* base: offset in bits within the object that is printed. */
static void print_members(struct types_print *print, const struct sonde__type *type, uint64_t base,
                          unsigned depth, struct layout *layout)
{
    struct sonde__type_cursor cursor;
    struct sonde__type_member member;
    enum sonde_status status = sonde__type_children(print->types, type->self, &cursor);
    bool is_union = type->kind == SONDE__TYPE_UNION;
    while (status == SONDE_OK && print->lines < LINES_MAX) {
        status = sonde__type_next_member(print->types, &cursor, &member);
        if (status != SONDE_OK) {
            break;
        }
        uint64_t size = 0;
        uint64_t offset = base + member.bit_offset;
        bool has_size = sonde__type_size(print->types, member.type, &size);
        layout->members++;
        if (!is_union && !layout->unknown && member.has_offset && !member.in_variant &&
            offset > layout->end) {
            print_hole(print, depth, layout->end, offset);
            layout->holes++;
            layout->hole_bits += offset - layout->end;
        }
        layout->unknown = layout->unknown || !member.has_offset ||
                          (!has_size && member.bit_size == 0) || member.in_variant;
        print_member(print, &member, offset, depth, has_size, size);
        uint64_t end = offset + (member.bit_size != 0 ? member.bit_size : size * 8);
        layout->end = end > layout->end ? end : layout->end;
    }
    if (print->lines >= LINES_MAX) {
        status = SONDE_LIMIT;
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
}

/* --- types --- */

/* "FILE:LINE" or "". */
static void place_text(struct types_print *print, struct sonde__type_ref ref, char *text,
                       size_t size)
{
    char path[TYPES_PRINT_PATH];
    uint32_t line;
    text[0] = '\0';
    if (sonde__type_declared_at(print->types, ref, path, sizeof path, &line)) {
        snprintf(text, size, "%.200s:%" PRIu32, sonde__base_file_name(path), line);
    }
}

static void print_place_of(struct types_print *print, unsigned depth, const char *code,
                           struct sonde__type_ref ref)
{
    char place[256];
    place_text(print, ref, place, sizeof place);
    print_code(print, depth, code, place[0] != '\0' ? "/* %s */" : NULL, place);
}

static void print_compound(struct types_print *print, const struct sonde__type *type,
                           const char *before, const char *after)
{
    char name[TYPES_PRINT_PATH - 64], text[TYPES_PRINT_PATH];
    struct layout layout = {0};
    (void)types_print_ok(print,
                         sonde__type_qualified_name(print->types, type->self, name, sizeof name));
    snprintf(text, sizeof text, "%s%s%s%s", before, keyword(type->kind), name[0] != '\0' ? " " : "",
             name);
    if (type->declared_only) {
        size_t length = strlen(text);
        memcpy(text + length, ";", 2);
        print_code(print, 0, text, "/* declared only: its definition is not here */");
        return;
    }
    size_t length = strlen(text);
    memcpy(text + length, " {", 3);
    print_place_of(print, 0, text, type->self);
    print_members(print, type, 0, 1, &layout);
    printf("}%s%s; ", after[0] != '\0' ? " " : "", after);
    int column = (int)(strlen(after) + 3);
    printf("%*s", column < CODE_COLUMNS ? CODE_COLUMNS + 1 - column - (after[0] != '\0') : 0, "");
    print_totals(type, &layout);
    putchar('\n');
}

static void print_enum(struct types_print *print, const struct sonde__type *type,
                       const char *before, const char *after)
{
    char name[TYPES_PRINT_PATH - 64], text[TYPES_PRINT_PATH];
    struct sonde__type_cursor cursor;
    struct sonde__type_enumerator enumerator;
    uint64_t size;
    (void)types_print_ok(print,
                         sonde__type_qualified_name(print->types, type->self, name, sizeof name));
    snprintf(text, sizeof text, "%senum%s%s {", before, name[0] != '\0' ? " " : "", name);
    print_place_of(print, 0, text, type->self);
    enum sonde_status status = sonde__type_children(print->types, type->self, &cursor);
    while (status == SONDE_OK && print->lines < LINES_MAX) {
        status = sonde__type_next_enumerator(print->types, &cursor, &enumerator);
        if (status == SONDE_OK) {
            snprintf(text, sizeof text, "%s = %" PRId64 ",", enumerator.name, enumerator.value);
            print_code(print, 1, text, NULL);
        }
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK
                                : status == SONDE_OK   ? SONDE_LIMIT
                                                       : status);
    snprintf(text, sizeof text, "}%s%s;", after[0] != '\0' ? " " : "", after);
    if (sonde__type_size(print->types, type->self, &size)) {
        print_code(print, 0, text, "/* size: %" PRIu64 " */", size);
    } else {
        print_code(print, 0, text, NULL);
    }
}

static void print_typedef(struct types_print *print, const struct sonde__type *type)
{
    char name[TYPES_PRINT_PATH - 64], text[TYPES_PRINT_PATH];
    struct sonde__type target = {0}, whole = {0};
    uint64_t size;
    (void)types_print_ok(print,
                         sonde__type_qualified_name(print->types, type->self, name, sizeof name));
    (void)types_print_ok(print, sonde__type_get(print->types, type->target, &target));
    if (target.name == NULL && is_compound(target.kind)) {
        print_compound(print, &target, "typedef ", name);
        return;
    }
    if (target.name == NULL && target.kind == SONDE__TYPE_ENUM) {
        print_enum(print, &target, "typedef ", name);
        return;
    }
    memcpy(text, "typedef ", 9);
    (void)types_print_ok(
        print, sonde__type_text(print->types, type->target, name, text + 8, sizeof text - 16));
    end_code(text);
    if (sonde__type_size(print->types, type->target, &size)) {
        char place[256];
        place_text(print, type->self, place, sizeof place);
        print_code(print, 0, text, "/* size: %" PRIu64 "%s%s */", size,
                   place[0] != '\0' ? ", " : "", place);
    } else {
        print_place_of(print, 0, text, type->self);
    }
    if (sonde__type_strip(print->types, type->target, &whole) == SONDE_OK &&
        is_compound(whole.kind) && !whole.declared_only) {
        print_compound(print, &whole, "", "");
    }
}

void types_print_type(struct types_print *print, const struct sonde__type *type)
{
    char text[TYPES_PRINT_PATH];
    uint64_t size;
    if (is_compound(type->kind)) {
        print_compound(print, type, "", "");
    } else if (type->kind == SONDE__TYPE_ENUM) {
        print_enum(print, type, "", "");
    } else if (type->kind == SONDE__TYPE_TYPEDEF) {
        print_typedef(print, type);
    } else {
        (void)types_print_ok(
            print, sonde__type_text(print->types, type->self, NULL, text, sizeof text - 8));
        end_code(text);
        bool known = sonde__type_size(print->types, type->self, &size);
        print_code(print, 0, text, known ? "/* size: %" PRIu64 " */" : NULL, known ? size : 0);
    }
}

void types_print_line(struct types_print *print, const struct sonde__type *type)
{
    char name[TYPES_PRINT_PATH], place[256];
    (void)types_print_ok(print,
                         sonde__type_qualified_name(print->types, type->self, name, sizeof name));
    place_text(print, type->self, place, sizeof place);
    print_code(print, 0, name, "/* size: %" PRIu64 "%s%s */", type->size,
               place[0] != '\0' ? ", " : "", place);
}

/* --- functions --- */

static void print_capture(struct types_print *print, const struct sonde__types_capture *capture,
                          char *text)
{
    static const char shared[] = "__block ";
    size_t at = capture->is_byref ? sizeof shared - 1 : 0;
    memcpy(text, shared, at);
    (void)types_print_ok(print, sonde__type_text(print->types, capture->type, capture->name,
                                                 text + at, TYPES_PRINT_TEXT - at - 8));
    end_code(text);
    if (capture->is_byref) {
        print_code(print, 1, text, "/* %5" PRIu64 " %5" PRIu64 ", variable at %" PRIu64 " */",
                   capture->offset, capture->size, capture->variable_offset);
    } else if (capture->is_stored) {
        print_code(print, 1, text, "/* %5" PRIu64 " %5" PRIu64 " */", capture->offset,
                   capture->size);
    } else {
        print_code(print, 1, text, "/* a constant: in the code */");
    }
}

/* For a block's function: the block's captures. */
static void print_block(struct types_print *print, const struct sonde__type_function *function,
                        char *text)
{
    struct sonde__types_block block;
    struct sonde__types_captures captures = {0};
    struct sonde__types_capture capture;
    enum sonde_status status = sonde__types_block_of(print->types, function, &block);
    if (status == SONDE_OK) {
        print_code(print, 0, "captures of the block:", "/* size: %" PRIu64 " */",
                   block.literal.size);
    }
    while (status == SONDE_OK) {
        status = sonde__types_next_capture(print->types, &block, &captures, &capture);
        if (status == SONDE_OK) {
            print_capture(print, &capture, text);
        }
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
}

void types_print_function(struct types_print *print, const struct sonde__type_function *function)
{
    char *text = sonde__mem_alloc(TYPES_PRINT_TEXT);
    struct sonde__type_cursor cursor;
    struct sonde__type_parameter parameter;
    char place[256];
    if (text == NULL) {
        (void)types_print_ok(print, SONDE_MEMORY);
        return;
    }
    (void)types_print_ok(
        print, sonde__type_function_text(print->types, function, text, TYPES_PRINT_TEXT - 8));
    end_code(text);
    place_text(print, function->self, place, sizeof place);
    print_code(print, 0, text, "/* %s%s0x%" PRIx64 " to 0x%" PRIx64 " */", place,
               place[0] != '\0' ? ", " : "", function->low, function->high);
    enum sonde_status status = sonde__type_children(print->types, function->declaration, &cursor);
    while (status == SONDE_OK) {
        uint64_t size;
        status = sonde__type_next_parameter(print->types, &cursor, &parameter);
        if (status != SONDE_OK || parameter.is_rest) {
            continue;
        }
        (void)types_print_ok(print, sonde__type_text(print->types, parameter.type, parameter.name,
                                                     text, TYPES_PRINT_TEXT - 8));
        end_code(text);
        bool known = sonde__type_size(print->types, parameter.type, &size);
        print_code(print, 1, text, known ? "/* size: %" PRIu64 "%s */" : NULL, known ? size : 0,
                   parameter.is_artificial ? ", implicit" : "");
    }
    (void)types_print_ok(print, status == SONDE_ABSENT ? SONDE_OK : status);
    print_block(print, function, text);
    sonde__mem_free(text);
}
