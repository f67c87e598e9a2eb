// SPDX-License-Identifier: Apache-2.0
/* A Breakpad symbol file as if it were one unit: its functions and inlined calls are scopes, its
 * lines are rows, and convert_flatten() makes pieces of them. Its public symbols, and the
 * functions, are the symbol table. A record that is malformed is left out, and the unit has an
 * error. */
#include <stdlib.h>
#include <string.h>

#include "breakpad.h"
#include "convert.h"
#include "mem_heap.h"
#include "mem_sort.h"

#define NUMBER_MAX ((uint64_t)UINT32_MAX - 1)

struct reading {
    struct convert *c;
    struct map files;   /* number of FILE -> index in unit_files, from 1 */
    struct map origins; /* number of INLINE_ORIGIN -> name */
    /* Scopes: the function, and what is inlined at each level. */
    uint32_t levels[CONVERT_DEPTH_MAX];
    uint32_t level_count; /* 0: in no function */
};

static uint32_t text_of(struct convert *c, const struct breakpad_line *line)
{
    size_t size = (size_t)(line->end - line->at);
    return convert_string(c, line->at, size < CONVERT_NAME_MAX ? size : CONVERT_NAME_MAX);
}

/* "FILE number path" */
static void read_file(struct reading *r, struct breakpad_line line)
{
    struct convert *c = r->c;
    uint64_t number;
    size_t count = c->lines.file_count;
    if (!breakpad_decimal(&line, NUMBER_MAX, &number) || line.at == line.end) {
        convert_damage(c, "a malformed FILE record");
        return;
    }
    struct breakpad_line folder = {line.at, line.end};
    while (folder.end > folder.at && folder.end[-1] != '/') {
        folder.end--;
    }
    line.at = folder.end;
    folder.end -= folder.end > folder.at + 1; /* without the slash, except in "/file" */
    uint32_t directory = text_of(c, &folder), base = text_of(c, &line);
    if (!convert_reserve_more(c, &c->unit_files, count < c->unit_file_capacity ? 0 : 2 * count + 64,
                              &c->unit_file_capacity, sizeof *c->unit_files)) {
        return;
    }
    c->unit_files[count] = convert_file_of(c, directory, base);
    c->lines.file_count = count + 1;
    convert_map_set(c, &r->files, number, (uint32_t)count + 1);
}

/* The index of a file's number in unit_files. False: there is none. */
static bool find_file(struct reading *r, uint64_t number, uint32_t *ret_index)
{
    uint32_t index = convert_map_find(&r->files, number);
    *ret_index = index - 1;
    return index != 0;
}

/* "INLINE_ORIGIN number name" */
static void read_origin(struct reading *r, struct breakpad_line line)
{
    uint64_t number;
    if (!breakpad_decimal(&line, NUMBER_MAX, &number) || line.at == line.end) {
        convert_damage(r->c, "a malformed INLINE_ORIGIN record");
        return;
    }
    convert_map_set(r->c, &r->origins, number, text_of(r->c, &line));
}

static uint32_t add_scope(struct convert *c, struct scope scope)
{
    if (!CONVERT_ROOM(c, scopes, scope_count, scope_capacity)) {
        return CONVERT_NONE;
    }
    c->scopes[c->scope_count] = scope;
    return (uint32_t)c->scope_count++;
}

static void add_range(struct convert *c, uint64_t start, uint64_t size, uint32_t scope)
{
    if (size != 0 && scope != CONVERT_NONE &&
        CONVERT_ROOM(c, scope_ranges, scope_range_count, scope_range_capacity)) {
        c->scope_ranges[c->scope_range_count++] =
            (struct scope_range){(uint32_t)start, (uint32_t)(start + size), scope};
    }
}

static void add_symbol(struct convert *c, uint64_t start, uint64_t size, uint32_t name)
{
    if (name != 0 && CONVERT_ROOM(c, symbols, symbol_count, symbol_capacity)) {
        c->symbols[c->symbol_count++] =
            (struct symbol){.start = (uint32_t)start, .size = (uint32_t)size, .name = name};
    }
}

/* "FUNC [m] address size parameters name" */
static void read_function(struct reading *r, struct breakpad_line line)
{
    struct convert *c = r->c;
    uint64_t start, size, parameters;
    r->level_count = 0;
    (void)breakpad_word(&line, "m");
    if (!breakpad_hex(&line, c->size, &start) || !breakpad_hex(&line, c->size - start, &size) ||
        !breakpad_hex(&line, UINT32_MAX, &parameters)) {
        convert_damage(c, "a malformed FUNC record");
        return;
    }
    uint32_t name = text_of(c, &line);
    r->levels[0] = add_scope(c, (struct scope){.name = name, .parent = CONVERT_NONE});
    r->level_count = 1;
    c->main.unit_count = 1;
    add_range(c, start, size, r->levels[0]);
    add_symbol(c, start, size, name);
}

