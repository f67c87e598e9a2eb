// SPDX-License-Identifier: Apache-2.0
/* Look-up in a symbol index. Context: handler. */
#include "symbol_index.h"

#include "image_cfi.h"
#include "symbol_layout.h"

/* Index of the last entry that starts at or before `offset`, or UINT32_MAX.
 *
 * No branch depends on the data, for random look-ups would mispredict every second one; nor does a
 * load on the load before it: all entries of the window are compared at once (compilers make vector
 * code of it). The window may reach over the page: what stands there is larger, or padding. */
static uint32_t find_entry(const struct sonde__symbol_index *index, uint64_t offset)
{
    uint64_t page = offset >> SYMBOL_PAGE_SHIFT;
    const uint32_t *at = index->starts + index->buckets[page];
    uint32_t left = index->buckets[page + 1] - index->buckets[page];
    uint32_t key = (uint32_t)offset, before = 0;
    while (left > SYMBOL_WINDOW) { /* a page of many small functions: halve it */
        uint32_t half = (left + 1) / 2;
        at += half & -(uint32_t)(at[half - 1] <= key);
        left -= half;
    }
    for (unsigned i = 0; i < SYMBOL_WINDOW; i++) {
        before += at[i] <= key;
    }
    at += before < left ? before : left; /* padding equals the last address of 4 GiB */
    return (uint32_t)(at - index->starts) - 1;
}

static uint32_t count_aliases(const struct sonde__symbol_index *index, uint32_t entry)
{
    uint32_t few = index->refs[entry] >> SYMBOL_REF_ALIAS_SHIFT & SYMBOL_REF_ALIAS_MANY;
    uint32_t low = 0, high = index->crowd_count;
    if (few != SYMBOL_REF_ALIAS_MANY) {
        return few;
    }
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->crowds[middle].entry <= entry) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return index->crowds[low].aliases;
}

/* Code without a symbol: the bounds of its FDE. */
static bool find_fde(const struct sonde__symbol_index *index, uint64_t vaddr,
                     struct sonde__symbol *ret_symbol)
{
    uint64_t start, end;
    if (!index->has_fde_search ||
        !sonde__cfi_fde_bounds(&index->cfi, index->arch, vaddr, &start, &end)) {
        return false;
    }
    ret_symbol->name = "";
    ret_symbol->start = start;
    ret_symbol->end = end;
    ret_symbol->source = SONDE__SYMBOL_FDE;
    ret_symbol->aliases = 0;
    return true;
}

bool sonde__symbol_find(const struct sonde__symbol_index *index, uint64_t vaddr,
                        struct sonde__symbol *ret_symbol)
{
    uint64_t offset = vaddr - index->base;
    struct symbol_raw raw;
    uint32_t entry, ref;
    unsigned table;
    if (offset >= index->size) {
        return false;
    }
    entry = find_entry(index, offset);
    if (entry == UINT32_MAX) {
        return find_fde(index, vaddr, ret_symbol);
    }
    ref = index->refs[entry];
    table = symbol_ref_table(ref);
    if (table == SYMBOL_TABLE_NONE) {
        return find_fde(index, vaddr, ret_symbol);
    }
    raw = symbol_read(&index->tables[table], symbol_ref_index(ref));
    if ((ref & SYMBOL_REF_PLT) != 0 || raw.size == 0) {
        ret_symbol->start = index->base + index->starts[entry];
        ret_symbol->end =
            index->base + (entry + 1 < index->count ? index->starts[entry + 1] : index->size);
    } else {
        if (vaddr - raw.value >= raw.size) {
            return find_fde(index, vaddr, ret_symbol);
        }
        ret_symbol->start = raw.value;
        ret_symbol->end = raw.size < UINT64_MAX - raw.value ? raw.value + raw.size : UINT64_MAX;
    }
    ret_symbol->name = raw.name;
    ret_symbol->source = (ref & SYMBOL_REF_PLT) != 0    ? SONDE__SYMBOL_PLT
                         : table == SYMBOL_TABLE_DYNSYM ? SONDE__SYMBOL_DYNSYM
                                                        : SONDE__SYMBOL_SYMTAB;
    ret_symbol->aliases = count_aliases(index, entry);
    return true;
}

uint32_t sonde__symbol_count(const struct sonde__symbol_index *index)
{
    return index->symbol_count;
}

uint32_t sonde__symbol_name_count(const struct sonde__symbol_index *index)
{
    return index->name_count;
}

size_t sonde__symbol_index_bytes(const struct sonde__symbol_index *index)
{
    return index->block_bytes;
}
