// SPDX-License-Identifier: Apache-2.0
/* Sorted candidates to entries: one sweep over the addresses.
 *
 * Open at an address are a stack of sized symbols, innermost on top (libc's .symtab has nested
 * ones), or one symbol without a size, which any sized one replaces. Nearly always none, or one
 * that has ended, is open; that case has a short path, to reach 100,000 symbols in a
 * millisecond. */
#include "base_search.h"
#include "base_status.h"
#include "image_cfi.h"
#include "image_elf_format.h"
#include "mem_heap.h"
#include "symbol_layout.h"

/* Sized symbols open at once. Real files nest two or three deep; beyond the limit the outermost is
 * dropped, and its code after the inner ones has no name. */
#define NEST_MAX 16u
/* How many candidates ahead symbols are prefetched; they can be anywhere in the table. */
#define FETCH_AHEAD 16u

struct function {
    uint64_t size;
    uint32_t start, name, kind, aliases;
};

struct open_symbol {
    uint64_t end; /* within the code */
    struct function function;
};

struct sweep {
    struct symbol_build *build;
    struct symbol_entries *out;
    struct open_symbol nest[NEST_MAX];
    unsigned depth;
    bool unsized_open;
    struct open_symbol unsized; /* its size is known only when it ends */
    uint64_t last_start;        /* of the last entry */
    uint32_t stubs;             /* number of PLT stubs so far */
};

static uint16_t make_start(uint32_t start, uint32_t kind)
{
    return (uint16_t)((start & ((1u << SYMBOL_PAGE_SHIFT) - 1)) << SYMBOL_KIND_BITS | kind);
}

static bool emit_extra(struct symbol_entries *out, const struct function *function)
{
    if (!sonde__mem_grow(&out->extras, out->extra_count, &out->extra_capacity,
                         sizeof *out->extras)) {
        return false;
    }
    out->names[out->count] = (uint32_t)out->extra_count;
    out->extras[out->extra_count++] = (struct symbol_extra){
        function->size, function->start, function->name, function->kind, function->aliases};
    return true;
}

static void drop_last(struct symbol_entries *out)
{
    if ((out->starts[--out->count] & SYMBOL_KIND_MASK) == SYMBOL_KIND_EXTRA) {
        out->extra_count--;
    }
}

/* Fill the buckets of pages without starts with the current count. */
static void fill_buckets(struct symbol_entries *out)
{
    for (uint32_t page = 0; page < out->page_count; page++) {
        if (out->buckets[page + 1] == 0) {
            out->buckets[page + 1] = out->buckets[page];
        }
    }
}

/* Add an entry for `function` at `start`; it replaces one with the same start. */
static inline enum sonde_status emit(struct sweep *sweep, uint32_t start,
                                     const struct function *function)
{
    struct symbol_entries *out = sweep->out;
    uint32_t kind = function->kind;
    if (sweep->last_start == start) {
        drop_last(out);
    }
    sweep->last_start = start;
    if (function->size <= SYMBOL_SIZE_MAX && function->aliases <= SYMBOL_ALIAS_MAX &&
        function->start == start) {
        out->names[out->count] = function->name;
        out->rests[out->count] =
            (uint16_t)(function->aliases << SYMBOL_SIZE_BITS | (uint32_t)function->size);
    } else {
        kind = SYMBOL_KIND_EXTRA;
        out->rests[out->count] = 0;
        if (!emit_extra(out, function)) {
            return SONDE_MEMORY;
        }
    }
    out->starts[out->count++] = make_start(start, kind);
    out->buckets[(start >> SYMBOL_PAGE_SHIFT) + 1] = out->count;
    return SONDE_OK;
}

/* Close symbols that end at or before `until`. Then an outer symbol continues, or a gap begins,
 * which needs no entry. */
static enum sonde_status close_until(struct sweep *sweep, uint64_t until)
{
    if (sweep->unsized_open) {
        struct open_symbol *open = &sweep->unsized;
        open->function.size = (open->end < until ? open->end : until) - open->function.start;
        SONDE_TRY(emit(sweep, open->function.start, &open->function));
    }
    sweep->unsized_open = false;
    while (sweep->depth > 0 && sweep->nest[sweep->depth - 1].end <= until) {
        uint64_t end = sweep->nest[sweep->depth - 1].end;
        while (sweep->depth > 0 && sweep->nest[sweep->depth - 1].end <= end) {
            sweep->depth--;
        }
        if (sweep->depth > 0 && end < sweep->build->index->size) {
            SONDE_TRY(emit(sweep, (uint32_t)end, &sweep->nest[sweep->depth - 1].function));
        }
    }
    return SONDE_OK;
}

static void push(struct sweep *sweep, const struct open_symbol *open)
{
    if (sweep->depth == NEST_MAX) {
        memmove(sweep->nest, sweep->nest + 1, (NEST_MAX - 1) * sizeof *sweep->nest);
        sweep->depth--;
    }
    sweep->nest[sweep->depth++] = *open;
}

