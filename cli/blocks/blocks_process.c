// SPDX-License-Identifier: Apache-2.0
#include "blocks_process.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/block.h>

#include "base_text.h"
#include "blocks_places.h"
#include "cli_print.h"
#include "cli_report.h"
#include "heap_view.h"
#include "mem_heap.h"
#include "mem_sort.h"

enum { BODY_BYTES = 1 << 16, SOURCES = SONDE_BLOCK_BY_DWARF + 1, DEPTH_MAX = 2 };

/* A run of the sorted list: blocks with the same function and descriptor. */
struct kind {
    const struct sonde__blockheap_item *items;
    size_t count;
};

static int by_kind(const void *a, const void *b)
{
    const struct sonde__blockheap_item *x = a, *y = b;
    return SONDE__ORDER3(x, y, invoke, descriptor, address);
}

/* The most frequent first. */
static int by_count(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    return x->count != y->count ? SONDE__ORDER(y, x, count) : by_kind(x->items, y->items);
}

static void type_of(struct heap_view *view, uint64_t descriptor, uint32_t flags, char *type,
                    size_t capacity)
{
    const struct sonde__block_memory *memory = sonde__blockheap_memory(view->heap);
    static char encoding[SONDE__BLOCK_TEXT_MAX];
    struct sonde__block_desc desc;
    struct sonde__text text;
    size_t length;
    sonde__base_text_init(&text, type, capacity);
    if (sonde__block_desc_read(memory, descriptor, flags, &desc) == SONDE_OK &&
        desc.signature != 0 &&
        sonde__block_read_text(memory, desc.signature, encoding, sizeof encoding, &length)) {
        (void)sonde__block_signature(encoding, length, NULL, &text);
    }
}

static void print_known(const struct sonde__blockheap_capture *capture)
{
    const char *comma = "  ";
    for (unsigned i = 0; i < SOURCES; i++) {
        if ((capture->sources >> i & 1) != 0) {
            printf("%s%s", comma, sonde_block_source_text(i));
            comma = ", ";
        }
    }
    if (capture->denied != SONDE_BLOCK_UNKNOWN) {
        printf("; %s: %s", sonde_block_source_text(capture->denied_by),
               sonde_block_kind_text(capture->denied));
    }
}

enum { DECLARATION_BYTES = 280 };

/* The variable's declaration; "" without debug information, and for a part of an object. */
static const char *declaration_of(const struct sonde__blockheap_capture *capture, bool in_box)
{
    static char text[DECLARATION_BYTES];
    text[0] = '\0';
    if (capture->variable == NULL || capture->inside) {
        return text;
    }
    if (in_box) { /* of the variable itself */
        snprintf(text, sizeof text, "%s",
                 capture->variable->declaration != NULL ? capture->variable->declaration : "");
    } else {
        (void)blocks_declaration(capture->variable, capture->kind, text, sizeof text);
    }
    return text;
}

static bool is_reference(uint8_t kind)
{
    return kind == SONDE_BLOCK_STRONG || kind == SONDE_BLOCK_WEAK ||
           kind == SONDE_BLOCK_UNRETAINED || kind == SONDE_BLOCK_BLOCK;
}

static void print_bytes(const uint8_t *bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size && i < 32; i++) {
        printf("%s%02x", i % 4 == 0 && i != 0 ? " " : "", bytes[i]);
    }
    printf(size > 32 ? " ..." : "");
}

static void print_real(const uint8_t *bytes, uint32_t size)
{
    float single;
    double real;
    if (size == sizeof single) {
        memcpy(&single, bytes, sizeof single);
        printf("%.9g", (double)single);
    } else {
        memcpy(&real, bytes, sizeof real);
        printf("%.17g", real);
    }
}

/* Print data by type: "5", "0x5621b4ddfeb0", "1.5"; as bytes if the type is unknown or no number.
 * in_box: the variable is in a box. */
