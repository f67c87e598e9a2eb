// SPDX-License-Identifier: Apache-2.0
/* Functions of the symbol tables: names of code without DWARF, and aliases.
 *
 * One symbol is kept for each start; its other names become aliases. A symbol without a size
 * extends to the next one, the end of its section, or the end of its FDE. */
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "image_cfi.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "symbol_go.h"
#include "symbol_index.h"

static void judge(struct convert *c, const struct sonde__elf *elf,
                  const struct sonde__elf_symbol *symbol, struct candidates *to)
{
    struct sonde__elf_section section;
    struct candidate candidate = {0};
    /* ARM tells Thumb functions by bit 0 of their address (aaelf32 §5.5.3) */
    bool thumb = elf->machine == SONDE__EM_ARM && symbol->type == SONDE__STT_FUNC;
    uint64_t start = (thumb ? symbol->value & ~(uint64_t)1 : symbol->value) - c->base;
    if (symbol->section == SONDE__SHN_UNDEF && c->sites.count != 0 && symbol->name[0] != '\0') {
        convert_map_set(c, &c->sites.imports,
                        convert_string(c, symbol->name, strcspn(symbol->name, "@")), 1);
    }
    /* GHC's code has type OBJECT; without a size that is a table in the code */
    bool object = symbol->type == SONDE__STT_OBJECT && symbol->size != 0;
    if ((symbol->type != SONDE__STT_FUNC && symbol->type != SONDE__STT_GNU_IFUNC &&
         symbol->type != SONDE__STT_NOTYPE && !object) ||
        symbol->section == SONDE__SHN_UNDEF || start >= c->size || start == UINT32_MAX ||
        !sonde__symbol_may_be_function(symbol->name) ||
        !sonde__elf_section(elf, symbol->section, &section) ||
        (section.flags & SONDE__SHF_EXECINSTR) == 0) {
        return;
    }
    if (symbol->type == SONDE__STT_GNU_IFUNC) {
        convert_map_set(c, &c->sites.chosen, start, 1);
    }
    candidate.rank = (symbol->type == SONDE__STT_NOTYPE || object ? RANK_NO_TYPE : 0u) |
                     (symbol->size == 0 ? RANK_NO_SIZE : 0u) |
                     (symbol->bind == SONDE__STB_LOCAL  ? RANK_LOCAL
                      : symbol->bind == SONDE__STB_WEAK ? RANK_WEAK
                                                        : 0u);
    candidate.start = (uint32_t)start;
    candidate.end = section.vaddr + section.size - c->base;
    candidate.end = candidate.end < c->size ? candidate.end : c->size;
    candidate.size =
        symbol->size < UINT32_MAX - start ? (uint32_t)symbol->size : (uint32_t)(UINT32_MAX - start);
    /* "read@@GLIBC_2.2.5": the version is the linker's; but nasm's local labels are "..@5.loop" */
    const char *version =
        symbol->name[0] != '.'
            ? memchr(symbol->name + 1, '@', strnlen(symbol->name + 1, CONVERT_NAME_MAX))
            : NULL;
    if (version != NULL) {
        candidate.name = convert_string(c, symbol->name, (size_t)(version - symbol->name));
    } else {
        candidate.rank |= RANK_NO_VERSION;
        candidate.name = convert_name(c, symbol->name, elf->file.end);
    }
    convert_candidate(c, to, candidate);
}

static void add_table(struct convert *c, const struct sonde__elf *elf,
                      const struct sonde__elf_symbols *symbols, struct candidates *to)
{
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 0; c->status == SONDE_OK && sonde__elf_symbols_at(symbols, i, &symbol); i++) {
        judge(c, elf, &symbol, to);
    }
}

static void add_tables(struct convert *c, const struct sonde__elf *elf, struct candidates *to)
{
    struct sonde__elf_section section;
    struct sonde__elf_symbols symbols;
    if (sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &section) &&
        sonde__elf_symbols(elf, &section, &symbols)) {
        add_table(c, elf, &symbols, to);
    }
    if (sonde__elf_dynamic_symbols(elf, &symbols)) {
        add_table(c, elf, &symbols, to);
    }
}

static uint32_t underscores(const struct string *name)
{
    uint32_t n = 0;
    while (n < name->size && name->text[n] == '_') {
        n++;
    }
    return n;
}

/* The same order as in symbol_choose.c: global before local, with a version before without; then
 * the fewest leading underscores, strong before weak, the shortest, the first in byte order. */
static bool is_better(const struct convert *c, const struct candidate *a, const struct candidate *b)
{
    const struct string *x = &c->strings.all[a->name];
    const struct string *y = &c->strings.all[b->name];
    if ((a->rank | RANK_WEAK) != (b->rank | RANK_WEAK)) {
        return a->rank < b->rank;
    }
    if (underscores(x) != underscores(y)) {
        return underscores(x) < underscores(y);
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank;
    }
    if (x->size != y->size) {
        return x->size < y->size;
    }
    return memcmp(x->text, y->text, x->size) < 0;
}

