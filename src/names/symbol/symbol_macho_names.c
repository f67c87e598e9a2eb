// SPDX-License-Identifier: Apache-2.0
#include "symbol_macho_names.h"

#include <stdio.h>
#include <string.h>

#include "base_search.h"
#include "image_elf_format.h"
#include "mem_heap.h"
#include "mem_sort.h"
#include "symbol_macho_extent.h"
#include "symbol_macho_objc.h"

/* Apple's text in place of a name that was removed. */
#define REDACTED "<redacted>"
/* Programs have three to six: text, stubs, helpers. */
#define CODE_SECTIONS_MAX 64u
/* Linkers put jumps between functions (islands) only where code is larger than the reach of a
 * branch, 128 MiB. */
#define ISLANDS_CODE_MIN ((uint64_t)120 << 20)

struct addresses {
    uint64_t *all; /* ascending, after sort() */
    size_t count, capacity;
};

struct names {
    const struct sonde__macho *macho;
    bool (*each)(void *ctx, const struct sonde__macho_name *name);
    void *ctx;
    struct addresses starts; /* of functions */
    struct addresses named;  /* that symbols name */
    /* of functions: before an island; or of all, where `starts` is empty and symbols were
     * removed */
    struct addresses ends;
    bool has_locals; /* a symbol of a function that is local: none was removed */
    struct {
        uint64_t start, size;
    } code[CODE_SECTIONS_MAX];
    uint32_t code_count;
    bool is_done; /* no memory, or `each` wants no more */
    bool is_failed;
};

static void put(struct names *n, struct addresses *to, uint64_t vaddr)
{
    if (!SONDE__MEM_ADD(to->all, to->count, to->capacity, vaddr)) {
        n->is_failed = n->is_done = true;
    }
}

static void sort(struct addresses *addresses)
{
    sonde__mem_sort(addresses->all, addresses->count, sizeof(uint64_t), sizeof(uint64_t));
}

/* The number of addresses up to `vaddr`. */
static size_t count_until(const struct addresses *in, uint64_t vaddr)
{
    return SONDE__SEARCH(0, in->count, i, in->all[i] <= vaddr);
}

static bool contains(const struct addresses *in, uint64_t vaddr)
{
    size_t after = count_until(in, vaddr);
    return in->all != NULL && after != 0 && in->all[after - 1] == vaddr;
}

static void read_starts(struct names *n, const struct sonde__macho *macho, uint64_t shift)
{
    struct sonde__macho_starts list;
    uint64_t vaddr;
    sonde__macho_starts_begin(macho, &list);
    while (!n->is_done && sonde__macho_starts_next(&list, &vaddr)) {
        put(n, &n->starts, vaddr + shift);
    }
}

/* The first of the addresses after `vaddr`, at most `limit`. */
static uint64_t next_after(const struct addresses *in, uint64_t vaddr, uint64_t limit)
{
    size_t after = count_until(in, vaddr);
    return after < in->count && in->all[after] < limit ? in->all[after] : limit;
}

/* limit: the end of the section, or of the stub. */
static void give(struct names *n, struct sonde__macho_name *name, uint64_t limit)
{
    name->end = next_after(&n->ends, name->start, next_after(&n->starts, name->start, limit));
    name->name += name->name[0] == '_';
    if (name->end > name->start && !n->each(n->ctx, name)) {
        n->is_done = true;
    }
}

static uint8_t bind_of(const struct sonde__macho_symbol *symbol)
{
    return (symbol->type & SONDE__N_EXT) == 0        ? SONDE__STB_LOCAL
           : (symbol->desc & SONDE__N_WEAK_DEF) != 0 ? SONDE__STB_WEAK
                                                     : SONDE__STB_GLOBAL;
}

static void give_symbols(struct names *n, const struct sonde__macho *macho, uint64_t shift)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_symbol symbol;
    struct sonde__macho_section section;
    uint64_t thumb = macho->cpu == SONDE__CPU_ARM ? 1 : 0;
    if (!sonde__macho_symbols(macho, &symbols)) {
        return;
    }
    for (uint32_t i = 0; !n->is_done && sonde__macho_symbols_at(&symbols, i, &symbol); i++) {
        struct sonde__macho_name name = {.name = symbol.name,
                                         .start = (symbol.value & ~thumb) + shift,
                                         .table = &symbols,
                                         .source = SONDE__MACHO_NAME_SYMBOL,
                                         .bind = bind_of(&symbol)};
        if (sonde__macho_is_function(macho, &symbol, &section) &&
            strcmp(symbol.name, REDACTED) != 0) {
            put(n, &n->named, name.start);
            n->has_locals = n->has_locals || name.bind == SONDE__STB_LOCAL;
            give(n, &name, section.vaddr + section.size + shift);
        }
    }
}

/* --- what remains without symbols --- */

