// SPDX-License-Identifier: Apache-2.0
/* Call sites of all units -> functions, jumps and calls of the image, for src/tail.
 *
 * A callee given by a declaration is the only global function with its name. A callee given by an
 * abstract DIE is the only function made of it that is not a clone (f.constprop.0, f.part.0). If a
 * callee cannot be resolved, a call of it is dropped, and a function that tail-calls it is open. A
 * function without debug information is known by its symbol, and open. */
#include <stdlib.h>
#include <string.h>

#include "base_search.h"
#include "encode.h"
#include "encode_sites.h"
#include "mem_heap.h"
#include "mem_sort.h"

#define NOT_KNOWN CONVERT_NONE
#define ELSEWHERE (CONVERT_NONE - 1) /* in another image */

/* A range of a function; `function` NOT_KNOWN: known by its symbol only. */
struct span {
    uint32_t start, end;
    uint32_t function;
};

struct resolve {
    struct convert *c;
    uint32_t *callees; /* entry, NOT_KNOWN or ELSEWHERE */
    struct span *spans;
    size_t span_count, span_capacity;
    bool outlined; /* has outlined code, which is not described */
};

/* --- symbols --- */

static size_t symbol_at(const struct convert *c, uint32_t start)
{
    size_t at = SONDE__SEARCH(0, c->symbol_count, i, c->symbols[i].start < start);
    return at < c->symbol_count && c->symbols[at].start == start ? at : SIZE_MAX;
}

/* False for clones and parts of functions, which have a dot in their names. */
static bool is_plain(const struct string *name)
{
    return name->size != 0 && memchr(name->text, '.', name->size) == NULL;
}

/* Can this be a variant of a C++ constructor or destructor (C1, D0, ...)? All variants share one
 * abstract DIE. A false positive does no harm. */
static bool is_structor(const struct string *name)
{
    for (uint32_t i = 2; i + 2 < name->size; i++) {
        if ((name->text[i] == 'C' || name->text[i] == 'D') && name->text[i + 1] >= '0' &&
            name->text[i + 1] <= '5' && name->text[i + 2] == 'E') {
            return true;
        }
    }
    return false;
}

/* Iterator over the names of the symbol at a start. */
struct names {
    const struct convert *c;
    size_t symbol, alias;
};

static struct names names_at(const struct convert *c, uint32_t start)
{
    return (struct names){.c = c, .symbol = symbol_at(c, start), .alias = SIZE_MAX};
}

static uint32_t next_name(struct names *names)
{
    const struct convert *c = names->c;
    if (names->symbol == SIZE_MAX) {
        return 0;
    }
    if (names->alias == SIZE_MAX) {
        names->alias = convert_first_alias(c, names->symbol);
        return c->symbols[names->symbol].name;
    }
    return names->alias < c->alias_count && c->aliases[names->alias].symbol == names->symbol
               ? c->aliases[names->alias++].name
               : 0;
}

/* Linkers can make global symbols local; debug information still knows that they are global. */
static void note_names(struct resolve *r)
{
    struct convert *c = r->c;
    static const char outlined[] = "OUTLINED_FUNCTION_"; /* LLVM's */
    for (size_t i = 0; i < c->sites.function_count && c->status == SONDE_OK; i++) {
        const struct site_function *f = &c->sites.functions[i];
        struct names names = names_at(c, f->start);
        uint32_t name;
        if ((f->flags & SITE_EXTERNAL) == 0) {
            convert_map_set(c, &c->sites.own, f->start, 1);
        }
        while ((f->flags & SITE_EXTERNAL) != 0 && (name = next_name(&names)) != 0) {
            convert_sites_name(c, &c->sites.names, name, f->start);
        }
    }
    for (size_t i = 0; i < c->symbol_count; i++) {
        const struct string *name = &c->strings.all[c->symbols[i].name];
        r->outlined = r->outlined || (name->size >= sizeof outlined - 1 &&
                                      memcmp(name->text, outlined, sizeof outlined - 1) == 0);
    }
}

/* --- callees --- */

/* Of the functions with the callee's abstract DIE: is the one at this start the callee? Its symbol
 * decides. */
static bool is_meant(const struct convert *c, const struct site_callee *callee, uint32_t start)
{
    struct names names = names_at(c, start);
    uint32_t name;
    while ((name = next_name(&names)) != 0) {
        const struct string *text = &c->strings.all[name];
        if (name == callee->name || (!callee->linked && is_plain(text) && !is_structor(text))) {
            return true;
        }
    }
    return false;
}

static uint32_t by_name(const struct convert *c, uint32_t name)
{
    const struct sites *s = &c->sites;
    uint32_t known = convert_map_find(&s->names, name);
    if (known == 0 && convert_map_find(&s->imports, name) != 0) {
        return ELSEWHERE;
    }
    if (known == 0) { /* made local by the linker and without debug information */
        known = convert_map_find(&s->locals, name);
        if (known != 0 && known != CONVERT_NONE && convert_map_find(&s->own, known - 1) != 0) {
            known = CONVERT_NONE; /* local to another unit */
        }
    }
    return known == 0 ? ELSEWHERE : known != CONVERT_NONE ? known - 1 : NOT_KNOWN;
}

