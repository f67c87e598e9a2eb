// SPDX-License-Identifier: Apache-2.0
/* Builds a symbol index: candidates from the tables, sorted, PLT stubs merged in, flattened to
 * entries, and copied with their page buckets into one block of the right size.
 *
 * Peak memory: 24 bytes per symbol, of which only the part for functions is touched; freed on
 * return. */
#include "arch_regs.h"
#include "base_status.h"
#include "image_cfi.h"
#include "image_elf_format.h"
#include "mem_heap.h"
#include "symbol_go.h"
#include "symbol_index.h"
#include "symbol_layout.h"

bool sonde__symbol_may_be_function(const char *name)
{
    if (name[0] == '\0' || (name[0] == '.' && name[1] == 'L')) {
        return false;
    }
    return !(name[0] == '$' &&
             (name[1] == 'x' || name[1] == 'd' || name[1] == 'a' || name[1] == 't'));
}

/* Does each section of `elf` contain code? Null without sections: *ret_count is 0. */
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

/* Is a symbol that is not of a function's type a label of code: in assembler, or of GHC, whose code
 * has type OBJECT (without a size that is a table in the code)? Not inlined, so that the loop over
 * all symbols does not read sizes. */
static __attribute__((noinline)) bool is_code_label(const struct sonde__elf_symbols *symbols,
                                                    uint32_t index)
{
    struct symbol_raw raw = symbol_read(symbols, index);
    unsigned type = raw.info & 15;
    return (type == SONDE__STT_NOTYPE || (type == SONDE__STT_OBJECT && raw.size != 0)) &&
           sonde__symbol_may_be_function(symbols->strings + raw.name);
}

static inline bool is_candidate(const struct sonde__elf_symbols *symbols, uint32_t index,
                                const struct symbol_raw *raw, const uint8_t *code_sections,
                                uint32_t section_count)
{
    unsigned type = raw->info & 15;
    if (type != SONDE__STT_FUNC && type != SONDE__STT_GNU_IFUNC &&
        (section_count == 0 || !is_code_label(symbols, index))) {
        return false;
    }
    return raw->section != SONDE__SHN_UNDEF && raw->section != SONDE__SHN_ABS &&
           raw->section != SONDE__SHN_COMMON &&
           (raw->section >= section_count || code_sections[raw->section]);
}

static inline __attribute__((always_inline)) void
scan_table(struct symbol_build *build, const struct sonde__elf_symbols *symbols, uint32_t ref,
           const uint8_t *code_sections, uint32_t section_count)
{
    const uint64_t base = build->index->base, size = build->index->size;
    const unsigned bits = build->digits.bits;
    symbol_key *to = build->keys + build->count;
    for (uint32_t i = 0; i < symbols->count; i++) {
        struct symbol_raw raw = symbol_read(symbols, i);
        uint64_t offset = raw.value - base;
        if (offset < size && is_candidate(symbols, i, &raw, code_sections, section_count)) {
            *to++ = symbol_make_key((uint32_t)offset, ref | i);
            symbol_count_digits(&build->digits, bits, (uint32_t)offset);
        }
    }
    build->count = (uint32_t)(to - build->keys);
}

static enum sonde_status add_table(struct symbol_build *build, unsigned table)
{
    struct sonde__elf_symbols symbols = build->index->tables[table];
    bool has_stubs = build->has_stub_table && table == SYMBOL_TABLE_STUBS;
    uint32_t ref = (uint32_t)table << SYMBOL_REF_TABLE_SHIFT | (has_stubs ? SYMBOL_REF_PLT : 0);
    uint8_t *code_sections = NULL;
    uint32_t section_count = 0;
    if (symbols.count == 0) {
        return SONDE_OK;
    }
    if (build->views[table] != NULL) {
        SONDE_TRY(mark_code_sections(build->views[table], &code_sections, &section_count));
    }
    if (symbols.is64 && symbols.entsize == SONDE__ELF_SYM64_BYTES) {
        symbols.is64 = true; /* constants: the loop is specialised for them */
        symbols.entsize = SONDE__ELF_SYM64_BYTES;
        scan_table(build, &symbols, ref, code_sections, section_count);
    } else {
        scan_table(build, &symbols, ref, code_sections, section_count);
    }
    sonde__mem_free(code_sections);
    return SONDE_OK;
}

