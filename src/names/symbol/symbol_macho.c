// SPDX-License-Identifier: Apache-2.0
/* Names of a Mach-O's functions as tables for the index. Names of symbols and stubs stay in the
 * file; others are made, because the file has them in parts. */
#include <string.h>

#include "base_status.h"
#include "image_macho.h"
#include "mem_heap.h"
#include "symbol_index.h"
#include "symbol_layout.h"
#include "symbol_macho_names.h"

/* The section index of the entries: no special one. */
enum { ANY_SECTION = 1 };

/* Where names go: those of symbols, stubs, and names that are made. */
static const unsigned tables[] = {SYMBOL_TABLE_SYMTAB, SYMBOL_TABLE_STUBS, SYMBOL_TABLE_OBJC};

struct making {
    struct sonde__objc_symbols *made[SYMBOL_TABLE_COUNT];
    bool is_failed; /* no memory */
};

/* The offset of a copy in the strings; UINT64_MAX: no memory. */
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
    made->symbols.strings = made->strings;
    made->symbols.strings_size = made->strings_size;
    return at;
}

/* The offset of a name in the strings of its table. */
static uint64_t place_name(struct sonde__objc_symbols *made, const struct sonde__macho_name *name)
{
    if (name->table == NULL) {
        return copy_name(made, name->name);
    }
    made->symbols.strings = name->table->strings;
    made->symbols.strings_size = name->table->strings_size;
    return (uint64_t)(name->name - name->table->strings);
}

static bool add(void *ctx, const struct sonde__macho_name *name)
{
    struct making *making = ctx;
    unsigned table = name->source == SONDE__MACHO_NAME_SYMBOL ? SYMBOL_TABLE_SYMTAB
                     : name->source == SONDE__MACHO_NAME_STUB ? SYMBOL_TABLE_STUBS
                                                              : SYMBOL_TABLE_OBJC;
    struct sonde__objc_symbols *made = making->made[table];
    size_t count = made->symbols.count;
    uint64_t at = place_name(made, name);
    if (at != UINT64_MAX && (at > UINT32_MAX || count > SYMBOL_REF_INDEX_MAX)) {
        return true; /* strings of 4 GiB: without a name */
    }
    if (at == UINT64_MAX ||
        !sonde__mem_grow(&made->data, count, &made->data_capacity, SONDE__ELF_SYM64_BYTES)) {
        making->is_failed = true;
        return false;
    }
    symbol_write_function(made->data + count * SONDE__ELF_SYM64_BYTES, name->bind, ANY_SECTION,
                          (uint32_t)at, name->start, name->end - name->start);
    made->symbols.count++;
    return true;
}

/* Make the tables of the index. Returns OK | MEMORY. */
static enum sonde_status make_tables(const struct sonde__macho *macho,
                                     const struct sonde__macho *debug,
                                     struct sonde__symbol_index *index)
{
    struct making making = {.made = {[SYMBOL_TABLE_SYMTAB] = &index->own[0],
                                     [SYMBOL_TABLE_STUBS] = &index->own[1],
                                     [SYMBOL_TABLE_OBJC] = &index->objc}};
    enum sonde_status status = sonde__macho_each_name(macho, debug, add, &making);
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct sonde__elf_symbols *symbols = &making.made[tables[i]]->symbols;
        symbols->data = making.made[tables[i]]->data;
        symbols->entsize = SONDE__ELF_SYM64_BYTES;
        symbols->is64 = true;
        index->tables[tables[i]] = *symbols;
        index->strings[tables[i]] = symbols->strings;
    }
    index->strings[SYMBOL_KIND_PLT | SYMBOL_TABLE_STUBS] =
        index->tables[SYMBOL_TABLE_STUBS].strings;
    return making.is_failed ? SONDE_MEMORY : status;
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
    if (make_tables(macho, debug, &made) != SONDE_OK) {
        symbol_index_free_tables(&made);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for a symbol index", NULL, 0,
                                0);
    }
    made.base = start;
    made.size = end - start;
    build.index = &made;
    build.count = build.capacity = 0;
    build.has_stub_table = true;
    for (unsigned i = 0; i < SYMBOL_TABLE_COUNT; i++) {
        build.capacity += made.tables[i].count;
    }
    memset(build.views, 0, sizeof build.views);
    return symbol_build_finish(&build, NULL, ret_index, ret_error);
}