static void print_data(const struct sonde__blockheap_capture *capture, const uint8_t *bytes,
                       uint32_t size, bool in_box)
{
    const struct sonde__block_member *variable = capture->variable;
    uint64_t word = 0;
    bool is_whole = variable != NULL && !capture->inside &&
                    (size == 1 || size == 2 || size == 4 || size == 8) &&
                    size == (in_box ? variable->variable_size : variable->size);
    unsigned value = is_whole ? variable->value : SONDE__BLOCK_VALUE_BYTES;
    int64_t number;
    if (is_whole && !in_box && variable->form == SONDE__BLOCK_MEMBER_BYREF) {
        value = SONDE__BLOCK_VALUE_ADDRESS; /* the variable's, in a block that does not escape */
    }
    memcpy(&word, bytes, size < sizeof word ? size : sizeof word);
    number =
        (int64_t)(word << (64 - 8 * (size < 8 ? size : 8))) >> (64 - 8 * (size < 8 ? size : 8));
    if (value == SONDE__BLOCK_VALUE_SIGNED) {
        printf("%" PRId64, number);
    } else if (value == SONDE__BLOCK_VALUE_UNSIGNED) {
        printf("%" PRIu64, word);
    } else if (value == SONDE__BLOCK_VALUE_CHARACTER) {
        printf("%" PRId64, number);
        if (number >= ' ' && number <= '~') {
            printf(" '%c'", (char)number);
        }
    } else if (value == SONDE__BLOCK_VALUE_BOOLEAN && word <= 1) {
        printf("%s", word != 0 ? "true" : "false");
    } else if (value == SONDE__BLOCK_VALUE_REAL && size >= 4) {
        print_real(bytes, size);
    } else if (value == SONDE__BLOCK_VALUE_ADDRESS && size == 8) {
        printf("0x%" PRIx64, word);
    } else {
        print_bytes(bytes, size);
    }
}

static void print_captures(struct heap_view *view, const struct sonde__blockheap_captures *captures,
                           const uint8_t *body, uint32_t size, unsigned depth);

/* Print the value of a __block variable. */
static void print_box(struct heap_view *view, const struct sonde__block_member *variable,
                      uint64_t address, unsigned depth)
{
    const struct sonde__block_memory *memory = sonde__blockheap_memory(view->heap);
    struct sonde__blockheap_captures *captures = sonde__mem_alloc_zeroed(sizeof *captures);
    struct sonde__block_byref byref;
    uint8_t body[256];
    uint32_t size;
    if (captures == NULL ||
        sonde__blockheap_byref(view->heap, address, variable, &byref, captures) != SONDE_OK) {
        printf("0x%" PRIx64 ", which is no box\n", address);
    } else {
        size = byref.size < sizeof body ? byref.size : (uint32_t)sizeof body;
        printf("box 0x%" PRIx64 "%s\n", byref.address, byref.is_heap ? "" : ", on a stack");
        if (memory->read(memory->ctx, byref.address, body, size)) {
            print_captures(view, captures, body, size, depth + 1);
        }
    }
    sonde__mem_free(captures);
}

/* body null: no single block is shown. */
static void print_captures(struct heap_view *view, const struct sonde__blockheap_captures *captures,
                           const uint8_t *body, uint32_t size, unsigned depth)
{
    for (uint32_t i = 0; i < captures->count; i++) {
        const struct sonde__blockheap_capture *capture = &captures->items[i];
        bool whole =
            body != NULL && capture->offset + (capture->size != 0 ? capture->size : 8) <= size;
        uint64_t value = 0;
        const char *declaration = declaration_of(capture, depth > 0);
        printf("%*s+%-5" PRIu32 "%s%-11s", (int)(4 + 4 * depth), "", capture->offset,
               capture->inside ? "  " : "", sonde_block_kind_text(capture->kind));
        if (declaration[0] != '\0') {
            printf("  ");
            sonde__cli_print_visible(stdout, declaration);
        }
        if (body == NULL) {
            print_known(capture);
            putchar('\n');
            continue;
        }
        if (whole && capture->offset + 8 <= size) {
            memcpy(&value, body + capture->offset, sizeof value);
        }
        printf(declaration[0] != '\0' ? " = " : "  ");
        if (whole && capture->kind == SONDE_BLOCK_BYREF && depth < DEPTH_MAX) {
            print_box(view, capture->variable, value, depth);
            continue;
        }
        if (whole && is_reference(capture->kind)) {
            heap_view_print_value(view, value, capture->owned);
        } else if (whole) {
            print_data(capture, body + capture->offset, capture->size != 0 ? capture->size : 8,
                       depth > 0);
        } else {
            printf("beyond what was read");
        }
        putchar('\n');
    }
    if (captures->problem != NULL) {
        printf("%*s%s\n", (int)(4 + 4 * depth), "", captures->problem);
    }
}

static void print_head(struct heap_view *view, const struct sonde__blockheap_item *item)
{
    static char type[SONDE__BLOCK_TEXT_MAX];
    putchar('\n');
    heap_view_print_function(view, item->invoke);
    heap_view_print_wrapped(view, item->address, item->size);
    type_of(view, item->descriptor, item->flags, type, sizeof type);
    printf("\n    ");
    sonde__cli_print_visible(stdout, type[0] != '\0' ? type : "type not known");
    putchar('\n');
}

static void print_kind(struct heap_view *view, const struct kind *kind)
{
    const struct sonde__blockheap_item *item = &kind->items[0];
    const struct sonde__blockheap_captures *captures =
        sonde__blockheap_captures(view->heap, item->descriptor, item->flags, item->invoke);
    print_head(view, item);
    printf("    %zu of %" PRIu32 " bytes, the first at 0x%" PRIx64 "\n", kind->count, item->size,
           item->address);
    if (captures != NULL) {
        print_captures(view, captures, NULL, 0, 0);
    }
    heap_made_print_all(view->made, kind->items, kind->count);
}

