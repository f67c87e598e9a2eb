// SPDX-License-Identifier: Apache-2.0
/* Symbols of a Mach-O as a table for the index. Names of symbols stay in the file; those of exports
 * are made, because the file has them in parts. */
#include <string.h>

#include "base_search.h"
#include "base_status.h"
#include "image_macho.h"
#include "mem_heap.h"
#include "symbol_index.h"
#include "symbol_layout.h"

/* Apple's name for a function whose name was removed. */
#define REDACTED "<redacted>"

/* The section index of the entries: no special one. */
enum { ANY_SECTION = 1 };

struct table {
    struct sonde__objc_symbols made;
    uint64_t *starts; /* of functions, ascending */
    size_t start_count, start_capacity;
    uint64_t shift; /* from the file's addresses to the image's */
    bool is_failed; /* no memory */
};

static void read_starts(struct table *table, const struct sonde__macho *macho)
{
    struct sonde__macho_starts list;
    uint64_t vaddr;
    sonde__macho_starts_begin(macho, &list);
    while (!table->is_failed && sonde__macho_starts_next(&list, &vaddr)) {
        table->is_failed =
            !SONDE__MEM_ADD(table->starts, table->start_count, table->start_capacity, vaddr);
    }
}

/* The first start behind a vaddr, or `end`. */
static uint64_t end_of(const struct table *table, uint64_t vaddr, uint64_t end)
{
    size_t after = SONDE__SEARCH(0, table->start_count, i, table->starts[i] <= vaddr);
    return after < table->start_count && table->starts[after] < end ? table->starts[after] : end;
}

/* name: an offset in the table's strings. end: of its section, in the file's addresses. */
static void add(struct table *table, unsigned bind, uint64_t name, uint64_t vaddr, uint64_t end)
{
    struct sonde__objc_symbols *made = &table->made;
    size_t count = made->symbols.count;
    uint64_t start = vaddr + table->shift;
    end = end_of(table, start, end + table->shift);
    if (end <= start || name > UINT32_MAX || count > SYMBOL_REF_INDEX_MAX) {
        return;
    }
    if (!sonde__mem_grow(&made->data, count, &made->data_capacity, SONDE__ELF_SYM64_BYTES)) {
        table->is_failed = true;
        return;
    }
    symbol_write_function(made->data + count * SONDE__ELF_SYM64_BYTES, bind, ANY_SECTION,
                          (uint32_t)name, start, end - start);
    made->symbols.count++;
}

static unsigned bind_of(const struct sonde__macho_symbol *symbol)
{
    return (symbol->type & SONDE__N_EXT) == 0        ? SONDE__STB_LOCAL
           : (symbol->desc & SONDE__N_WEAK_DEF) != 0 ? SONDE__STB_WEAK
                                                     : SONDE__STB_GLOBAL;
}

static void add_symbols(struct table *table, const struct sonde__macho *macho)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    if (!sonde__macho_symbols(macho, &symbols)) {
        return;
    }
    for (uint32_t i = 0; !table->is_failed && sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        if (sonde__macho_is_function(macho, &symbol, &section) &&
            strcmp(symbol.name, REDACTED) != 0) {
            const char *name = symbol.name + (symbol.name[0] == '_');
            add(table, bind_of(&symbol), (uint64_t)(name - symbols.strings), symbol.value,
                section.vaddr + section.size);
        }
    }
    table->made.symbols.strings = symbols.strings;
    table->made.symbols.strings_size = symbols.strings_size;
}

/* --- exports --- */

/* Find the end of the section of code at `vaddr`. False: there is no code. */
static bool find_code(const struct sonde__macho *macho, uint64_t vaddr, uint64_t *ret_end)
{
    struct sonde__macho_section section;
    for (uint32_t i = 0; sonde__macho_section(macho, i, &section); i++) {
        if (vaddr - section.vaddr < section.size &&
            (section.flags & (SONDE__S_ATTR_PURE_INSTRUCTIONS | SONDE__S_ATTR_SOME_INSTRUCTIONS)) !=
                0) {
            *ret_end = section.vaddr + section.size;
            return true;
        }
    }
    return false;
}

