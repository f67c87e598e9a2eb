// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: a Mach-O of any content, alone or in a container. Walks everything that the reader
 * offers and all names, builds and queries an index, and reads every string to its end. */
#include <string.h>

#include "fuzz.h"
#include "fuzz_read.h"
#include "image_macho.h"
#include "symbol_index.h"
#include "symbol_macho_names.h"
#include "symbol_macho_objc.h"

/* Limit of items per table: a table may have as many as the input has bytes. */
#define WALKED_MAX 300u

static volatile uint64_t sink;

struct count {
    uint64_t fixups, limit;
};

static bool see_fixup(void *ctx, const struct sonde__macho_fixup *fixup)
{
    struct count *count = ctx;
    count->fixups++;
    FUZZ_MUST(count->fixups <= count->limit);
    if (fixup->import != NULL) {
        fuzz_read_string(fixup->import);
    }
    return true;
}

static void walk_sections(const struct sonde__macho *macho,
                          const struct sonde__macho_symbols *symbols)
{
    struct sonde__macho_section section;
    struct sonde__macho_symbol symbol;
    for (uint32_t i = 0; i < WALKED_MAX && sonde__macho_section(macho, i, &section); i++) {
        uint64_t left = 0;
        fuzz_read_string(section.name);
        fuzz_read_string(section.segment);
        fuzz_read_bytes(section.data, section.size);
        fuzz_read_bytes(sonde__macho_from_vaddr(macho, section.vaddr, &left), left);
        for (uint32_t k = 0; symbols != NULL && k < 20; k++) {
            if (sonde__macho_indirect(macho, symbols, &section, k, &symbol)) {
                fuzz_read_string(symbol.name);
            }
        }
    }
    (void)sonde__macho_section_by_name(macho, "__DWARF", "__debug_str_offsets", &section);
}

static void walk(const struct sonde__macho *macho)
{
    static struct sonde__macho_exports exports;
    struct sonde__macho_export export;
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    struct sonde__macho_starts starts;
    struct count count = {.limit = (uint64_t)(macho->file.end - macho->file.begin)};
    uint64_t start, end;
    bool named = sonde__macho_symbols(macho, &symbols);
    for (uint32_t i = 0; named && sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        if (i < WALKED_MAX) {
            fuzz_read_string(symbol.name);
            (void)sonde__macho_is_function(macho, &symbol, &section);
        }
    }
    walk_sections(macho, named ? &symbols : NULL);
    sonde__macho_starts_begin(macho, &starts);
    while (sonde__macho_starts_next(&starts, &start)) {
        sink += start;
    }
    sonde__macho_exports_begin(macho, &exports);
    while (sonde__macho_exports_next(&exports, &export)) {
        fuzz_read_string(export.name);
    }
    (void)sonde__macho_text_range(macho, &start, &end);
    (void)sonde__macho_each_fixup(macho, see_fixup, &count);
}

/* --- names --- */

struct seen {
    uint64_t names, bytes; /* of names that are made */
};

static bool see_name(void *ctx, const struct sonde__macho_name *name)
{
    struct seen *seen = ctx;
    FUZZ_MUST(name->start < name->end);
    seen->names++;
    if (name->source == SONDE__MACHO_NAME_METHOD) {
        size_t size = strlen(name->name);
        FUZZ_MUST(size < SONDE__MACHO_METHOD_BYTES);
        seen->bytes += size;
    } else if (seen->names < WALKED_MAX) {
        fuzz_read_string(name->name);
    }
    return true;
}

static void walk_names(const struct sonde__macho *macho)
{
    struct seen seen = {0};
    struct sonde__symbol_index *index = NULL;
    struct sonde__symbol symbol;
    struct sonde_error error;
    uint64_t start, end, size = (uint64_t)(macho->file.end - macho->file.begin);
    (void)(sonde__macho_each_name(macho, (size & 1) != 0 ? macho : NULL, see_name, &seen) ==
           SONDE_OK);
    /* a small file has no large names */
    FUZZ_MUST(seen.bytes <= 40 * size);
    if (sonde__symbol_index_create_macho(macho, NULL, &index, &error) != SONDE_OK ||
        !sonde__macho_text_range(macho, &start, &end)) {
        return;
    }
    for (uint64_t at = start; at < end && at >= start; at += (end - start) / 50 + 1) {
        if (sonde__symbol_find(index, at, &symbol)) {
            FUZZ_MUST(symbol.start <= at && at < symbol.end);
            fuzz_read_string(symbol.name);
        }
    }
    sonde__symbol_index_destroy(index);
}

static bool see_member(void *ctx, const struct sonde__macho_member *member)
{
    unsigned *count = ctx;
    struct sonde__macho macho;
    struct sonde_error error;
    fuzz_read_bytes((const uint8_t *)member->name, member->name_size);
    if (sonde__macho_open(member->data, member->size, &macho, &error) == SONDE_OK) {
        walk(&macho);
        walk_names(&macho);
    }
    return ++*count < 30;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sonde_error error;
    unsigned count = 0;
    if (sonde__macho_each(data, size, see_member, &count, &error) == SONDE_OK) {
        FUZZ_MUST(sonde__macho_begins(data, size));
    }
    return 0;
}
