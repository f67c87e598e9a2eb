// SPDX-License-Identifier: Apache-2.0
/* Look-up in a symbol index. Context: handler. */
#include "symbol_index.h"

#include "base_search.h"
#include "image_cfi.h"
#include "symbol_layout.h"

static const uint8_t source_of_kind[SYMBOL_KIND_MASK + 1] = {
    [SYMBOL_TABLE_SYMTAB] = SONDE__SYMBOL_SYMTAB,
    [SYMBOL_TABLE_DEBUG] = SONDE__SYMBOL_SYMTAB,
    [SYMBOL_TABLE_DYNSYM] = SONDE__SYMBOL_DYNSYM,
    [SYMBOL_TABLE_OBJC] = SONDE__SYMBOL_SYMTAB,
    [SYMBOL_KIND_PLT | SYMBOL_TABLE_SYMTAB] = SONDE__SYMBOL_PLT,
    [SYMBOL_KIND_PLT | SYMBOL_TABLE_DEBUG] = SONDE__SYMBOL_PLT,
    [SYMBOL_KIND_PLT | SYMBOL_TABLE_DYNSYM] = SONDE__SYMBOL_PLT,
};

/* Code without a symbol: use the bounds of its FDE. */
static __attribute__((noinline)) bool find_fde(const struct sonde__symbol_index *index,
                                               uint64_t vaddr, struct sonde__symbol *ret_symbol)
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

/* Find a function that does not fit an entry. */
static __attribute__((noinline)) bool find_extra(const struct sonde__symbol_index *index,
                                                 uint64_t vaddr, struct sonde__symbol *ret_symbol,
                                                 uint32_t number)
{
    const struct symbol_extra *extra = &index->extras[number];
    uint64_t start = index->base + extra->start;
    if (vaddr - start >= extra->size) {
        return find_fde(index, vaddr, ret_symbol);
    }
    ret_symbol->name = index->strings[extra->kind] + extra->name;
    ret_symbol->start = start;
    ret_symbol->end = extra->size < UINT64_MAX - start ? start + extra->size : UINT64_MAX;
    ret_symbol->source = source_of_kind[extra->kind];
    ret_symbol->aliases = extra->aliases;
    return true;
}

/* The entries of a page of code. */
struct page {
    const uint8_t *entries;
    uint64_t count;
    uint64_t start; /* vaddr */
};

static inline struct page page_at(const struct sonde__symbol_index *index, uint64_t page)
{
    uint32_t first = index->buckets[page];
    return (struct page){index->pages + (uint64_t)first * SYMBOL_ENTRY_BYTES,
                         index->buckets[page + 1] - first,
                         index->base + (page << SYMBOL_PAGE_SHIFT)};
}

/* Decode entry i of a page, which is the last one at or before `vaddr`. */
static inline __attribute__((always_inline)) bool answer(const struct sonde__symbol_index *index,
                                                         const struct page *page, uint64_t i,
                                                         uint64_t vaddr,
                                                         struct sonde__symbol *ret_symbol)
{
    const uint8_t *more = page->entries + page->count * SYMBOL_START_BYTES + i * SYMBOL_NAME_BYTES;
    uint16_t start, rest;
    uint32_t name, kind, size;
    uint64_t begin;
    memcpy(&start, page->entries + i * SYMBOL_START_BYTES, 2);
    memcpy(&name, more, 4);
    memcpy(&rest, more + 4, 2);
    kind = start & SYMBOL_KIND_MASK;
    size = rest & SYMBOL_SIZE_MAX;
    begin = page->start + ((uint32_t)start >> SYMBOL_KIND_BITS);
    if (__builtin_expect(vaddr - begin >= size, false)) { /* extras have size 0 here */
        return kind == SYMBOL_KIND_EXTRA ? find_extra(index, vaddr, ret_symbol, name)
                                         : find_fde(index, vaddr, ret_symbol);
    }
    ret_symbol->name = index->strings[kind] + name;
    ret_symbol->start = begin;
    ret_symbol->end = begin + size;
    ret_symbol->source = source_of_kind[kind];
    ret_symbol->aliases = (uint32_t)rest >> SYMBOL_SIZE_BITS;
    return true;
}

