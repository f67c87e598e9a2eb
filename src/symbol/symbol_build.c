// SPDX-License-Identifier: Apache-2.0
/* Builds a symbol index: candidates from the tables, sorted, PLT stubs merged in, flattened to
 * entries, and copied with their page buckets into one block of the right size.
 *
 * Peak memory: 32 bytes for each function symbol of the tables, freed before this returns. */
#include "arch_regs.h"
#include "base_status.h"
#include "image_cfi.h"
#include "mem_heap.h"
#include "symbol_index.h"
#include "symbol_layout.h"

#define CODE_BYTES_MAX ((uint64_t)1 << 32)

/* Mapping symbols of ARM, AArch64 and RISC-V ($x, $d, $a, $t, with .suffix) and assembler-local
 * labels are no functions. */
static bool is_function_label(const char *name)
{
    if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L')) {
        return false;
    }
    return !(name[0] == '$' &&
             (name[1] == 'x' || name[1] == 'd' || name[1] == 'a' || name[1] == 't'));
}

/* For each section of `elf`, whether it holds code. Null without sections: *ret_count is 0. */
static enum sonde_status mark_code_sections(const struct sonde__elf *elf, uint8_t **ret_marks,
                                            uint32_t *ret_count)
{
    /* st_shndx is 16 bits wide; the indices from SHN_LORESERVE (0xff00) on mean something else. */
    uint32_t count = elf->shnum < 0xff00 ? elf->shnum : 0xff00;
    uint8_t *marks = sonde__mem_alloc_zeroed(count);
    if (marks == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct sonde__elf_section section;
        marks[i] =
            sonde__elf_section(elf, i, &section) && (section.flags & SONDE__SHF_EXECINSTR) != 0;
    }
    *ret_marks = marks;
    *ret_count = count;
    return SONDE_OK;
}

/* Is the symbol a candidate, and of which rank? */
static bool judge(const struct symbol_raw *raw, const uint8_t *code_sections,
                  uint32_t section_count, uint32_t *ret_rank)
{
    unsigned type = raw->info & 15, bind = raw->info >> 4;
    uint32_t rank = 0;
    if (type != SONDE__STT_FUNC && type != SONDE__STT_GNU_IFUNC) {
        if (type != SONDE__STT_NOTYPE || section_count == 0 || !is_function_label(raw->name)) {
            return false;
        }
        rank = SYMBOL_RANK_NOTYPE;
    }
    if (raw->section == SONDE__SHN_UNDEF || raw->section == SONDE__SHN_ABS ||
        raw->section == SONDE__SHN_COMMON ||
        (raw->section < section_count && !code_sections[raw->section])) {
        return false;
    }
    if (raw->size == 0) {
        rank |= SYMBOL_RANK_NO_SIZE;
    }
    if (bind == SONDE__STB_LOCAL) {
        rank |= SYMBOL_RANK_LOCAL;
    } else if (bind == SONDE__STB_WEAK) {
        rank |= SYMBOL_RANK_WEAK;
    }
    *ret_rank = rank;
    return true;
}

static enum sonde_status add_table(struct symbol_build *build, unsigned table)
{
    const struct sonde__symbol_index *index = build->index;
    const struct sonde__elf_symbols *symbols = &index->tables[table];
    uint8_t *code_sections = NULL;
    uint32_t section_count = 0;
    if (symbols->count == 0) {
        return SONDE_OK;
    }
    SONDE_TRY(mark_code_sections(build->views[table], &code_sections, &section_count));
    for (uint32_t i = 0; i < symbols->count; i++) {
        struct symbol_raw raw = symbol_read(symbols, i);
        uint64_t offset = raw.value - index->base, left;
        struct symbol_item *item;
        uint32_t rank;
        if (offset >= index->size || !judge(&raw, code_sections, section_count, &rank)) {
            continue;
        }
        left = index->size - offset;
        left = left < UINT32_MAX ? left : UINT32_MAX;
        item = &build->items[build->count++];
        item->start = (uint32_t)offset;
        item->ref = i | (uint32_t)table << SYMBOL_REF_TABLE_SHIFT;
        item->size = (uint32_t)(raw.size < left ? raw.size : left);
        item->rank = rank;
    }
    sonde__mem_free(code_sections);
    return SONDE_OK;
}

/* The tables that the index is made of, and the range of its code. */
static enum sonde_status find_sources(struct symbol_build *build, const struct sonde__elf *elf,
                                      const struct sonde__elf *debug, struct sonde_error *ret_error)
{
    struct sonde__symbol_index *index = build->index;
    struct sonde__cfi_search search;
    struct sonde__elf_section section;
    uint64_t start, end;
    if (!sonde__elf_text_range(elf, &start, &end)) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "ELF without an executable segment", NULL,
                                0, elf->phoff);
    }
    start &= ~(((uint64_t)1 << SYMBOL_PAGE_SHIFT) - 1);
    if (end - start > CODE_BYTES_MAX) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "code spans more than 4 GiB", NULL, 0,
                                end - start);
    }
    index->base = start;
    index->size = end - start;
    index->arch = elf->machine == SONDE__EM_AARCH64 ? SONDE__ARCH_AARCH64 : SONDE__ARCH_X86_64;
    index->has_fde_search =
        (elf->machine == SONDE__EM_AARCH64 || elf->machine == SONDE__EM_X86_64) &&
        sonde__elf_cfi(elf, &index->cfi) && sonde__cfi_search_open(&index->cfi, &search);
    build->views[SYMBOL_TABLE_SYMTAB] = elf;
    build->views[SYMBOL_TABLE_DYNSYM] = elf;
    build->views[SYMBOL_TABLE_DEBUG] = debug;
    if (sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &section)) {
        (void)sonde__elf_symbols(elf, &section, &index->tables[SYMBOL_TABLE_SYMTAB]);
    }
    if (debug != NULL && sonde__elf_section_by_type(debug, SONDE__SHT_SYMTAB, &section)) {
        (void)sonde__elf_symbols(debug, &section, &index->tables[SYMBOL_TABLE_DEBUG]);
    }
    (void)sonde__elf_dynamic_symbols(elf, &index->tables[SYMBOL_TABLE_DYNSYM]);
    for (unsigned i = 0; i < SYMBOL_TABLE_COUNT; i++) {
        if (index->tables[i].count > SYMBOL_REF_INDEX_MAX) {
            return sonde__base_fail(ret_error, SONDE_LIMIT, "symbol table is too large", NULL, 0,
                                    index->tables[i].count);
        }
        build->capacity += index->tables[i].count;
    }
    build->capacity += symbol_count_plt(elf);
    return SONDE_OK;
}