static int by_start(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return SONDE__ORDER2(x, y, start, name);
}

/* Keep the names for call sites that refer to a function by name. */
static void note_names(struct convert *c, const struct candidate *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        convert_sites_name(c, (all[i].rank & RANK_LOCAL) != 0 ? &c->sites.locals : &c->sites.names,
                           all[i].name, all[i].start);
    }
}

/* Choose one symbol among the candidates of one start, which are sorted by name. */
static void choose(struct convert *c, const struct sonde__cfi *cfi, const struct candidate *all,
                   size_t count, uint32_t next)
{
    const struct candidate *best = &all[0];
    uint32_t size = 0;
    for (size_t i = 0; i < count; i++) {
        best = is_better(c, &all[i], best) ? &all[i] : best;
        size = all[i].size > size ? all[i].size : size;
    }
    if (size == 0) {
        uint64_t end = best->end < next ? best->end : next;
        uint64_t from, to;
        if (cfi != NULL && sonde__cfi_fde_bounds(cfi, 0, c->base + best->start, &from, &to) &&
            to - c->base < end) {
            end = to - c->base;
        }
        size = end > best->start ? (uint32_t)(end - best->start) : 0;
    }
    if (size == 0 || !CONVERT_ROOM(c, symbols, symbol_count, symbol_capacity)) {
        return;
    }
    c->symbols[c->symbol_count++] =
        (struct symbol){.start = best->start, .size = size, .name = best->name};
    for (size_t i = 0; i < count; i++) {
        if (all[i].name == best->name || (i > 0 && all[i].name == all[i - 1].name)) {
            continue;
        }
        if (!CONVERT_ROOM(c, aliases, alias_count, alias_capacity)) {
            return;
        }
        c->aliases[c->alias_count++] = (struct alias){(uint32_t)c->symbol_count - 1, all[i].name};
    }
}

/* Add Objective-C methods and Go functions, whose names remain in stripped files. */
static void add_kept(struct convert *c, const struct sonde__elf *elf, bool is_stripped,
                     struct candidates *to)
{
    struct sonde__objc_symbols methods;
    struct sonde__elf_symbol symbol;
    if (sonde__objc_symbols_make(elf, &methods) != SONDE_OK ||
        (is_stripped && methods.symbols.count == 0 &&
         sonde__go_symbols_make(elf, &methods) != SONDE_OK)) {
        c->status = SONDE_MEMORY;
    }
    for (uint32_t i = 0;
         c->status == SONDE_OK && sonde__elf_symbols_at(&methods.symbols, i, &symbol); i++) {
        uint64_t start = symbol.value - c->base;
        if (start < c->size && start != UINT32_MAX) {
            struct candidate candidate = {.end = c->size, .start = (uint32_t)start};
            candidate.size = symbol.size < c->size - start ? (uint32_t)symbol.size : 0;
            candidate.name = convert_string_copy(c, symbol.name, strlen(symbol.name));
            convert_candidate(c, to, candidate);
        }
    }
    sonde__objc_symbols_done(&methods);
}

/* All names of an ELF. False: no call frame information. */
static bool elf_symbols(struct convert *c, struct candidates *to, struct sonde__cfi *ret_cfi)
{
    const struct sonde__elf *code = c->source->image != NULL ? c->source->image : c->source->debug;
    struct sonde__elf_section section;
    add_tables(c, c->source->debug, to);
    if (c->source->image != NULL) {
        add_tables(c, c->source->image, to);
    }
    bool is_stripped = !sonde__elf_section_by_type(code, SONDE__SHT_SYMTAB, &section) &&
                       !sonde__elf_section_by_type(c->source->debug, SONDE__SHT_SYMTAB, &section);
    add_kept(c, code, is_stripped, to);
    return code->arch != SONDE_ARCH_OTHER && sonde__elf_cfi(code, ret_cfi);
}

void convert_symbols(struct convert *c)
{
    struct candidates candidates = {0};
    struct sonde__cfi cfi;
    bool with_cfi = false;
    if (c->source->macho_debug != NULL) {
        convert_macho_symbols(c, &candidates);
    } else {
        with_cfi = elf_symbols(c, &candidates, &cfi);
    }
    if (candidates.count != 0) {
        qsort(candidates.all, candidates.count, sizeof *candidates.all, by_start);
    }
    for (size_t i = 0; i < candidates.count && c->status == SONDE_OK;) {
        size_t first = i;
        while (i < candidates.count && candidates.all[i].start == candidates.all[first].start) {
            i++;
        }
        choose(c, with_cfi ? &cfi : NULL, &candidates.all[first], i - first,
               i < candidates.count ? candidates.all[i].start : UINT32_MAX);
        if (c->sites.count != 0) {
            note_names(c, &candidates.all[first], i - first);
        }
    }
    sonde__mem_free(candidates.all);
}