/* "PUBLIC [m] address parameters name" */
static void read_public(struct reading *r, struct breakpad_line line)
{
    struct convert *c = r->c;
    uint64_t start, parameters;
    (void)breakpad_word(&line, "m");
    if (!breakpad_hex(&line, c->size - 1, &start) ||
        !breakpad_hex(&line, UINT32_MAX, &parameters)) {
        convert_damage(c, "a malformed PUBLIC record");
        return;
    }
    add_symbol(c, start, 0, text_of(c, &line));
}

/* "INLINE level line file origin [address size]+" */
static void read_inline(struct reading *r, struct breakpad_line line)
{
    struct convert *c = r->c;
    uint64_t level, call_line, number, origin, start, size;
    uint32_t file;
    if (!breakpad_decimal(&line, CONVERT_DEPTH_MAX - 2, &level) ||
        !breakpad_decimal(&line, NUMBER_MAX, &call_line) ||
        !breakpad_decimal(&line, NUMBER_MAX, &number) ||
        !breakpad_decimal(&line, NUMBER_MAX, &origin) || level + 1 > r->level_count ||
        r->levels[level] == CONVERT_NONE) {
        convert_damage(c, "a malformed INLINE record");
        return;
    }
    const struct scope scope = {.name = convert_map_find(&r->origins, origin),
                                .parent = r->levels[level],
                                .call_file = find_file(r, number, &file) ? c->unit_files[file] : 0,
                                .call_line = (uint32_t)call_line};
    r->levels[level + 1] = add_scope(c, scope);
    r->level_count = (uint32_t)level + 2;
    while (breakpad_hex(&line, c->size, &start) && breakpad_hex(&line, c->size - start, &size)) {
        add_range(c, start, size, r->levels[level + 1]);
    }
}

static void add_row(struct convert *c, uint64_t start, uint32_t file, uint64_t line)
{
    if (CONVERT_ROOM(c, rows, row_count, row_capacity)) {
        c->rows[c->row_count++] = (struct row){(uint32_t)start, file, (uint32_t)line};
    }
}

/* "address size line file" */
static void read_row(struct reading *r, struct breakpad_line line)
{
    struct convert *c = r->c;
    uint64_t start, size, number, file_number;
    uint32_t file;
    if (r->level_count == 0 || !breakpad_hex(&line, c->size, &start) ||
        !breakpad_hex(&line, c->size - start, &size) ||
        !breakpad_decimal(&line, NUMBER_MAX, &number) ||
        !breakpad_decimal(&line, NUMBER_MAX, &file_number) || !find_file(r, file_number, &file)) {
        convert_damage(c, "a malformed line record");
        return;
    }
    if (size != 0) {
        add_row(c, start, file, number);
        add_row(c, start + size, CONVERT_NONE, 0);
    }
}

static void read_record(struct reading *r, struct breakpad_line line)
{
    if (breakpad_word(&line, "FILE")) {
        read_file(r, line);
    } else if (breakpad_word(&line, "INLINE_ORIGIN")) {
        read_origin(r, line);
    } else if (breakpad_word(&line, "FUNC")) {
        read_function(r, line);
    } else if (breakpad_word(&line, "INLINE")) {
        read_inline(r, line);
    } else if (breakpad_word(&line, "PUBLIC")) {
        read_public(r, line);
    } else if (!breakpad_word(&line, "STACK") && !breakpad_word(&line, "INFO") &&
               !breakpad_word(&line, "MODULE") && line.at < line.end) {
        read_row(r, line);
    }
}

/* Ends come before starts at one address. */
static int by_start(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    bool x_starts = x->file != CONVERT_NONE, y_starts = y->file != CONVERT_NONE;
    return x_starts - y_starts;
}

static int by_symbol(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->size < y->size) - (x->size > y->size); /* the one that has a size first */
}

/* One symbol for each start; a public one extends to the next symbol. */
static void finish_symbols(struct convert *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->symbol_count; i++) {
        if (kept == 0 || c->symbols[kept - 1].start != c->symbols[i].start) {
            c->symbols[kept++] = c->symbols[i];
        }
    }
    c->symbol_count = kept;
    for (size_t i = 0; i < kept; i++) {
        uint32_t next = i + 1 < kept ? c->symbols[i + 1].start : (uint32_t)c->size;
        if (c->symbols[i].size == 0) {
            c->symbols[i].size = next - c->symbols[i].start;
        }
    }
}

void convert_breakpad(struct convert *c)
{
    const struct sonde__breakpad *file = c->source->breakpad;
    const char *at = file->text, *end = at + file->size;
    struct reading r = {.c = c};
    struct breakpad_line line;
    while (c->status == SONDE_OK && breakpad_next(&at, end, &line)) {
        read_record(&r, line);
    }
    if (c->row_count != 0) {
        qsort(c->rows, c->row_count, sizeof *c->rows, by_start);
    }
    if (c->symbol_count != 0) {
        qsort(c->symbols, c->symbol_count, sizeof *c->symbols, by_symbol);
    }
    if (c->status == SONDE_OK) {
        finish_symbols(c);
        convert_flatten(c);
    }
    if (c->status == SONDE_OK && c->damage != NULL) {
        convert_list_damage(c);
    }
    sonde__mem_free(r.files.entries);
    sonde__mem_free(r.origins.entries);
}