/* Copy the entries into a block of their size, and fill the buckets. */
static enum sonde_status finish(const struct sonde__symbol_index *made,
                                const struct symbol_entries *entries,
                                struct sonde__symbol_index **ret_index)
{
    struct sonde__symbol_index *index;
    uint32_t pages = (uint32_t)((made->size + (1u << SYMBOL_PAGE_SHIFT) - 1) >> SYMBOL_PAGE_SHIFT);
    size_t crowd_bytes = entries->crowd_count * sizeof *entries->crowds;
    size_t entry_bytes = (size_t)entries->count * sizeof *entries->starts;
    size_t pad_bytes = SYMBOL_WINDOW * sizeof(uint32_t);
    size_t bytes = sizeof *index + 2 * entry_bytes + pad_bytes +
                   ((size_t)pages + 1) * sizeof(uint32_t) + crowd_bytes;
    uint32_t *words, page = 0;
    index = sonde__mem_alloc(bytes);
    if (index == NULL) {
        return SONDE_MEMORY;
    }
    *index = *made;
    index->count = entries->count;
    index->page_count = pages;
    index->crowd_count = (uint32_t)entries->crowd_count;
    index->block_bytes = bytes;
    words = (uint32_t *)(index + 1);
    index->starts = memcpy(words, entries->starts, entry_bytes);
    words += entries->count;
    memset(words, 0xff, pad_bytes);
    words += SYMBOL_WINDOW;
    index->refs = memcpy(words, entries->refs, entry_bytes);
    words += entries->count;
    index->buckets = words;
    for (uint32_t i = 0; i < entries->count; i++) {
        while (page <= entries->starts[i] >> SYMBOL_PAGE_SHIFT) {
            words[page++] = i;
        }
    }
    while (page <= pages) {
        words[page++] = entries->count;
    }
    words += (size_t)pages + 1;
    index->crowds = (const struct symbol_crowd *)words;
    if (crowd_bytes != 0) {
        memcpy(words, entries->crowds, crowd_bytes);
    }
    *ret_index = index;
    return SONDE_OK;
}

static enum sonde_status build_index(struct symbol_build *build, const struct sonde__elf *elf,
                                     struct sonde__symbol_index **ret_index)
{
    struct symbol_entries entries = {0};
    enum sonde_status status;
    for (unsigned table = 0; table < SYMBOL_TABLE_COUNT; table++) {
        SONDE_TRY(add_table(build, table));
    }
    if (symbol_sort(build->items, build->scratch, build->count,
                    (uint32_t)(build->index->size - 1)) == build->scratch) {
        struct symbol_item *sorted = build->scratch;
        build->scratch = build->items;
        build->items = sorted;
    }
    SONDE_TRY(symbol_add_plt(build, elf));
    /* Each item makes two entries at most, of 8 bytes: they fit the scratch of 16. */
    entries.starts = (uint32_t *)(void *)build->scratch;
    entries.refs = entries.starts + 2 * (size_t)build->capacity;
    status = symbol_flatten(build, &entries);
    if (status == SONDE_OK) {
        status = finish(build->index, &entries, ret_index);
    }
    sonde__mem_free(entries.crowds);
    return status;
}

enum sonde_status sonde__symbol_index_create(const struct sonde__elf *elf,
                                             const struct sonde__elf *debug,
                                             struct sonde__symbol_index **ret_index,
                                             struct sonde_error *ret_error)
{
    struct sonde__symbol_index made = {0};
    struct symbol_build build = {.index = &made};
    enum sonde_status status;
    SONDE_TRY(find_sources(&build, elf, debug, ret_error));
    build.items = sonde__mem_alloc_array(build.capacity, sizeof *build.items);
    build.scratch = sonde__mem_alloc_array(build.capacity, sizeof *build.scratch);
    status = build.items != NULL && build.scratch != NULL ? build_index(&build, elf, ret_index)
                                                          : SONDE_MEMORY;
    sonde__mem_free(build.items);
    sonde__mem_free(build.scratch);
    if (status == SONDE_MEMORY) {
        return sonde__base_fail(ret_error, status, "no memory for a symbol index", NULL, 0, 0);
    }
    return status;
}

void sonde__symbol_index_destroy(struct sonde__symbol_index *index)
{
    sonde__mem_free(index);
}
