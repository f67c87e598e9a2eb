// SPDX-License-Identifier: Apache-2.0
/* Pieces of all units -> ranges in the order of addresses, and the calls and functions they name.
 *
 * A call is a scope in one file. The file is stored with the function, so ranges and sites of
 * inlined calls need none. Calls are numbered in the order of first use, callers first, so that the
 * calls of one range have close numbers. Where two units claim an address, the one that starts
 * first wins. Code of no unit gets the name of its symbol. */
#include <stdlib.h>

#include "convert.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Larger line numbers are malformed and would widen every field: they become 0 (unknown). */
#define LINE_MAX_KEPT ((1u << 24) - 1)

/* Calls are reused up to this distance. Among 64 to 512, this gives the smallest indexes of libjvm
 * and ceph-osd. */
#define CALL_DISTANCE_MAX 128u

struct merge {
    struct convert *c;
    uint32_t *scope_calls;   /* of each scope, the first call made of it; 0: none yet */
    struct map other_calls;  /* scope and file -> a further call */
    uint32_t *symbol_scopes; /* of each symbol; 0: none yet */
    size_t symbol;           /* the first that ends after the current address */
    uint32_t no_scope;       /* means "no known function" */
    size_t scope_room;
    uint32_t at; /* output is complete up to here */
};

static uint32_t function_of(struct convert *c, uint32_t name, uint32_t file)
{
    uint64_t key = (uint64_t)name << 32 | file;
    uint32_t id = convert_map_find(&c->function_ids, key);
    if (id != 0 || !CONVERT_ROOM(c, functions, function_count, function_capacity)) {
        return id;
    }
    id = (uint32_t)c->function_count++;
    c->functions[id] = (struct function){name, file, 0};
    convert_map_set(c, &c->function_ids, key, id);
    return id;
}

/* The latest call of a scope, if its number is close. A distant call (e.g. of a function whose cold
 * part is elsewhere) is made again, so that numbers used together stay close and take few bits. */
static uint32_t known_call(const struct merge *m, uint32_t scope, uint32_t file)
{
    const struct convert *c = m->c;
    uint32_t call = m->scope_calls[scope];
    if (call != 0 && c->functions[c->calls[call].function].file != file) {
        call = convert_map_find(&m->other_calls, (uint64_t)scope << 32 | file);
    }
    return c->call_count - call <= CALL_DISTANCE_MAX ? call : 0;
}

static void note_line(struct convert *c, uint32_t call, uint32_t line)
{
    struct function *f = &c->functions[c->calls[call].function];
    if (line != 0 && (f->line_base == 0 || line < f->line_base)) {
        f->line_base = line;
    }
}

static uint32_t kept_line(uint32_t line)
{
    return line <= LINE_MAX_KEPT ? line : 0;
}

static uint32_t add_call(struct merge *m, uint32_t scope, uint32_t file, uint32_t parent)
{
    struct convert *c = m->c;
    const struct scope *s = &c->scopes[scope];
    uint32_t function = function_of(c, s->name, file);
    uint32_t line = parent != 0 ? kept_line(s->call_line) : 0;
    if (c->status != SONDE_OK || !CONVERT_ROOM(c, calls, call_count, call_capacity)) {
        return 0;
    }
    uint32_t call = (uint32_t)c->call_count++;
    c->calls[call] = (struct call){function, parent, line};
    if (parent != 0) {
        note_line(c, parent, line);
    }
    uint32_t first = m->scope_calls[scope];
    if (first == 0 || c->functions[c->calls[first].function].file == file) {
        m->scope_calls[scope] = call;
    } else {
        convert_map_set(c, &m->other_calls, (uint64_t)scope << 32 | file, call);
    }
    return call;
}

/* The call of a scope, with those that it was inlined into. */
static uint32_t call_of(struct merge *m, uint32_t scope, uint32_t file)
{
    struct convert *c = m->c;
    struct {
        uint32_t scope, file;
    } missing[CONVERT_DEPTH_MAX + 1];
    size_t count = 0;
    uint32_t call = known_call(m, scope, file);
    uint32_t parent = 0;
    if (call != 0) {
        return call;
    }
    for (;;) {
        missing[count].scope = scope;
        missing[count++].file = file;
        file = c->scopes[scope].call_file;
        scope = c->scopes[scope].parent;
        if (scope == CONVERT_NONE || count > CONVERT_DEPTH_MAX) {
            break;
        }
        parent = known_call(m, scope, file);
        if (parent != 0) {
            break;
        }
    }
    while (count > 0 && c->status == SONDE_OK) {
        count--;
        parent = add_call(m, missing[count].scope, missing[count].file, parent);
    }
    return parent;
}

/* Start a range. scope CONVERT_NONE and file 0: nothing is known. */
static void put_run(struct merge *m, uint32_t start, uint32_t scope, uint32_t file, uint32_t line)
{
    struct convert *c = m->c;
    struct range range = {.start = start};
    if (scope != CONVERT_NONE || file != 0) {
        range.call = call_of(m, scope != CONVERT_NONE ? scope : m->no_scope, file);
        range.line = kept_line(line);
        if (c->status != SONDE_OK) {
            return;
        }
        note_line(c, range.call, range.line);
    }
    if (c->range_count != 0) {
        const struct range *last = &c->ranges[c->range_count - 1];
        if (last->call == range.call && last->line == range.line) {
            return;
        }
    }
    if (CONVERT_ROOM(c, ranges, range_count, range_capacity)) {
        c->ranges[c->range_count++] = range;
    }
}