/* The start of the first FDE after `vaddr`, or UINT64_MAX. */
static uint64_t next_fde_start(const struct sonde__cfi *cfi, uint64_t vaddr)
{
    struct sonde__cfi_search search;
    uint64_t start, offset;
    if (!sonde__cfi_search_open(cfi, &search)) {
        return UINT64_MAX;
    }
    uint32_t after =
        SONDE__SEARCH(0, search.count, i,
                      (sonde__cfi_search_entry(cfi, &search, i, &start, &offset), start <= vaddr));
    if (after >= search.count) {
        return UINT64_MAX;
    }
    sonde__cfi_search_entry(cfi, &search, after, &start, &offset);
    return start > vaddr ? start : UINT64_MAX;
}

/* Does every function of the image have a name? .dynsym alone names only exported ones, with
 * unnamed ones between them. */
static bool names_all(const struct sonde__symbol_index *index)
{
    return index->tables[SYMBOL_TABLE_SYMTAB].count > 0 ||
           index->tables[SYMBOL_TABLE_DEBUG].count > 0;
}

/* Upper bound of a symbol without a size: the end of its section or of the FDE that covers it, or
 * the start of the next FDE. Without an FDE and a full symbol table it covers only its first byte
 * (musl's assembler functions in a stripped libc.so). */
static uint64_t unsized_limit(const struct symbol_build *build, symbol_key key,
                              const struct symbol_raw *raw)
{
    const struct sonde__symbol_index *index = build->index;
    uint32_t offset = symbol_key_start(key);
    uint64_t vaddr = index->base + offset, limit = index->size, start, end;
    struct sonde__elf_section section;
    if (raw->section < SONDE__SHN_ABS &&
        sonde__elf_section(build->views[symbol_ref_table((uint32_t)key)], raw->section, &section) &&
        vaddr >= section.vaddr && vaddr - section.vaddr < section.size) {
        end = section.vaddr - index->base + section.size;
        limit = end < limit ? end : limit;
    }
    if (index->has_fde_search) {
        if (sonde__cfi_fde_bounds(&index->cfi, index->arch, vaddr, &start, &end)) {
            end -= index->base;
        } else if (names_all(index)) {
            end = next_fde_start(&index->cfi, vaddr);
            end = end == UINT64_MAX ? end : end - index->base;
        } else {
            end = (uint64_t)offset + 1;
        }
        limit = end > offset && end < limit ? end : limit;
    } else if (!names_all(index)) {
        limit = (uint64_t)offset + 1;
    }
    return limit;
}

static struct symbol_raw read_symbol(const struct symbol_build *build, symbol_key key)
{
    uint32_t ref = (uint32_t)key;
    return symbol_read(&build->index->tables[symbol_ref_table(ref)], symbol_ref_index(ref));
}

static struct open_symbol make_open(const struct symbol_build *build, symbol_key key,
                                    const struct symbol_raw *raw, uint32_t aliases)
{
    uint64_t left = build->index->size - symbol_key_start(key);
    struct open_symbol open;
    open.function = (struct function){raw->size, symbol_key_start(key), raw->name,
                                      symbol_kind((uint32_t)key), aliases};
    open.end = open.function.start + (raw->size < left ? raw->size : left);
    return open;
}

static uint64_t bytes_within(const struct symbol_build *build, symbol_key key)
{
    struct symbol_raw raw = read_symbol(build, key);
    uint64_t left = build->index->size - symbol_key_start(key);
    return raw.size < left ? raw.size : left;
}

/* Of sized symbols at one address with different sizes, the largest continues after the chosen
 * one. */
static void push_biggest(struct sweep *sweep, const symbol_key *group, uint32_t count,
                         uint32_t best, uint32_t aliases)
{
    uint64_t bytes = bytes_within(sweep->build, group[best]), here;
    uint32_t biggest = best;
    for (uint32_t i = 0; i < count; i++) {
        if (((uint32_t)group[i] & SYMBOL_REF_PLT) == 0 &&
            (here = bytes_within(sweep->build, group[i])) > bytes) {
            biggest = i;
            bytes = here;
        }
    }
    if (biggest != best) {
        struct symbol_raw raw = read_symbol(sweep->build, group[biggest]);
        struct open_symbol open = make_open(sweep->build, group[biggest], &raw, aliases);
        push(sweep, &open);
    }
}