static void put_capture(struct sonde__json *json, const struct sonde__blockheap_capture *capture)
{
    sonde__json_object(json, NULL);
    sonde__json_uint(json, "offset", capture->offset);
    sonde__json_uint(json, "size", capture->size);
    sonde__json_string(json, "kind", sonde_block_kind_text(capture->kind));
    sonde__json_bool(json, "owned", capture->owned);
    sonde__json_bool(json, "part", capture->inside);
    sonde__json_array(json, "sources");
    for (unsigned s = 0; s < SOURCES; s++) {
        if ((capture->sources >> s & 1) != 0) {
            sonde__json_string(json, NULL, sonde_block_source_text(s));
        }
    }
    sonde__json_close(json);
    if (capture->variable != NULL && !capture->inside) {
        sonde__json_string(json, "name", capture->variable->name);
        sonde__json_string(json, "type", capture->variable->type);
    }
    sonde__json_close(json);
}

static void put_kind(struct sonde__json *json, struct heap_view *view, const struct kind *kind)
{
    static char type[SONDE__BLOCK_TEXT_MAX];
    const struct sonde__blockheap_item *item = &kind->items[0];
    const struct sonde__blockheap_captures *captures =
        sonde__blockheap_captures(view->heap, item->descriptor, item->flags, item->invoke);
    struct sonde__call function;
    heap_view_function(view, item->invoke, &function);
    sonde__json_line(json, 4);
    sonde__json_object(json, NULL);
    sonde__json_string(json, "function", function.name);
    sonde__json_string(json, "file", function.file);
    sonde__json_uint(json, "line", function.line);
    type_of(view, item->descriptor, item->flags, type, sizeof type);
    sonde__json_string(json, "type", type);
    sonde__json_uint(json, "size", item->size);
    sonde__json_uint(json, "count", kind->count);
    sonde__json_line(json, 5);
    sonde__json_array(json, "captures");
    for (uint32_t i = 0; captures != NULL && i < captures->count; i++) {
        put_capture(json, &captures->items[i]);
    }
    sonde__json_close(json);
    sonde__json_line(json, 5);
    sonde__json_array(json, "addresses");
    for (size_t i = 0; i < kind->count; i++) {
        sonde__json_hex(json, NULL, kind->items[i].address);
    }
    sonde__json_close(json);
    heap_made_json_all(view->made, json, kind->items, kind->count);
    sonde__json_close(json);
}

static void print_kinds_json(struct heap_view *view, const struct kind *list, size_t kinds)
{
    struct sonde__report_out out;
    struct sonde__json json;
    sonde__cli_json_begin(&json, &out);
    sonde__json_object(&json, NULL);
    heap_view_json_place(view, &json);
    sonde__json_uint(&json, "blocks", view->found.count);
    sonde__json_uint(&json, "searched_bytes", view->found.bytes);
    sonde__json_uint(&json, "unreadable_bytes", view->found.unreadable);
    heap_made_json_total(view->made, &json);
    sonde__json_array(&json, "kinds");
    for (size_t i = 0; i < kinds; i++) {
        put_kind(&json, view, &list[i]);
    }
    sonde__json_close(&json);
    sonde__cli_json_end(&json);
}

static void print_kinds(struct heap_view *view, const struct kind *list, size_t kinds)
{
    size_t count = view->found.count;
    printf("%s %" PRId32 ": %zu block%s on the heap, %zu kind%s; %.1f MB searched in %.1f ms\n",
           view->place.core != NULL ? "core of process" : "process", view->place.pid, count,
           sonde__base_plural(count), kinds, sonde__base_plural(kinds),
           (double)view->found.bytes / 1e6, (double)view->search_ns / 1e6);
    heap_made_print_total(view->made);
    for (size_t i = 0; i < kinds; i++) {
        print_kind(view, &list[i]);
    }
}

static int print_all(struct heap_view *view, bool json)
{
    size_t count = view->found.count, kinds = 0;
    struct sonde__blockheap_item *items = sonde__mem_alloc_array(count + 1, sizeof *items);
    struct kind *list = sonde__mem_alloc_array(count + 1, sizeof *list);
    if (items == NULL || list == NULL) {
        sonde__mem_free(items);
        sonde__mem_free(list);
        return sonde__cli_fail(view->command, NULL, SONDE_MEMORY, NULL);
    }
    if (count > 0) {
        memcpy(items, view->found.items, count * sizeof *items);
        qsort(items, count, sizeof *items, by_kind);
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || items[i].invoke != items[i - 1].invoke ||
            items[i].descriptor != items[i - 1].descriptor) {
            list[kinds++] = (struct kind){&items[i], 0};
        }
        list[kinds - 1].count++;
    }
    if (kinds > 1) {
        qsort(list, kinds, sizeof *list, by_count);
    }
    (json ? print_kinds_json : print_kinds)(view, list, kinds);
    sonde__mem_free(items);
    sonde__mem_free(list);
    return SONDE__CLI_OK;
}