/* Exports also name data. */
static void find_code(struct names *n)
{
    struct sonde__macho_section section;
    for (uint32_t i = 0;
         n->code_count < CODE_SECTIONS_MAX && sonde__macho_section(n->macho, i, &section); i++) {
        if ((section.flags & (SONDE__S_ATTR_PURE_INSTRUCTIONS | SONDE__S_ATTR_SOME_INSTRUCTIONS)) !=
            0) {
            n->code[n->code_count].start = section.vaddr;
            n->code[n->code_count++].size = section.size;
        }
    }
}

/* The end of the section of code at `vaddr`; 0: there is no code. */
static uint64_t code_end(const struct names *n, uint64_t vaddr)
{
    for (uint32_t i = 0; i < n->code_count; i++) {
        if (vaddr - n->code[i].start < n->code[i].size) {
            return n->code[i].start + n->code[i].size;
        }
    }
    return 0;
}

static void give_exports(struct names *n)
{
    struct sonde__macho_exports *exports = sonde__mem_alloc(sizeof *exports);
    struct sonde__macho_export found;
    if (exports == NULL) {
        n->is_failed = n->is_done = true;
        return;
    }
    sonde__macho_exports_begin(n->macho, exports);
    while (!n->is_done && sonde__macho_exports_next(exports, &found)) {
        bool is_weak = (found.flags & SONDE__EXPORT_WEAK_DEFINITION) != 0;
        struct sonde__macho_name name = {.name = found.name,
                                         .start = found.vaddr,
                                         .source = SONDE__MACHO_NAME_EXPORT,
                                         .bind = is_weak ? SONDE__STB_WEAK : SONDE__STB_GLOBAL};
        uint64_t end = code_end(n, found.vaddr);
        if (end != 0 && (found.flags & SONDE__EXPORT_REEXPORT) == 0 &&
            !contains(&n->named, found.vaddr)) {
            give(n, &name, end);
        }
    }
    sonde__mem_free(exports);
}

/* left: entries of the table that no section has had yet; each belongs to one, which bounds the
 * time for sections that overlap. */
static void give_stubs_in(struct names *n, const struct sonde__macho_symbols *symbols,
                          const struct sonde__macho_section *section, uint32_t *left)
{
    uint32_t bytes = sonde__macho_indirect_bytes(n->macho, section);
    struct sonde__macho_symbol symbol;
    for (uint32_t i = 0; bytes != 0 && !n->is_done && i < section->size / bytes; i++) {
        struct sonde__macho_name name = {.start = section->vaddr + (uint64_t)i * bytes,
                                         .table = symbols,
                                         .source = SONDE__MACHO_NAME_STUB,
                                         .bind = SONDE__STB_GLOBAL};
        if (section->reserved1 + (uint64_t)i >= n->macho->indirect_count || *left == 0) {
            break;
        }
        (*left)--;
        if (sonde__macho_indirect(n->macho, symbols, section, i, &symbol) &&
            symbol.name[0] != '\0' && strcmp(symbol.name, REDACTED) != 0 &&
            !contains(&n->named, name.start)) {
            name.name = symbol.name;
            give(n, &name, name.start + bytes);
        }
    }
}

static void give_stubs(struct names *n)
{
    struct sonde__macho_symbols symbols;
    struct sonde__macho_section section;
    uint32_t left = n->macho->indirect_count;
    if (!sonde__macho_symbols(n->macho, &symbols)) {
        return;
    }
    for (uint32_t i = 0; !n->is_done && sonde__macho_section(n->macho, i, &section); i++) {
        if ((section.flags & SONDE__S_TYPE) == SONDE__S_SYMBOL_STUBS &&
            section.vaddr <= UINT64_MAX - section.size) {
            give_stubs_in(n, &symbols, &section, &left);
        }
    }
}

/* --- Objective-C --- */

/* Give a name that code without a symbol has by the runtime's data. Where functions begin is known,
 * data that is not the runtime's names nothing. */
static bool give_made(struct names *n, const char *text, uint64_t start, uint64_t end)
{
    struct sonde__macho_name name = {
        .name = text, .start = start, .source = SONDE__MACHO_NAME_METHOD, .bind = SONDE__STB_LOCAL};
    if (end != 0 && !contains(&n->named, start)) {
        give(n, &name, end);
    }
    return !n->is_done;
}

static bool give_method(void *ctx, const struct sonde__macho_method *method)
{
    struct names *n = ctx;
    char text[SONDE__MACHO_METHOD_BYTES];
    bool is_extended = method->category != NULL;
    if (n->starts.count != 0 && !contains(&n->starts, method->code)) {
        return true;
    }
    snprintf(text, sizeof text, "%c[%s%s%s%s %s]", method->is_class_method ? '+' : '-',
             method->class_name, is_extended ? "(" : "", is_extended ? method->category : "",
             is_extended ? ")" : "", method->selector);
    return give_made(n, text, method->code, code_end(n, method->code));
}

