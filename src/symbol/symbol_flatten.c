// SPDX-License-Identifier: Apache-2.0
/* Sorted candidates to entries: one sweep over the addresses.
 *
 * What is open at an address is a stack of sized symbols, the innermost on top (nested symbols are
 * real: .symtab of libc has them), or one symbol without a size, which a sized one always beats. */
#include "base_status.h"
#include "image_cfi.h"
#include "mem_heap.h"
#include "symbol_layout.h"

/* Sized symbols open at once. Real files nest two or three deep; where more are open the outermost
 * is forgotten, and the code behind the inner ones has no name. */
#define NEST_MAX 16u

struct open_symbol {
    uint64_t end;
    uint32_t ref, aliases;
};

struct sweep {
    struct symbol_build *build;
    struct symbol_entries *out;
    struct open_symbol nest[NEST_MAX];
    unsigned depth;
    bool unsized_open;
    uint64_t unsized_end;
};

/* From `start` on `ref` holds. A second entry of the same start replaces the first. */
static enum sonde_status emit(struct sweep *sweep, uint64_t start, uint32_t ref, uint32_t aliases)
{
    struct symbol_entries *out = sweep->out;
    uint32_t few = aliases < SYMBOL_REF_ALIAS_MANY ? aliases : SYMBOL_REF_ALIAS_MANY;
    if (out->count > 0 && out->starts[out->count - 1] == start) {
        out->count--;
        if (out->crowd_count > 0 && out->crowds[out->crowd_count - 1].entry == out->count) {
            out->crowd_count--;
        }
    }
    if (few == SYMBOL_REF_ALIAS_MANY) {
        if (!sonde__mem_grow(&out->crowds, out->crowd_count, &out->crowd_capacity,
                             sizeof *out->crowds)) {
            return SONDE_MEMORY;
        }
        out->crowds[out->crowd_count++] = (struct symbol_crowd){out->count, aliases};
    }
    out->starts[out->count] = (uint32_t)start;
    out->refs[out->count] = ref | few << SYMBOL_REF_ALIAS_SHIFT;
    out->count++;
    return SONDE_OK;
}

/* Close what ends at or before `until`: an outer symbol goes on, or a gap begins. A gap behind a
 * sized symbol needs no entry: the symbol says where it ends. */
static enum sonde_status close_until(struct sweep *sweep, uint64_t until)
{
    if (sweep->unsized_open && sweep->unsized_end < until) {
        SONDE_TRY(emit(sweep, sweep->unsized_end, SYMBOL_REF_END, 0));
    }
    sweep->unsized_open = false;
    while (sweep->depth > 0 && sweep->nest[sweep->depth - 1].end <= until) {
        uint64_t end = sweep->nest[sweep->depth - 1].end;
        while (sweep->depth > 0 && sweep->nest[sweep->depth - 1].end <= end) {
            sweep->depth--;
        }
        if (sweep->depth > 0) {
            const struct open_symbol *outer = &sweep->nest[sweep->depth - 1];
            SONDE_TRY(emit(sweep, end, outer->ref, outer->aliases));
        }
    }
    return SONDE_OK;
}

static void push(struct sweep *sweep, uint64_t end, uint32_t ref, uint32_t aliases)
{
    if (sweep->depth == NEST_MAX) {
        memmove(sweep->nest, sweep->nest + 1, (NEST_MAX - 1) * sizeof *sweep->nest);
        sweep->depth--;
    }
    sweep->nest[sweep->depth++] = (struct open_symbol){end, ref, aliases};
}

/* The start of the first FDE behind `vaddr`, or UINT64_MAX. */
static uint64_t next_fde_start(const struct sonde__cfi *cfi, uint64_t vaddr)
{
    struct sonde__cfi_search search;
    uint32_t low = 0, high;
    uint64_t start, offset;
    if (!sonde__cfi_search_open(cfi, &search)) {
        return UINT64_MAX;
    }
    high = search.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        sonde__cfi_search_entry(cfi, &search, middle, &start, &offset);
        if (start <= vaddr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low >= search.count) {
        return UINT64_MAX;
    }
    sonde__cfi_search_entry(cfi, &search, low, &start, &offset);
    return start > vaddr ? start : UINT64_MAX;
}

/* Are all functions of the image named? .dynsym alone names the exported ones: between two of them
 * stand others, whose code is not the first one's. */
static bool names_all(const struct sonde__symbol_index *index)
{
    return index->tables[SYMBOL_TABLE_SYMTAB].count > 0 ||
           index->tables[SYMBOL_TABLE_DEBUG].count > 0;
}

/* Offset that a symbol without a size cannot reach over: the end of its section, the end of the FDE
 * that covers it, or the start of the next one. Without an FDE and without a full symbol table it
 * names its first byte only (musl's assembler functions in a stripped libc.so). */
static uint64_t unsized_limit(const struct symbol_build *build, const struct symbol_item *item)
{
    const struct sonde__symbol_index *index = build->index;
    unsigned table = symbol_ref_table(item->ref);
    uint64_t vaddr = index->base + item->start, limit = index->size, start, end;
    struct sonde__elf_section section;
    struct symbol_raw raw;
    if ((item->ref & SYMBOL_REF_PLT) != 0) {
        return (uint64_t)item->start + item->size < limit ? (uint64_t)item->start + item->size
                                                          : limit;
    }
    raw = symbol_read(&index->tables[table], symbol_ref_index(item->ref));
    if (raw.section < SONDE__SHN_ABS &&
        sonde__elf_section(build->views[table], raw.section, &section) && vaddr >= section.vaddr &&
        vaddr - section.vaddr < section.size) {
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
            end = (uint64_t)item->start + 1;
        }
        limit = end > item->start && end < limit ? end : limit;
    } else if (!names_all(index)) {
        limit = (uint64_t)item->start + 1;
    }
    return limit;
}

/* The candidates that start at one address. */
static enum sonde_status add_group(struct sweep *sweep, const struct symbol_item *group,
                                   uint32_t count)
{
    struct sonde__symbol_index *index = sweep->build->index;
    uint32_t names, best = symbol_choose(index, group, count, &names), biggest = best;
    const struct symbol_item *chosen = &group[best];
    uint64_t start = chosen->start;
    uint32_t aliases = names - 1;
    SONDE_TRY(close_until(sweep, start));
    if ((chosen->ref & SYMBOL_REF_PLT) != 0 || chosen->size == 0) {
        if (sweep->depth > 0) {
            return SONDE_OK; /* a label inside a function */
        }
        sweep->unsized_open = true;
        sweep->unsized_end = unsized_limit(sweep->build, chosen);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            if ((group[i].ref & SYMBOL_REF_PLT) == 0 && group[i].size > group[biggest].size) {
                biggest = i;
            }
        }
        if (biggest != best) {
            push(sweep, start + group[biggest].size, group[biggest].ref, aliases);
        }
        push(sweep, start + chosen->size, chosen->ref, aliases);
    }
    index->symbol_count++;
    index->name_count += names;
    return emit(sweep, start, chosen->ref, aliases);
}

enum sonde_status symbol_flatten(struct symbol_build *build, struct symbol_entries *entries)
{
    struct sweep sweep = {.build = build, .out = entries};
    uint32_t i = 0;
    while (i < build->count) {
        uint32_t end = i + 1;
        while (end < build->count && build->items[end].start == build->items[i].start) {
            end++;
        }
        SONDE_TRY(add_group(&sweep, build->items + i, end - i));
        i = end;
    }
    return close_until(&sweep, build->index->size);
}