static uint32_t symbol_scope(struct merge *m, size_t symbol)
{
    struct convert *c = m->c;
    if (m->symbol_scopes[symbol] == 0) {
        c->scopes[c->scope_count] =
            (struct scope){.name = c->symbols[symbol].name, .parent = CONVERT_NONE};
        m->symbol_scopes[symbol] = (uint32_t)c->scope_count++;
    }
    return m->symbol_scopes[symbol];
}

/* Add the symbols in [low, high), which has no scope. */
static void put_symbols(struct merge *m, uint32_t low, uint32_t high, uint32_t file, uint32_t line)
{
    const struct convert *c = m->c;
    while (low < high && c->status == SONDE_OK) {
        while (m->symbol < c->symbol_count &&
               c->symbols[m->symbol].start + c->symbols[m->symbol].size <= low) {
            m->symbol++;
        }
        if (m->symbol == c->symbol_count || c->symbols[m->symbol].start >= high) {
            put_run(m, low, CONVERT_NONE, file, line);
            return;
        }
        const struct symbol *s = &c->symbols[m->symbol];
        if (s->start > low) {
            put_run(m, low, CONVERT_NONE, file, line);
            low = s->start;
        }
        /* a symbol inside another one has its own code */
        while (m->symbol + 1 < c->symbol_count && c->symbols[m->symbol + 1].start <= low) {
            s = &c->symbols[++m->symbol];
        }
        uint32_t end = s->start + s->size;
        if (m->symbol + 1 < c->symbol_count && c->symbols[m->symbol + 1].start < end) {
            end = c->symbols[m->symbol + 1].start;
        }
        if (end <= low) {
            continue; /* the later symbol has ended; addresses after it stay unnamed */
        }
        put_run(m, low, symbol_scope(m, m->symbol), file, line);
        low = end;
    }
}

static void put_chunk(struct merge *m, const struct chunk *chunk)
{
    const struct convert *c = m->c;
    for (uint32_t i = 0; i < chunk->count && c->status == SONDE_OK; i++) {
        const struct piece *piece = &c->pieces[chunk->first + i];
        uint32_t end = i + 1 < chunk->count ? piece[1].start : chunk->end;
        uint32_t start = piece->start > m->at ? piece->start : m->at;
        if (end <= start) {
            continue;
        }
        if (piece->scope == CONVERT_NONE) {
            put_symbols(m, start, end, piece->file, piece->line);
        } else {
            put_run(m, start, piece->scope, piece->file, piece->line);
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const struct chunk *x = a, *y = b;
    return SONDE__ORDER2(x, y, start, first);
}

static void merge(struct merge *m)
{
    struct convert *c = m->c;
    uint32_t size = c->size > UINT32_MAX ? UINT32_MAX : (uint32_t)c->size;
    m->no_scope = (uint32_t)c->scope_count;
    c->scopes[c->scope_count++] = (struct scope){.parent = CONVERT_NONE};
    for (size_t i = 0; i < c->chunk_count && c->status == SONDE_OK; i++) {
        const struct chunk *chunk = &c->chunks[i];
        if (chunk->end <= m->at) {
            continue;
        }
        if (chunk->start > m->at) {
            put_symbols(m, m->at, chunk->start, 0, 0);
        }
        put_chunk(m, chunk);
        m->at = chunk->end;
    }
    if (m->at < size) {
        put_symbols(m, m->at, size, 0, 0);
    }
}

void convert_merge(struct convert *c)
{
    struct merge m = {.c = c};
    size_t scopes = c->scope_count + c->symbol_count + 1;
    if (scopes >= CONVERT_NONE) {
        c->status = SONDE_LIMIT;
        return;
    }
    if (!convert_reserve_more(c, &c->scopes, scopes, &c->scope_capacity, sizeof *c->scopes) ||
        !CONVERT_ROOM(c, calls, call_count, call_capacity) ||
        !CONVERT_ROOM(c, functions, function_count, function_capacity)) {
        return;
    }
    c->calls[c->call_count++] = (struct call){0};
    c->functions[c->function_count++] = (struct function){0};
    m.scope_calls = sonde__mem_alloc_zeroed(scopes * sizeof *m.scope_calls);
    m.symbol_scopes = sonde__mem_alloc_zeroed(c->symbol_count * sizeof *m.symbol_scopes);
    if (m.scope_calls == NULL || m.symbol_scopes == NULL) {
        c->status = SONDE_MEMORY;
    } else {
        if (c->chunk_count != 0) {
            qsort(c->chunks, c->chunk_count, sizeof *c->chunks, by_place);
        }
        merge(&m);
    }
    sonde__mem_free(m.scope_calls);
    sonde__mem_free(m.symbol_scopes);
    sonde__mem_free(m.other_calls.entries);
}