/* No entry of the page starts at or before the address: use the last entry before the page. */
static __attribute__((noinline)) bool find_before(const struct sonde__symbol_index *index,
                                                  uint64_t vaddr, struct sonde__symbol *ret_symbol)
{
    uint64_t high = (vaddr - index->base) >> SYMBOL_PAGE_SHIFT;
    uint32_t entry = index->buckets[high];
    struct page page;
    if (entry == 0) {
        return find_fde(index, vaddr, ret_symbol);
    }
    /* usually in the page before; after a long gap, or inside a function in an extra, in any:
     * buckets[0] < entry == buckets[high] */
    for (unsigned i = 0; i < SYMBOL_PAGES_MAX && index->buckets[high - 1] == entry; i++) {
        high--;
    }
    if (index->buckets[high - 1] == entry) {
        high = SONDE__SEARCH(1, high, i, index->buckets[i] < entry);
    }
    page = page_at(index, high - 1);
    return answer(index, &page, page.count - 1, vaddr, ret_symbol);
}

/* The greatest key that can be at or before an address. */
static inline int16_t key_of(uint64_t offset)
{
    uint32_t in_page = (uint32_t)offset & ((1u << SYMBOL_PAGE_SHIFT) - 1);
    return (int16_t)(in_page << SYMBOL_KIND_BITS | SYMBOL_KIND_MASK);
}

/* Count the entries[0..count) that start at or before `key`; count <= SYMBOL_WINDOW. Entries after
 * `count` are compared, but not counted. */
static inline uint64_t count_starts(const uint8_t *entries, uint64_t count, int16_t key)
{
    uint32_t after = sonde__arch_window_greater((const int16_t *)(const void *)entries, key);
    return (uint32_t)__builtin_ctz(after | 1u << count);
}

/* In a page of many small functions, halve the range first. */
static __attribute__((noinline)) bool find_crowded(const struct sonde__symbol_index *index,
                                                   uint64_t vaddr, struct sonde__symbol *ret_symbol)
{
    uint64_t offset = vaddr - index->base, from = 0, left;
    struct page page = page_at(index, offset >> SYMBOL_PAGE_SHIFT);
    int16_t key = key_of(offset), start;
    for (left = page.count; left > SYMBOL_WINDOW;) {
        uint64_t half = (left + 1) / 2;
        memcpy(&start, page.entries + (from + half - 1) * SYMBOL_START_BYTES, sizeof start);
        from += start <= key ? half : 0;
        left -= half;
    }
    from += count_starts(page.entries + from * SYMBOL_START_BYTES, left, key);
    return from == 0 ? find_before(index, vaddr, ret_symbol)
                     : answer(index, &page, from - 1, vaddr, ret_symbol);
}

/* On nearly all look-ups no branch depends on data (with random addresses half would be
 * mispredicted), a load waits for at most two earlier ones, and no register is saved on the
 * stack. */
bool sonde__symbol_find(const struct sonde__symbol_index *index, uint64_t vaddr,
                        struct sonde__symbol *ret_symbol)
{
    uint64_t offset = vaddr - index->base, before;
    struct page page;
    if (__builtin_expect(offset >= index->size, false)) {
        return false;
    }
    page = page_at(index, offset >> SYMBOL_PAGE_SHIFT);
    if (__builtin_expect(page.count > SYMBOL_WINDOW, false)) {
        return find_crowded(index, vaddr, ret_symbol);
    }
    before = count_starts(page.entries, page.count, key_of(offset));
    if (__builtin_expect(before == 0, false)) {
        return find_before(index, vaddr, ret_symbol);
    }
    return answer(index, &page, before - 1, vaddr, ret_symbol);
}

void sonde__symbol_function(const struct sonde__symbol_index *index, uint64_t vaddr,
                            struct sonde__function *ret_function)
{
    static const uint8_t sources[] = {
        [SONDE__SYMBOL_SYMTAB] = SONDE__NAME_SYMTAB,
        [SONDE__SYMBOL_DYNSYM] = SONDE__NAME_DYNSYM,
        [SONDE__SYMBOL_PLT] = SONDE__NAME_PLT,
        [SONDE__SYMBOL_FDE] = SONDE__NAME_NONE,
    };
    struct sonde__symbol symbol;
    if (index == NULL || !sonde__symbol_find(index, vaddr, &symbol)) {
        *ret_function = (struct sonde__function){.name = ""};
        return;
    }
    *ret_function = (struct sonde__function){
        .name = symbol.name,
        .start = symbol.start,
        .has_start = true,
        .source = symbol.name[0] != '\0' ? sources[symbol.source] : SONDE__NAME_NONE,
    };
}

uint32_t sonde__symbol_count(const struct sonde__symbol_index *index)
{
    return index->symbol_count;
}

size_t sonde__symbol_index_bytes(const struct sonde__symbol_index *index)
{
    return index->block_bytes;
}
