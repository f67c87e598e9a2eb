// SPDX-License-Identifier: Apache-2.0
/* struct objc_module   { long version, size; char *name; struct objc_symtab *symtab; }
 * struct objc_symtab   { long selectors; void *refs; short classes, categories; void *defs[]; }
 * struct objc_class    { class, super, char *name; long version, info, size; ivars, methods, ... }
 * struct objc_category { char *name, *class; methods of objects, methods of classes, protocols }
 * struct method_list   { next; int count; struct { char *selector, *types; void *code; } [] }
 *
 * Modules are found by their version and size, next to two pointers. Pointers in data are read as
 * the loader would set them: from the relocations, else from the file. */
#include "symbol_objc.h"

#include <string.h>

#include "arch_regs.h"
#include "base_bytes.h"
#include "base_search.h"
#include "image_cfi.h"
#include "mem_heap.h"
#include "mem_sort.h"

enum {
    MODULE_BYTES = 32,
    ABI_MIN = 8,
    ABI_MAX = 10,
    /* limit for one module, which is a source file, and for lists of a class */
    DEFS_MAX = 4096,
    METHODS_MAX = 16384,
    LISTS_MAX = 64,
    NAME_BYTES = 1024,
    R_X86_64_64 = 1,
    R_X86_64_RELATIVE = 8,
    R_AARCH64_ABS64 = 257,
    R_AARCH64_RELATIVE = 1027,
};

struct pointer {
    uint64_t at, value;
};

struct reader {
    const struct sonde__elf *elf;
    struct sonde__cfi cfi;
    uint8_t arch;
    uint16_t text_section;
    struct pointer *pointers; /* sorted by place */
    size_t count, capacity;
    uint64_t work_left; /* a valid image has each method once */
    struct sonde__objc_symbols *out;
    bool out_of_memory;
};

/* --- does it use libobjc? --- */

static bool needs_libobjc(const struct sonde__elf *elf)
{
    struct sonde__elf_segment segment;
    uint64_t left = 0, strings = 0, strings_left = 0;
    struct sonde__bytes b;
    const uint8_t *data;
    const char *names;
    if (!elf->is64 || !sonde__elf_segment_by_type(elf, SONDE__PT_DYNAMIC, &segment) ||
        !sonde__elf_dynamic_tag(elf, SONDE__DT_STRTAB, &strings)) {
        return false;
    }
    data = sonde__elf_from_vaddr(elf, segment.vaddr, &left);
    names = (const char *)sonde__elf_from_vaddr(elf, strings, &strings_left);
    if (data == NULL || names == NULL) {
        return false;
    }
    sonde__base_bytes_init(&b, data, (size_t)(segment.filesz < left ? segment.filesz : left));
    while (sonde__base_bytes_left(&b) >= 16) {
        uint64_t tag = sonde__base_bytes_u64(&b);
        uint64_t value = sonde__base_bytes_u64(&b);
        if (tag == SONDE__DT_NULL) {
            break;
        }
        if (tag == SONDE__DT_NEEDED && value < strings_left && strings_left - value > 10 &&
            memcmp(names + value, "libobjc.so", 10) == 0) {
            return true;
        }
    }
    return false;
}

/* --- pointers --- */

static void read_relocations(struct reader *r, const struct sonde__elf_section *section)
{
    struct sonde__elf_symbols symbols;
    struct sonde__elf_symbol symbol;
    struct sonde__bytes b;
    bool named = sonde__elf_dynamic_symbols(r->elf, &symbols);
    bool arm = r->elf->arch == SONDE_ARCH_AARCH64;
    if (section->data == NULL) {
        return;
    }
    sonde__base_bytes_init(&b, section->data, (size_t)section->size);
    while (sonde__base_bytes_left(&b) >= SONDE__ELF_RELA64_BYTES) {
        uint64_t at = sonde__base_bytes_u64(&b);
        uint64_t info = sonde__base_bytes_u64(&b);
        uint64_t value = sonde__base_bytes_u64(&b);
        uint32_t type = (uint32_t)info;
        if (type == (arm ? R_AARCH64_ABS64 : R_X86_64_64)) {
            if (!named || !sonde__elf_symbols_at(&symbols, (uint32_t)(info >> 32), &symbol) ||
                symbol.section == SONDE__SHN_UNDEF) {
                continue;
            }
            value += symbol.value;
        } else if (type != (arm ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE)) {
            continue;
        }
        if (!SONDE__MEM_ADD(r->pointers, r->count, r->capacity, (struct pointer){at, value})) {
            r->out_of_memory = true;
            return;
        }
    }
}