static bool give_sender(void *ctx, const struct sonde__macho_sender *sender)
{
    char text[SONDE__MACHO_METHOD_BYTES];
    snprintf(text, sizeof text, "objc_msgSend$%s", sender->selector);
    return give_made(ctx, text, sender->start, sender->end);
}

static void give_objc(struct names *n)
{
    struct sonde__macho_objc objc;
    if (sonde__macho_objc_open(n->macho, &objc) != SONDE_OK) {
        n->is_failed = n->is_done = true;
    } else {
        sonde__macho_objc_methods(&objc, give_method, n);
    }
    if (!n->is_done) {
        sonde__macho_objc_senders(&objc, give_sender, n);
    }
    sonde__macho_objc_close(&objc);
}

/* --- bounds by code --- */

static bool take_start(void *ctx, const struct sonde__macho_name *name)
{
    struct addresses *named = ctx;
    return SONDE__MEM_ADD(named->all, named->count, named->capacity, name->start);
}

static void give_all(struct names *n, const struct sonde__macho *debug, uint64_t shift)
{
    n->named.count = 0;
    if (debug != NULL) {
        give_symbols(n, debug, shift);
    }
    if (n->named.count == 0) {
        give_symbols(n, n->macho, 0);
    }
    sort(&n->named);
    if (!n->is_done) {
        give_exports(n);
    }
    if (!n->is_done) {
        give_stubs(n);
    }
    if (!n->is_done) {
        give_objc(n);
    }
}

/* Find where each function with a name ends, by its code up to the next one's. Without code that
 * can be read, its entry alone has the name. */
static void find_ends(struct names *n, const struct addresses *named)
{
    for (size_t i = 0; i < named->count && !n->is_done; i++) {
        uint64_t start = named->all[i], left = 0;
        uint64_t limit = next_after(named, start, code_end(n, start));
        const uint8_t *code = sonde__macho_from_vaddr(n->macho, start, &left);
        if (limit > start && (i == 0 || named->all[i - 1] != start)) {
            left = code == NULL ? 0 : left < limit - start ? left : limit - start;
            left = symbol_macho_extent(n->macho->arch, start, code, left);
            put(n, &n->ends, start + (left != 0 ? left : 1));
        }
    }
}

/* An image that lists no starts of functions, and whose local symbols were removed: what follows a
 * function that has a name may be another, which has none. (zig's linker writes an empty list.) */
static void bound_by_code(struct names *n)
{
    struct addresses named = {.all = NULL};
    bool (*each)(void *ctx, const struct sonde__macho_name *name) = n->each;
    void *ctx = n->ctx;
    n->each = take_start;
    n->ctx = &named;
    give_all(n, NULL, 0);
    n->each = each;
    n->ctx = ctx;
    if (n->is_done) {
        n->is_failed = true;
    } else if (!n->has_locals) {
        sort(&named);
        find_ends(n, &named);
    }
    sonde__mem_free(named.all);
}

/* Find the islands between functions, which are no functions of the list. */
static void find_islands(struct names *n)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < n->code_count; i++) {
        size += n->code[i].size;
    }
    if (n->macho->arch != SONDE_ARCH_AARCH64 || size < ISLANDS_CODE_MIN) {
        return;
    }
    for (size_t i = 0; i < n->starts.count && !n->is_done; i++) {
        uint64_t start = n->starts.all[i], left = 0;
        uint64_t end = next_after(&n->starts, start, code_end(n, start));
        const uint8_t *code = sonde__macho_from_vaddr(n->macho, start, &left);
        if (code != NULL && end > start && end - start <= left) {
            uint64_t islands = symbol_macho_islands(code, (size_t)(end - start));
            if (islands != 0) {
                put(n, &n->ends, end - islands);
            }
        }
    }
    sort(&n->ends);
}

enum sonde_status
sonde__macho_each_name(const struct sonde__macho *macho, const struct sonde__macho *debug,
                       bool (*each)(void *ctx, const struct sonde__macho_name *name), void *ctx)
{
    struct names n = {.macho = macho, .each = each, .ctx = ctx};
    uint64_t shift = debug != NULL ? macho->base - debug->base : 0;
    read_starts(&n, macho, 0);
    if (debug != NULL) {
        read_starts(&n, debug, shift);
    }
    sort(&n.starts);
    find_code(&n);
    find_islands(&n);
    if (n.starts.count == 0 && debug == NULL && macho->type != SONDE__MH_OBJECT &&
        macho->type != SONDE__MH_DSYM && !n.is_done) {
        bound_by_code(&n);
    }
    if (!n.is_done) {
        give_all(&n, debug, shift);
    }
    sonde__mem_free(n.starts.all);
    sonde__mem_free(n.named.all);
    sonde__mem_free(n.ends.all);
    return n.is_failed ? SONDE_MEMORY : SONDE_OK;
}