static uint32_t resolve_callee(const struct convert *c, const struct site_callee *callee)
{
    uint32_t entry = callee->entry;
    if (entry == NOT_KNOWN) {
        for (uint32_t i = callee->candidate; i != CONVERT_NONE; i = c->sites.functions[i].before) {
            uint32_t start = c->sites.functions[i].start;
            if (start != entry && is_meant(c, callee, start)) {
                if (entry != NOT_KNOWN) {
                    return NOT_KNOWN;
                }
                entry = start;
            }
        }
    }
    if (entry == NOT_KNOWN && callee->external && callee->name != 0) {
        entry = by_name(c, callee->name);
    }
    return entry < ELSEWHERE && convert_map_find(&c->sites.chosen, entry) != 0 ? NOT_KNOWN : entry;
}

/* --- functions --- */

static bool add_span(struct resolve *r, uint32_t start, uint32_t end, uint32_t function)
{
    struct convert *c = r->c;
    if (r->span_count >= r->span_capacity &&
        !convert_grow(c, &r->spans, r->span_count, &r->span_capacity, sizeof *r->spans)) {
        return false;
    }
    r->spans[r->span_count++] = (struct span){start, end, function};
    return true;
}

static void add_spans(struct resolve *r)
{
    struct convert *c = r->c;
    for (size_t i = 0; i < c->sites.part_count; i++) {
        const struct site_part *part = &c->sites.parts[i];
        if (!add_span(r, part->start, part->end, part->function)) {
            return;
        }
    }
    for (size_t i = 0; i < c->sites.callee_count; i++) {
        size_t symbol = r->callees[i] < ELSEWHERE ? symbol_at(c, r->callees[i]) : SIZE_MAX;
        if (symbol != SIZE_MAX &&
            !add_span(r, c->symbols[symbol].start,
                      c->symbols[symbol].start + c->symbols[symbol].size, NOT_KNOWN)) {
            return;
        }
    }
}

static bool is_entry(const struct resolve *r, const struct span *span)
{
    return span->function != NOT_KNOWN &&
           r->c->sites.functions[span->function].start == span->start;
}

/* By start: entries of described functions first, then parts, then those with only a symbol. */
static int by_span(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return SONDE__ORDER2(x, y, start, function);
}

static uint32_t flags_of(const struct resolve *r, const struct span *span)
{
    if (span->function == NOT_KNOWN || r->outlined) {
        return SONDE__TAIL_OPEN;
    }
    return (r->c->sites.functions[span->function].flags & SITE_COMPLETE) != 0
               ? 0
               : (uint32_t)SONDE__TAIL_OPEN;
}

static uint32_t function_at(const struct sonde__tail_function *functions, size_t count,
                            uint32_t start)
{
    size_t at = SONDE__SEARCH(0, count, i, functions[i].start < start);
    return at < count && functions[at].start == start ? (uint32_t)at : NOT_KNOWN;
}

/* Make the function at one start from the spans [first, end). If several are described there
 * (discarded copies redirected to the remaining one), the function may do all that any of them may.
 * Returns the span that identifies it. */
static size_t make_function(const struct resolve *r, size_t first, size_t end,
                            struct sonde__tail_function *f)
{
    size_t kept = first;
    bool any_entry = false, any_part = false;
    *f = (struct sonde__tail_function){.start = r->spans[first].start};
    for (size_t i = first; i < end; i++) {
        const struct span *span = &r->spans[i];
        if (is_entry(r, span)) {
            kept = any_entry ? kept : i;
            any_entry = true;
        } else {
            any_part = any_part || span->function != NOT_KNOWN;
        }
        f->end = span->function != NOT_KNOWN && span->end > f->end ? span->end : f->end;
        f->flags |= span->function != NOT_KNOWN ? flags_of(r, span) : 0;
    }
    if (r->spans[kept].function == NOT_KNOWN) {
        f->end = r->spans[kept].end;
        f->flags = SONDE__TAIL_OPEN;
    } else if (any_entry && any_part) {
        f->flags |= SONDE__TAIL_OPEN;
    }
    return kept;
}

/* numbers: spans of the functions. */
static void set_owners(const struct resolve *r, const uint32_t *numbers,
                       struct sonde__tail_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct span *span = &r->spans[numbers[i]];
        uint32_t owner = (uint32_t)i;
        if (span->function != NOT_KNOWN && !is_entry(r, span)) {
            owner = function_at(functions, count, r->c->sites.functions[span->function].start);
            owner = owner != NOT_KNOWN ? owner : (uint32_t)i;
        }
        functions[i].owner = owner;
    }
    for (size_t i = 0; i < count; i++) { /* a part of a part: malformed */
        uint32_t owner = functions[i].owner;
        if (functions[owner].owner != owner) {
            functions[i].owner = (uint32_t)i;
            functions[i].flags |= SONDE__TAIL_OPEN;
        }
    }
}