static void read_pointers(struct reader *r)
{
    struct sonde__elf_section section;
    for (uint32_t i = 0; i < r->elf->shnum && !r->out_of_memory; i++) {
        if (sonde__elf_section(r->elf, i, &section) && section.type == SONDE__SHT_RELA &&
            (section.flags & SONDE__SHF_ALLOC) != 0) {
            read_relocations(r, &section);
        }
    }
    SONDE__SORT_BY(r->pointers, r->count, at);
}

static uint64_t load(const struct reader *r, uint64_t vaddr, unsigned size)
{
    const uint8_t *data = sonde__elf_at_vaddr(r->elf, vaddr, size);
    return data != NULL ? sonde__base_le(data, size) : 0;
}

/* Target of the pointer at a vaddr; 0: none. */
static uint64_t follow(const struct reader *r, uint64_t vaddr)
{
    size_t first = SONDE__SEARCH(0, r->count, i, r->pointers[i].at < vaddr);
    return first < r->count && r->pointers[first].at == vaddr ? r->pointers[first].value
                                                              : load(r, vaddr, 8);
}

/* The name of a class, category or selector: printable, not empty. Null: not a name. */
static const char *text_at(const struct reader *r, uint64_t vaddr, const char *refused)
{
    uint64_t left = 0;
    const char *text = (const char *)sonde__elf_from_vaddr(r->elf, vaddr, &left);
    for (uint64_t i = 0; text != NULL && i < left && i < NAME_BYTES; i++) {
        if (text[i] == '\0') {
            return i > 0 ? text : NULL;
        }
        if (text[i] <= ' ' || text[i] > '~' || strchr(refused, text[i]) != NULL) {
            return NULL;
        }
    }
    return NULL;
}

static const char *name_at(const struct reader *r, uint64_t vaddr)
{
    return text_at(r, vaddr, "[]() \"'");
}

/* --- the symbol table --- */

static bool room(void *array, size_t needed, size_t *capacity)
{
    void *block;
    size_t wanted = *capacity != 0 ? *capacity : 4096;
    if (needed <= *capacity) {
        return true;
    }
    while (wanted < needed) {
        wanted *= 2;
    }
    memcpy(&block, array, sizeof block);
    block = sonde__mem_resize_array(block, wanted, 1);
    if (block == NULL) {
        return false;
    }
    memcpy(array, &block, sizeof block);
    *capacity = wanted;
    return true;
}

static void add(struct reader *r, char sign, const char *class_name, const char *category,
                const char *selector, uint64_t start, uint64_t size)
{
    struct sonde__objc_symbols *out = r->out;
    size_t at = (size_t)out->symbols.count * SONDE__ELF_SYM64_BYTES;
    size_t length =
        strlen(class_name) + strlen(selector) + 8 + (category != NULL ? strlen(category) : 0);
    uint8_t *entry;
    char *name;
    if (out->strings_size > UINT32_MAX - length || out->symbols.count == UINT32_MAX / 64 ||
        !room(&out->data, at + SONDE__ELF_SYM64_BYTES, &out->data_capacity) ||
        !room(&out->strings, out->strings_size + length, &out->strings_capacity)) {
        r->out_of_memory = true;
        return;
    }
    name = out->strings + out->strings_size;
    entry = out->data + at;
    memset(entry, 0, SONDE__ELF_SYM64_BYTES);
    sonde__base_put_le(entry, out->strings_size, 4);
    entry[4] = SONDE__STB_GLOBAL << 4 | SONDE__STT_FUNC;
    sonde__base_put_le(entry + 6, r->text_section, 2);
    sonde__base_put_le(entry + 8, start, 8);
    sonde__base_put_le(entry + 16, size, 8);
    *name++ = sign;
    *name++ = '[';
    name = stpcpy(name, class_name);
    if (category != NULL) {
        *name++ = '(';
        name = stpcpy(name, category);
        *name++ = ')';
    }
    *name++ = ' ';
    name = stpcpy(name, selector);
    *name++ = ']';
    *name++ = '\0';
    out->strings_size = (size_t)(name - out->strings);
    out->symbols.count++;
}

/* --- lists --- */

static void read_list(struct reader *r, uint64_t list, char sign, const char *class_name,
                      const char *category)
{
    for (unsigned lists = 0; list != 0 && lists < LISTS_MAX; lists++) {
        uint64_t count = load(r, list + 8, 4);
        for (uint64_t i = 0; i < count && i < METHODS_MAX && !r->out_of_memory; i++) {
            uint64_t method = list + 16 + i * 24;
            uint64_t start, end, code;
            const char *selector;
            if (r->work_left == 0) {
                return;
            }
            r->work_left--;
            selector = name_at(r, follow(r, method));
            code = follow(r, method + 16);
            if (selector == NULL || text_at(r, follow(r, method + 8), "") == NULL) {
                return; /* no list */
            }
            if (sonde__cfi_fde_bounds(&r->cfi, r->arch, code, &start, &end) && start == code) {
                add(r, sign, class_name, category, selector, start, end - start);
            }
        }
        list = follow(r, list);
    }
}

