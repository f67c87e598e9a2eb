// SPDX-License-Identifier: Apache-2.0
/* Functions of a Mach-O's symbol table and exports.
 *
 * Mach-O symbols have no size: one extends to the next symbol, but not beyond the function that it
 * lies in (LC_FUNCTION_STARTS) nor its section. So a function without a symbol gets no name instead
 * of its predecessor's. A dSYM and its image may be linked to different addresses; the image's are
 * converted to the dSYM's. */
#include <string.h>

#include "base_search.h"
#include "convert.h"
#include "mem_heap.h"
#include "mem_sort.h"

/* Programs have three to six: text, stubs, helpers. */
#define CODE_SECTIONS_MAX 64u

struct starts {
    uint64_t *all; /* ascending, in the coordinates of the debug file */
    size_t count, capacity;
};

static void read_starts(struct convert *c, const struct sonde__macho *macho, uint64_t shift,
                        struct starts *starts)
{
    struct sonde__macho_starts list;
    uint64_t vaddr;
    sonde__macho_starts_begin(macho, &list);
    while (c->status == SONDE_OK && sonde__macho_starts_next(&list, &vaddr)) {
        if (starts->count < starts->capacity ||
            convert_grow(c, &starts->all, starts->count, &starts->capacity, sizeof *starts->all)) {
            starts->all[starts->count++] = vaddr + shift;
        }
    }
}

/* The first start behind a vaddr, or `end`. */
static uint64_t next_start(const struct starts *starts, uint64_t vaddr, uint64_t end)
{
    size_t after = SONDE__SEARCH(0, starts->count, i, starts->all[i] <= vaddr);
    return after < starts->count && starts->all[after] < end ? starts->all[after] : end;
}

static void add(struct convert *c, const struct starts *starts, uint64_t vaddr, uint64_t end,
                uint32_t rank, const char *name, struct candidates *to)
{
    struct candidate candidate = {.rank = rank};
    uint64_t start = vaddr - c->base;
    if (start >= c->size || start >= UINT32_MAX) {
        return;
    }
    end = next_start(starts, vaddr, end) - c->base;
    candidate.start = (uint32_t)start;
    candidate.end = end < c->size ? end : c->size;
    name += name[0] == '_'; /* Mach-O prefixes every C name with it */
    candidate.name = convert_string_copy(c, name, strnlen(name, CONVERT_NAME_MAX));
    convert_candidate(c, to, candidate);
}

static void add_symbols(struct convert *c, const struct sonde__macho *macho, uint64_t shift,
                        const struct starts *starts, struct candidates *to)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    if (!sonde__macho_symbols(macho, &symbols)) {
        return;
    }
    for (uint32_t i = 0; c->status == SONDE_OK && sonde__macho_symbols_at(&symbols, i, &symbol);
         i++) {
        if (sonde__macho_is_function(macho, &symbol, &section)) {
            uint64_t value =
                macho->cpu == SONDE__CPU_ARM ? symbol.value & ~(uint64_t)1 : symbol.value;
            uint32_t rank = (symbol.type & SONDE__N_EXT) == 0        ? RANK_LOCAL
                            : (symbol.desc & SONDE__N_WEAK_DEF) != 0 ? RANK_WEAK
                                                                     : 0u;
            add(c, starts, value + shift, section.vaddr + section.size + shift, rank, symbol.name,
                to);
        }
    }
}

/* Sections of code; exports also name data. */
struct code {
    uint32_t count;
    struct {
        uint64_t start, size;
    } parts[CODE_SECTIONS_MAX];
};

static void find_code(const struct sonde__macho *macho, struct code *code)
{
    struct sonde__macho_section section;
    code->count = 0;
    for (uint32_t i = 0;
         code->count < CODE_SECTIONS_MAX && sonde__macho_section(macho, i, &section); i++) {
        if ((section.flags & (SONDE__S_ATTR_PURE_INSTRUCTIONS | SONDE__S_ATTR_SOME_INSTRUCTIONS)) !=
            0) {
            code->parts[code->count].start = section.vaddr;
            code->parts[code->count++].size = section.size;
        }
    }
}

static bool is_code(const struct code *code, uint64_t vaddr, uint64_t *ret_end)
{
    for (uint32_t i = 0; i < code->count; i++) {
        if (vaddr - code->parts[i].start < code->parts[i].size) {
            *ret_end = code->parts[i].start + code->parts[i].size;
            return true;
        }
    }
    return false;
}

/* Exports remain when the symbol table is stripped. */
static void add_exports(struct convert *c, const struct sonde__macho *macho, uint64_t shift,
                        const struct starts *starts, struct candidates *to)
{
    struct sonde__macho_exports *exports = sonde__mem_alloc(sizeof *exports);
    struct sonde__macho_export export;
    struct code code;
    uint64_t end;
    if (exports == NULL) {
        c->status = SONDE_MEMORY;
        return;
    }
    find_code(macho, &code);
    sonde__macho_exports_begin(macho, exports);
    while (c->status == SONDE_OK && sonde__macho_exports_next(exports, &export)) {
        if ((export.flags & SONDE__EXPORT_REEXPORT) == 0 && is_code(&code, export.vaddr, &end)) {
            add(c, starts, export.vaddr + shift, end + shift,
                (export.flags & SONDE__EXPORT_WEAK_DEFINITION) != 0 ? RANK_WEAK : 0u, export.name,
                to);
        }
    }
    sonde__mem_free(exports);
}

void convert_macho_symbols(struct convert *c, struct candidates *to)
{
    const struct sonde__macho *debug = c->source->macho_debug;
    const struct sonde__macho *image = c->source->macho_image;
    uint64_t shift = image != NULL ? debug->base - image->base : 0;
    struct starts starts = {0};
    read_starts(c, debug, 0, &starts);
    if (image != NULL) {
        read_starts(c, image, shift, &starts);
    }
    sonde__mem_sort(starts.all, starts.count, sizeof *starts.all, sizeof *starts.all);
    add_symbols(c, debug, 0, &starts, to);
    add_exports(c, debug, 0, &starts, to);
    if (image != NULL) {
        add_symbols(c, image, shift, &starts, to);
        add_exports(c, image, shift, &starts, to);
    }
    sonde__mem_free(starts.all);
}