/* Find the tables for the index, and the range of its code. */
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
    if (end - start > SYMBOL_CODE_BYTES_MAX) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "code spans more than 4 GiB", NULL, 0,
                                end - start);
    }
    index->base = start;
    index->size = end - start;
    index->arch = elf->arch;
    index->has_fde_search = elf->arch != SONDE_ARCH_OTHER && sonde__elf_cfi(elf, &index->cfi) &&
                            sonde__cfi_search_open(&index->cfi, &search);
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
    build->views[SYMBOL_TABLE_OBJC] = elf;
    bool is_stripped = index->tables[SYMBOL_TABLE_SYMTAB].count == 0 &&
                       index->tables[SYMBOL_TABLE_DEBUG].count == 0;
    if (sonde__objc_symbols_make(elf, &index->objc) != SONDE_OK ||
        (is_stripped && index->objc.symbols.count == 0 &&
         sonde__go_symbols_make(elf, &index->objc) != SONDE_OK)) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for a symbol index", NULL, 0,
                                0);
    }
    index->tables[SYMBOL_TABLE_OBJC] = index->objc.symbols;
    for (unsigned i = 0; i < SYMBOL_TABLE_COUNT; i++) {
        if (index->tables[i].count > SYMBOL_REF_INDEX_MAX) {
            return sonde__base_fail(ret_error, SONDE_LIMIT, "symbol table is too large", NULL, 0,
                                    index->tables[i].count);
        }
        build->capacity += index->tables[i].count;
    }
    build->capacity += symbol_count_plt(elf);
    for (uint32_t kind = 0; kind < SYMBOL_KIND_EXTRA; kind++) {
        if ((kind & SYMBOL_KIND_TABLE) < SYMBOL_TABLE_COUNT) {
            index->strings[kind] = index->tables[kind & SYMBOL_KIND_TABLE].strings;
        }
    }
    return SONDE_OK;
}

static uint32_t count_pages(const struct sonde__symbol_index *index)
{
    return (uint32_t)((index->size + (1u << SYMBOL_PAGE_SHIFT) - 1) >> SYMBOL_PAGE_SHIFT);
}

/* Group the entries of each page. */
static void pack_pages(const struct symbol_entries *entries, uint8_t *to)
{
    uint32_t i = 0;
    for (uint32_t page = 0; page < entries->page_count; page++) {
        uint32_t end = entries->buckets[page + 1];
        uint8_t *more = to + (size_t)(end - i) * SYMBOL_START_BYTES;
        for (; i < end; i++) {
            memcpy(to, &entries->starts[i], 2);
            memcpy(more, &entries->names[i], 4);
            memcpy(more + 4, &entries->rests[i], 2);
            to += SYMBOL_START_BYTES;
            more += SYMBOL_NAME_BYTES;
        }
        to = more;
    }
    memset(to, 0, (size_t)SYMBOL_WINDOW * SYMBOL_START_BYTES);
}

/* Copy the entries into a block of their size. */
static enum sonde_status finish(const struct sonde__symbol_index *made,
                                const struct symbol_entries *entries,
                                struct sonde__symbol_index **ret_index)
{
    size_t extra_bytes = entries->extra_count * sizeof *entries->extras;
    size_t bucket_bytes = ((size_t)entries->page_count + 1) * sizeof *entries->buckets;
    size_t bytes = sizeof *made + extra_bytes + bucket_bytes +
                   (size_t)entries->count * SYMBOL_ENTRY_BYTES +
                   (size_t)SYMBOL_WINDOW * SYMBOL_START_BYTES;
    struct sonde__symbol_index *index = sonde__mem_alloc(bytes);
    uint8_t *at;
    if (index == NULL) {
        return SONDE_MEMORY;
    }
    *index = *made;
    index->count = entries->count;
    index->page_count = entries->page_count;
    index->extra_count = (uint32_t)entries->extra_count;
    index->block_bytes = bytes;
    at = (uint8_t *)(index + 1);
    index->extras = (const struct symbol_extra *)(void *)at;
    if (extra_bytes != 0) {
        memcpy(at, entries->extras, extra_bytes);
    }
    at += extra_bytes;
    index->buckets = memcpy(at, entries->buckets, bucket_bytes);
    at += bucket_bytes;
    index->pages = at;
    pack_pages(entries, at);
    *ret_index = index;
    return SONDE_OK;
}