static void read_class(struct reader *r, uint64_t class)
{
    const char *name = name_at(r, follow(r, class + 16));
    uint64_t meta = follow(r, class);
    if (name != NULL) {
        read_list(r, follow(r, class + 56), '-', name, NULL);
        if (meta != 0) {
            read_list(r, follow(r, meta + 56), '+', name, NULL);
        }
    }
}

static void read_category(struct reader *r, uint64_t category)
{
    const char *name = name_at(r, follow(r, category));
    const char *class_name = name_at(r, follow(r, category + 8));
    if (name != NULL && class_name != NULL) {
        read_list(r, follow(r, category + 16), '-', class_name, name);
        read_list(r, follow(r, category + 24), '+', class_name, name);
    }
}

static void read_module(struct reader *r, uint64_t module)
{
    uint64_t symtab = follow(r, module + 24);
    uint64_t classes, categories;
    if (symtab == 0) {
        return;
    }
    classes = load(r, symtab + 16, 2);
    categories = load(r, symtab + 18, 2);
    if (classes + categories > DEFS_MAX) {
        return;
    }
    for (uint64_t i = 0; i < classes + categories && !r->out_of_memory; i++) {
        uint64_t definition = follow(r, symtab + 24 + i * 8);
        if (i < classes) {
            read_class(r, definition);
        } else {
            read_category(r, definition);
        }
    }
}

static void find_modules(struct reader *r)
{
    struct sonde__elf_segment segment;
    for (uint32_t i = 0; i < r->elf->phnum; i++) {
        uint64_t left = 0;
        const uint8_t *data;
        if (!sonde__elf_segment(r->elf, i, &segment) || segment.type != SONDE__PT_LOAD ||
            (segment.flags & SONDE__PF_W) == 0 || r->work_left == 0) {
            continue;
        }
        data = sonde__elf_from_vaddr(r->elf, segment.vaddr, &left);
        for (uint64_t at = (8 - segment.vaddr % 8) % 8;
             data != NULL && left >= MODULE_BYTES && at <= left - MODULE_BYTES; at += 8) {
            uint64_t version, size;
            memcpy(&version, data + at, 8);
            memcpy(&size, data + at + 8, 8);
            if (version >= ABI_MIN && version <= ABI_MAX && size == MODULE_BYTES &&
                r->work_left != 0) {
                r->work_left--;
                read_module(r, segment.vaddr + at);
            }
        }
    }
}

uint16_t sonde__objc_text_section(const struct sonde__elf *elf)
{
    struct sonde__elf_section section;
    for (uint32_t i = 1; i < elf->shnum && i < SONDE__SHN_ABS; i++) {
        if (sonde__elf_section(elf, i, &section) && (section.flags & SONDE__SHF_EXECINSTR) != 0 &&
            strcmp(section.name, ".text") == 0) {
            return (uint16_t)i;
        }
    }
    return 1;
}

enum sonde_status sonde__objc_symbols_make(const struct sonde__elf *elf,
                                           struct sonde__objc_symbols *ret_symbols)
{
    struct reader r = {.elf = elf, .out = ret_symbols};
    memset(ret_symbols, 0, sizeof *ret_symbols);
    if (elf->arch == SONDE_ARCH_OTHER || elf->memory || !needs_libobjc(elf) ||
        !sonde__elf_cfi(elf, &r.cfi)) {
        return SONDE_OK;
    }
    r.arch = elf->arch;
    r.text_section = sonde__objc_text_section(elf);
    r.work_left = (uint64_t)(elf->file.end - elf->file.begin) / 8;
    read_pointers(&r);
    find_modules(&r);
    sonde__mem_free(r.pointers);
    ret_symbols->symbols.data = ret_symbols->data;
    ret_symbols->symbols.entsize = SONDE__ELF_SYM64_BYTES;
    ret_symbols->symbols.is64 = true;
    ret_symbols->symbols.strings = ret_symbols->strings;
    ret_symbols->symbols.strings_size = ret_symbols->strings_size;
    return r.out_of_memory ? SONDE_MEMORY : SONDE_OK;
}

void sonde__objc_symbols_done(struct sonde__objc_symbols *symbols)
{
    sonde__mem_free(symbols->data);
    sonde__mem_free(symbols->strings);
    memset(symbols, 0, sizeof *symbols);
}