/* Is it a block outside the heap? On a stack it may be the remains of a dead one. */
static bool is_elsewhere(struct heap_view *view, uint64_t address,
                         struct sonde__blockheap_item *ret_item)
{
    const struct sonde__block_memory *memory = sonde__blockheap_memory(view->heap);
    const struct sonde__blockheap_class *class;
    struct sonde__block_literal literal;
    struct sonde__block_desc desc;
    if (sonde__block_literal_read(memory, address, &literal) != SONDE_OK ||
        (literal.flags & SONDE_BLOCK_HEAP) != 0) {
        return false;
    }
    class = sonde__blockheap_class_at(view->heap, literal.isa);
    if (class == NULL ||
        (class->kind != SONDE__BLOCK_CLASS_STACK && class->kind != SONDE__BLOCK_CLASS_GLOBAL) ||
        sonde__block_desc_read(memory, literal.descriptor, literal.flags, &desc) != SONDE_OK) {
        return false;
    }
    *ret_item = (struct sonde__blockheap_item){.address = address,
                                               .invoke = literal.invoke,
                                               .descriptor = literal.descriptor,
                                               .flags = literal.flags,
                                               .size = desc.size,
                                               .runtime = class->runtime};
    return true;
}

static void print_place(const struct sonde__blockheap_item *item, bool is_heap)
{
    printf("    %" PRIu32 " bytes at 0x%" PRIx64 ", ", item->size, item->address);
    if (is_heap) {
        printf("%" PRIu32 " reference%s\n", item->count, item->count == 1 ? "" : "s");
    } else if ((item->flags & SONDE_BLOCK_GLOBAL) != 0 &&
               (item->flags & SONDE_BLOCK_NOESCAPE) == 0) {
        printf("global\n");
    } else {
        printf("on a stack\n");
    }
}

static int print_one(struct heap_view *view, const char *text)
{
    const struct sonde__block_memory *memory = sonde__blockheap_memory(view->heap);
    uint64_t address = strtoull(text, NULL, 0);
    struct sonde__blockheap_item item;
    const struct sonde__blockheap_captures *captures;
    uint8_t *body;
    uint32_t size;
    bool is_heap = sonde__blockheap_check(view->heap, address, &item);
    if (!is_heap && !is_elsewhere(view, address, &item)) {
        sonde__cli_error(view->command, "%s: no live block of the heap is there", text);
        heap_made_print_gone(view->made, address);
        return SONDE__CLI_ABSENT;
    }
    captures = sonde__blockheap_captures(view->heap, item.descriptor, item.flags, item.invoke);
    size = item.size < BODY_BYTES ? item.size : BODY_BYTES;
    body = sonde__mem_alloc(size);
    if (captures == NULL || body == NULL || !memory->read(memory->ctx, address, body, size)) {
        sonde__mem_free(body);
        return sonde__cli_fail(view->command, text, SONDE_UNREADABLE, NULL);
    }
    print_head(view, &item);
    print_place(&item, is_heap);
    if (is_heap) {
        heap_made_print(view->made, &item);
    }
    print_captures(view, captures, body, size, 0);
    sonde__mem_free(body);
    return SONDE__CLI_OK;
}

int blocks_process(const struct sonde__cli_command *command, const struct heap_place *place,
                   char *const *addresses, unsigned count, struct sonde__cli_symbols *symbols,
                   bool json)
{
    static struct heap_view view;
    int exit_code;
    uint64_t address;
    for (unsigned i = 0; i < count; i++) {
        if (!heap_view_parse_address(addresses[i], &address)) {
            return sonde__cli_usage_error(command, "not an address: %s", addresses[i]);
        }
    }
    if (json && count != 0) {
        return sonde__cli_usage_error(command, "--json: of all blocks of a process only");
    }
    exit_code = heap_view_open(&view, command, place, symbols);
    if (exit_code == SONDE__CLI_OK && count == 0) {
        exit_code = print_all(&view, json);
    }
    for (unsigned i = 0; i < count && view.heap != NULL; i++) {
        int one = print_one(&view, addresses[i]);
        exit_code = exit_code == SONDE__CLI_OK ? one : exit_code;
    }
    exit_code = heap_view_doubts(&view, exit_code);
    heap_view_close(&view);
    return exit_code;
}