static enum sonde_status flatten_and_finish(struct symbol_build *build,
                                            struct symbol_entries *entries,
                                            struct sonde__symbol_index **ret_index)
{
    enum sonde_status status;
    entries->page_count = count_pages(build->index);
    entries->buckets =
        sonde__mem_alloc_zeroed(((size_t)entries->page_count + 1) * sizeof *entries->buckets);
    if (entries->buckets == NULL) {
        return SONDE_MEMORY;
    }
    status = symbol_flatten(build, entries);
    if (status == SONDE_OK) {
        status = finish(build->index, entries, ret_index);
    }
    sonde__mem_free(entries->extras);
    sonde__mem_free(entries->buckets);
    return status;
}

/* Note the sizes of the table's stubs, in the order of the sorted keys. */
static enum sonde_status note_stub_sizes(struct symbol_build *build)
{
    const struct sonde__elf_symbols *table = &build->index->tables[SYMBOL_TABLE_STUBS];
    uint32_t count = 0;
    build->stub_sizes = sonde__mem_alloc_array(table->count + 1u, sizeof *build->stub_sizes);
    if (build->stub_sizes == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < build->count; i++) {
        if (((uint32_t)build->keys[i] & SYMBOL_REF_PLT) != 0) {
            build->stub_sizes[count++] =
                (uint32_t)symbol_read(table, symbol_ref_index((uint32_t)build->keys[i])).size;
        }
    }
    return SONDE_OK;
}

/* spare: has the size of the keys. */
static enum sonde_status build_index(struct symbol_build *build, const struct sonde__elf *elf,
                                     void *spare, struct sonde__symbol_index **ret_index)
{
    struct symbol_entries entries = {.names = spare};
    symbol_key *keys = build->keys;
    symbol_sort_prepare(&build->digits, (uint32_t)(build->index->size - 1));
    for (unsigned table = 0; table < SYMBOL_TABLE_COUNT; table++) {
        SONDE_TRY(add_table(build, table));
    }
    build->keys = symbol_sort(keys, build->scratch, build->count, &build->digits);
    build->scratch = build->keys == keys ? build->scratch : keys;
    if (elf != NULL) {
        SONDE_TRY(symbol_add_plt(build, elf));
    } else if (build->has_stub_table) {
        SONDE_TRY(note_stub_sizes(build));
    }
    /* A key makes at most two entries. The scratch has starts and rests, the spare has names. */
    entries.starts = (uint16_t *)(void *)build->scratch;
    entries.rests = entries.starts + 2 * (size_t)build->capacity;
    return flatten_and_finish(build, &entries, ret_index);
}

enum sonde_status symbol_build_finish(struct symbol_build *build, const struct sonde__elf *elf,
                                      struct sonde__symbol_index **ret_index,
                                      struct sonde_error *ret_error)
{
    enum sonde_status status = SONDE_MEMORY;
    symbol_key *block = sonde__mem_alloc_array(build->capacity, 3 * sizeof *block);
    build->stub_sizes = NULL;
    if (block != NULL) {
        build->keys = block;
        build->scratch = block + build->capacity;
        status = build_index(build, elf, block + 2 * (size_t)build->capacity, ret_index);
    }
    sonde__mem_free(block);
    sonde__mem_free(build->stub_sizes);
    if (status != SONDE_OK) {
        symbol_index_free_tables(build->index);
    }
    if (status == SONDE_MEMORY) {
        return sonde__base_fail(ret_error, status, "no memory for a symbol index", NULL, 0, 0);
    }
    return status;
}

enum sonde_status sonde__symbol_index_create(const struct sonde__elf *elf,
                                             const struct sonde__elf *debug,
                                             struct sonde__symbol_index **ret_index,
                                             struct sonde_error *ret_error)
{
    struct sonde__symbol_index made = {0};
    struct symbol_build build; /* large counters are cleared where they are used */
    build.index = &made;
    build.count = build.capacity = 0;
    build.has_stub_table = false;
    enum sonde_status status = find_sources(&build, elf, debug, ret_error);
    if (status != SONDE_OK) {
        sonde__objc_symbols_done(&made.objc);
        return status;
    }
    return symbol_build_finish(&build, elf, ret_index, ret_error);
}

void sonde__symbol_index_destroy(struct sonde__symbol_index *index)
{
    if (index != NULL) {
        symbol_index_free_tables(index);
    }
    sonde__mem_free(index);
}