/* Returns the offset of the copy; UINT64_MAX: no memory. */
static uint64_t copy_name(struct sonde__objc_symbols *made, const char *name)
{
    size_t size = strlen(name) + 1, at = made->strings_size;
    while (made->strings == NULL || made->strings_capacity - at < size) {
        size_t capacity = made->strings_capacity;
        if (!sonde__mem_grow(&made->strings, capacity, &made->strings_capacity, 1)) {
            return UINT64_MAX;
        }
    }
    memcpy(made->strings + at, name, size);
    made->strings_size += size;
    return at;
}

static void add_export(struct table *table, const struct sonde__macho *macho,
                       const struct sonde__macho_export *found)
{
    uint64_t end;
    if ((found->flags & SONDE__EXPORT_REEXPORT) == 0 && find_code(macho, found->vaddr, &end)) {
        uint64_t name = copy_name(&table->made, found->name + (found->name[0] == '_'));
        bool is_weak = (found->flags & SONDE__EXPORT_WEAK_DEFINITION) != 0;
        table->is_failed = name == UINT64_MAX;
        add(table, is_weak ? SONDE__STB_WEAK : SONDE__STB_GLOBAL, name, found->vaddr, end);
    }
}

static void add_exports(struct table *table, const struct sonde__macho *macho)
{
    struct sonde__macho_exports *exports = sonde__mem_alloc(sizeof *exports);
    struct sonde__macho_export found;
    table->is_failed = table->is_failed || exports == NULL;
    if (exports != NULL) {
        sonde__macho_exports_begin(macho, exports);
        while (!table->is_failed && sonde__macho_exports_next(exports, &found)) {
            add_export(table, macho, &found);
        }
    }
    sonde__mem_free(exports);
    table->made.symbols.strings = table->made.strings;
    table->made.symbols.strings_size = table->made.strings_size;
}

/* --- */

static enum sonde_status make_table(const struct sonde__macho *macho,
                                    const struct sonde__macho *debug,
                                    struct sonde__objc_symbols *ret_symbols)
{
    struct table table = {.shift = 0};
    read_starts(&table, macho);
    if (debug != NULL) {
        table.shift = macho->base - debug->base;
        add_symbols(&table, debug);
        table.shift = 0;
    }
    if (table.made.symbols.count == 0) {
        add_symbols(&table, macho);
    }
    if (table.made.symbols.count == 0) {
        add_exports(&table, macho);
    }
    table.made.symbols.data = table.made.data;
    table.made.symbols.entsize = SONDE__ELF_SYM64_BYTES;
    table.made.symbols.is64 = true;
    sonde__mem_free(table.starts);
    if (table.is_failed) {
        sonde__objc_symbols_done(&table.made);
        return SONDE_MEMORY;
    }
    *ret_symbols = table.made;
    return SONDE_OK;
}

enum sonde_status sonde__symbol_index_create_macho(const struct sonde__macho *macho,
                                                   const struct sonde__macho *debug,
                                                   struct sonde__symbol_index **ret_index,
                                                   struct sonde_error *ret_error)
{
    struct sonde__symbol_index made = {.arch = macho->arch};
    struct symbol_build build; /* large counters are cleared where they are used */
    uint64_t start, end;
    if (!sonde__macho_text_range(macho, &start, &end)) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "Mach-O without code", NULL, 0, 0);
    }
    start &= ~(((uint64_t)1 << SYMBOL_PAGE_SHIFT) - 1);
    if (end - start > SYMBOL_CODE_BYTES_MAX) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "code spans more than 4 GiB", NULL, 0,
                                end - start);
    }
    if (make_table(macho, debug, &made.objc) != SONDE_OK) {
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for a symbol index", NULL, 0,
                                0);
    }
    made.base = start;
    made.size = end - start;
    made.tables[SYMBOL_TABLE_OBJC] = made.objc.symbols;
    made.strings[SYMBOL_TABLE_OBJC] = made.objc.symbols.strings;
    build.index = &made;
    build.count = 0;
    build.capacity = made.objc.symbols.count;
    memset(build.views, 0, sizeof build.views);
    return symbol_build_finish(&build, NULL, ret_index, ret_error);
}