static void make_functions(struct resolve *r, struct encode_sites *out)
{
    size_t count = 0;
    uint32_t *numbers = sonde__mem_alloc_array(r->span_count, sizeof *numbers); /* their spans */
    out->functions = sonde__mem_alloc_array(r->span_count, sizeof *out->functions);
    if (out->functions == NULL || numbers == NULL) {
        r->c->status = SONDE_MEMORY;
        sonde__mem_free(numbers);
        return;
    }
    for (size_t i = 0, end; i < r->span_count; i = end) {
        struct sonde__tail_function f;
        for (end = i; end < r->span_count && r->spans[end].start == r->spans[i].start;) {
            end++;
        }
        size_t kept = make_function(r, i, end, &f);
        if (count != 0 && out->functions[count - 1].end > f.start) {
            out->functions[count - 1].end = f.start;
            out->functions[count - 1].flags |= SONDE__TAIL_OPEN;
        }
        if (f.end > f.start) {
            numbers[count] = (uint32_t)kept;
            out->functions[count++] = f;
        }
    }
    set_owners(r, numbers, out->functions, count);
    sonde__mem_free(numbers);
    out->input.functions = out->functions;
    out->input.function_count = count;
}

/* --- jumps and calls --- */

static void add_site(struct resolve *r, const struct site *site, struct encode_sites *out)
{
    const struct convert *c = r->c;
    size_t count = out->input.function_count;
    uint32_t from = function_at(out->functions, count, c->sites.functions[site->function].start);
    uint32_t entry = site->callee != CONVERT_NONE ? r->callees[site->callee] : NOT_KNOWN;
    uint32_t to = entry < ELSEWHERE ? function_at(out->functions, count, entry) : NOT_KNOWN;
    if (to != NOT_KNOWN && out->functions[to].owner != to) {
        to = NOT_KNOWN; /* into the middle of another one */
    }
    if (!site->is_tail) {
        if (to != NOT_KNOWN) {
            out->calls[out->input.call_count++] = (struct sonde__tail_call){site->at, to};
        }
    } else if (from == NOT_KNOWN) {
        return;
    } else if (to == NOT_KNOWN) {
        out->functions[from].flags |=
            entry == ELSEWHERE ? (uint32_t)SONDE__TAIL_EXTERNAL : (uint32_t)SONDE__TAIL_OPEN;
    } else if (to != from) {
        uint32_t place = site->at != CONVERT_NONE ? site->at : out->functions[from].start;
        out->jumps[out->input.jump_count++] = (struct sonde__tail_jump){from, to, place};
    }
}

static uint32_t find_main(struct resolve *r, const struct encode_sites *out)
{
    uint32_t name = convert_string(r->c, "main", 4);
    uint32_t known = convert_map_find(&r->c->sites.names, name);
    return known != 0 && known != CONVERT_NONE
               ? function_at(out->functions, out->input.function_count, known - 1)
               : SONDE__TAIL_NONE;
}

static void make_input(struct resolve *r, struct encode_sites *out)
{
    struct convert *c = r->c;
    size_t jumps = 0;
    for (size_t i = 0; i < c->sites.count; i++) {
        jumps += c->sites.all[i].is_tail;
    }
    out->jumps = sonde__mem_alloc_array(jumps, sizeof *out->jumps);
    out->calls = sonde__mem_alloc_array(c->sites.count - jumps, sizeof *out->calls);
    if (out->jumps == NULL || out->calls == NULL) {
        c->status = SONDE_MEMORY;
        return;
    }
    for (size_t i = 0; i < c->sites.count; i++) {
        add_site(r, &c->sites.all[i], out);
    }
    out->input.jumps = out->jumps;
    out->input.calls = out->calls;
    out->input.main = find_main(r, out);
}

bool encode_sites_make(struct convert *c, struct encode_sites *out)
{
    struct resolve r = {.c = c};
    memset(out, 0, sizeof *out);
    if (c->sites.count == 0) {
        return false;
    }
    note_names(&r);
    r.callees = sonde__mem_alloc_array(c->sites.callee_count, sizeof *r.callees);
    if (r.callees == NULL) {
        c->status = SONDE_MEMORY;
    }
    for (size_t i = 0; i < c->sites.callee_count && c->status == SONDE_OK; i++) {
        r.callees[i] = resolve_callee(c, &c->sites.callees[i]);
    }
    if (c->status == SONDE_OK) {
        add_spans(&r);
    }
    if (c->status == SONDE_OK && r.span_count != 0) {
        qsort(r.spans, r.span_count, sizeof *r.spans, by_span);
        make_functions(&r, out);
    }
    if (c->status == SONDE_OK) {
        make_input(&r, out);
    }
    sonde__mem_free(r.callees);
    sonde__mem_free(r.spans);
    return c->status == SONDE_OK && out->input.function_count != 0;
}

void encode_sites_done(struct encode_sites *sites)
{
    sonde__mem_free(sites->functions);
    sonde__mem_free(sites->jumps);
    sonde__mem_free(sites->calls);
}