/* Add the candidates that start at one address. */
static enum sonde_status add_group(struct sweep *sweep, const symbol_key *group, uint32_t count)
{
    struct symbol_build *build = sweep->build;
    struct sonde__symbol_index *index = build->index;
    uint32_t names, best = symbol_choose(index, group, count, &names);
    symbol_key chosen = group[best];
    bool is_stub = ((uint32_t)chosen & SYMBOL_REF_PLT) != 0;
    struct symbol_raw raw = read_symbol(build, chosen);
    struct open_symbol open = make_open(build, chosen, &raw, names - 1);
    uint32_t first_stub = sweep->stubs;
    for (uint32_t i = 0; i < count; i++) {
        sweep->stubs += ((uint32_t)group[i] & SYMBOL_REF_PLT) != 0;
    }
    SONDE_TRY(close_until(sweep, open.function.start));
    if (is_stub || raw.size == 0) {
        if (sweep->depth > 0) {
            return SONDE_OK; /* skip a label inside a function */
        }
        open.end = is_stub ? (uint64_t)open.function.start + build->stub_sizes[first_stub]
                           : unsized_limit(build, chosen, &raw);
        open.end = open.end < index->size ? open.end : index->size;
        sweep->unsized_open = true;
        sweep->unsized = open;
    } else {
        if (count > 1) {
            push_biggest(sweep, group, count, best, names - 1);
        }
        push(sweep, &open);
        SONDE_TRY(emit(sweep, open.function.start, &open.function));
    }
    index->symbol_count++;
    return SONDE_OK;
}

/* Symbols of 64-bit tables as the short path reads them. */
struct fast_tables {
    const uint8_t *data[SYMBOL_TABLE_COUNT]; /* null: not this table's */
    uint64_t strings_size[SYMBOL_TABLE_COUNT];
};

static struct fast_tables find_fast_tables(const struct sonde__symbol_index *index)
{
    struct fast_tables fast = {0};
    for (unsigned i = 0; i < SYMBOL_TABLE_COUNT; i++) {
        const struct sonde__elf_symbols *table = &index->tables[i];
        if (table->is64 && table->entsize == SONDE__ELF_SYM64_BYTES) {
            fast.data[i] = table->data;
            fast.strings_size[i] = table->strings_size;
        }
    }
    return fast;
}

/* The short path from keys[first] on: candidates that are alone at their address, have a size that
 * fits an entry, and start where nothing is open. Returns the first other one. The last symbol, if
 * still open, is on the stack. */
static uint32_t add_alone(struct sweep *sweep, const struct fast_tables *tables, uint32_t first)
{
    struct symbol_build *build = sweep->build;
    struct symbol_entries *out = sweep->out;
    const symbol_key *keys = build->keys;
    uint64_t open_end = sweep->depth == 0 ? 0 : sweep->nest[0].end;
    uint32_t i = first, next = symbol_key_start(keys[i]), to = out->count;
    if (sweep->depth > 1 || sweep->unsized_open) {
        return first;
    }
    for (; i + 1 < build->count; i++) {
        uint32_t ref = (uint32_t)keys[i], start = next, name;
        const uint8_t *at = tables->data[symbol_ref_table(ref)];
        uint64_t size;
        if (i + FETCH_AHEAD < build->count) {
            uint32_t ahead = (uint32_t)keys[i + FETCH_AHEAD];
            uintptr_t data = (uintptr_t)tables->data[symbol_ref_table(ahead)] +
                             (uint64_t)symbol_ref_index(ahead) * SONDE__ELF_SYM64_BYTES;
            __builtin_prefetch((const void *)data);
            __builtin_prefetch((const void *)(data + SONDE__ELF_SYM64_BYTES - 1));
        }
        next = symbol_key_start(keys[i + 1]);
        if (start == next || start < open_end || at == NULL || (ref & SYMBOL_REF_PLT) != 0) {
            break;
        }
        at += (uint64_t)symbol_ref_index(ref) * SONDE__ELF_SYM64_BYTES;
        memcpy(&name, at, 4);
        memcpy(&size, at + 16, 8);
        if (size == 0 || size > SYMBOL_SIZE_MAX ||
            name >= tables->strings_size[symbol_ref_table(ref)]) {
            break;
        }
        out->starts[to] = make_start(start, symbol_ref_table(ref));
        out->rests[to] = (uint16_t)size;
        out->names[to++] = name;
        out->buckets[(start >> SYMBOL_PAGE_SHIFT) + 1] = to;
        open_end = start + size;
    }
    if (i > first) {
        struct symbol_raw raw = read_symbol(build, keys[i - 1]);
        sweep->nest[0] = make_open(build, keys[i - 1], &raw, 0);
        sweep->depth = 1;
        sweep->last_start = symbol_key_start(keys[i - 1]);
        out->count = to;
        build->index->symbol_count += i - first;
    }
    return i;
}

enum sonde_status symbol_flatten(struct symbol_build *build, struct symbol_entries *entries)
{
    struct sweep sweep = {.build = build, .out = entries, .last_start = UINT64_MAX};
    struct fast_tables tables = find_fast_tables(build->index);
    const symbol_key *keys = build->keys;
    uint32_t count = build->count, i = 0, end;
    while (i < count) {
        i = add_alone(&sweep, &tables, i);
        end = i + 1;
        while (end < count && symbol_key_start(keys[end]) == symbol_key_start(keys[i])) {
            end++;
        }
        SONDE_TRY(add_group(&sweep, keys + i, end - i));
        i = end;
    }
    SONDE_TRY(close_until(&sweep, build->index->size));
    fill_buckets(entries);
    return SONDE_OK;
}
