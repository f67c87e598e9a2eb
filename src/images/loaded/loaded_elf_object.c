// SPDX-License-Identifier: Apache-2.0
/* Relocations of ELF objects: of data, and of code that refers to calls, tables and constants
 * (psABI AMD64 1.0 table 4.9; aaelf64 §5.7). loaded_elf.c assigns the addresses of sections.
 * Context: any thread. */
#include <string.h>

#include "arch_regs.h"
#include "base_status.h"
#include "loaded_inside.h"

#define SHT_REL 9u

enum { REL64_BYTES = 16 };

enum how {
    HOW_NONE,
    HOW_POINTER,  /* 64 bits */
    HOW_WORD,     /* 32 bits, smaller than a pointer: code for fixed addresses */
    HOW_RELATIVE, /* 32 bits, relative to their place */
    HOW_TABLE,    /* the same, to a word of the address table */
    HOW_PATCH,
    HOW_TABLE_PATCH,
};

struct rule {
    uint32_t type;
    uint8_t how;   /* enum how */
    uint8_t patch; /* enum loaded_patch */
};

static const struct rule x86_64_rules[] = {
    {1, HOW_POINTER, 0}, {2, HOW_RELATIVE, 0}, {4, HOW_RELATIVE, 0}, {9, HOW_TABLE, 0},
    {10, HOW_WORD, 0},   {11, HOW_WORD, 0},    {41, HOW_TABLE, 0},   {42, HOW_TABLE, 0},
};

static const struct rule aarch64_rules[] = {
    {257, HOW_POINTER, 0},
    {258, HOW_WORD, 0},
    {261, HOW_RELATIVE, 0},
    {274, HOW_PATCH, LOADED_PATCH_NEAR},
    {275, HOW_PATCH, LOADED_PATCH_PAGE},
    {276, HOW_PATCH, LOADED_PATCH_PAGE},
    {277, HOW_PATCH, LOADED_PATCH_PAGE_OFFSET},
    {278, HOW_PATCH, LOADED_PATCH_PAGE_OFFSET},
    {279, HOW_PATCH, LOADED_PATCH_BRANCH14},
    {280, HOW_PATCH, LOADED_PATCH_BRANCH19},
    {282, HOW_PATCH, LOADED_PATCH_BRANCH26},
    {283, HOW_PATCH, LOADED_PATCH_BRANCH26},
    {284, HOW_PATCH, LOADED_PATCH_PAGE_OFFSET},
    {285, HOW_PATCH, LOADED_PATCH_PAGE_OFFSET},
    {286, HOW_PATCH, LOADED_PATCH_PAGE_OFFSET},
    {299, HOW_PATCH, LOADED_PATCH_PAGE_OFFSET},
    {311, HOW_TABLE_PATCH, LOADED_PATCH_PAGE},
    {312, HOW_TABLE_PATCH, LOADED_PATCH_PAGE_OFFSET},
};

struct object {
    struct sonde__loaded *loaded;
    struct sonde__elf_symbols symbols;
};

static const struct rule *find_rule(const struct sonde__loaded *loaded, uint32_t type)
{
    bool x86 = loaded->arch == SONDE_ARCH_X86_64;
    const struct rule *rules = x86 ? x86_64_rules : aarch64_rules;
    size_t count = x86 ? sizeof x86_64_rules / sizeof x86_64_rules[0]
                       : sizeof aarch64_rules / sizeof aarch64_rules[0];
    for (size_t i = 0; i < count; i++) {
        if (rules[i].type == type) {
            return &rules[i];
        }
    }
    return NULL;
}

static enum sonde_status symbol_vaddr(struct object *object, uint32_t index, uint64_t *ret_vaddr)
{
    struct sonde__loaded *loaded = object->loaded;
    struct sonde__elf_symbol symbol;
    if (!sonde__elf_symbols_at(&object->symbols, index, &symbol)) {
        loaded_damage(loaded, "a relocation against a missing symbol");
        return SONDE_UNSUPPORTED;
    }
    if (symbol.section == SONDE__SHN_ABS) {
        *ret_vaddr = symbol.value;
        return SONDE_OK;
    }
    if (symbol.section == SONDE__SHN_UNDEF || symbol.section == SONDE__SHN_COMMON) {
        return loaded_import(loaded, symbol.name, ret_vaddr);
    }
    if (symbol.section >= loaded->section_count ||
        loaded->area_of_section[symbol.section] == UINT32_MAX) {
        return SONDE_UNSUPPORTED; /* zeroed data, debug information */
    }
    *ret_vaddr = loaded->areas[loaded->area_of_section[symbol.section]].vaddr + symbol.value;
    return SONDE_OK;
}

static void put_relative(struct sonde__loaded *loaded, uint64_t vaddr, uint64_t target)
{
    uint8_t *at = loaded_writable(loaded, vaddr, 4);
    int64_t far = (int64_t)(target - vaddr);
    if (at != NULL && far == (int32_t)far) {
        sonde__base_put_le(at, (uint64_t)far, 4);
    }
}

static enum sonde_status apply(struct object *object, uint64_t vaddr, uint64_t info,
                               uint64_t addend)
{
    struct sonde__loaded *loaded = object->loaded;
    const struct rule *rule = find_rule(loaded, (uint32_t)info);
    uint64_t target;
    uint8_t *at;
    if (rule == NULL) {
        return SONDE_OK;
    }
    SONDE_TRY(symbol_vaddr(object, (uint32_t)(info >> 32), &target));
    switch (rule->how) {
    case HOW_POINTER:
        loaded_set_pointer(loaded, vaddr, target + addend);
        break;
    case HOW_WORD:
        at = loaded_writable(loaded, vaddr, 4);
        if (at != NULL) {
            sonde__base_put_le(at, target + addend, 4);
        }
        break;
    case HOW_RELATIVE:
        put_relative(loaded, vaddr, target + addend);
        break;
    case HOW_TABLE:
        SONDE_TRY(loaded_table_word(loaded, target, &target));
        put_relative(loaded, vaddr, target + addend);
        break;
    case HOW_TABLE_PATCH:
        SONDE_TRY(loaded_table_word(loaded, target, &target));
        /* fall through */
    default:
        at = loaded_writable(loaded, vaddr, 4);
        if (at != NULL) {
            loaded_patch_aarch64((enum loaded_patch)rule->patch, at, vaddr, target + addend);
        }
    }
    return SONDE_OK;
}

struct reloc {
    uint64_t offset, info, addend;
};

/* Read the next relocation of a section. False: none left, or the budget is used up. */
static bool next_reloc(struct sonde__loaded *loaded, const struct sonde__elf_section *section,
                       struct sonde__bytes *b, struct reloc *ret_reloc)
{
    bool has_addend = section->type == SONDE__SHT_RELA;
    if (sonde__base_bytes_left(b) < (has_addend ? SONDE__ELF_RELA64_BYTES : REL64_BYTES) ||
        !loaded_charge(loaded)) {
        return false;
    }
    ret_reloc->offset = sonde__base_bytes_u64(b);
    ret_reloc->info = sonde__base_bytes_u64(b);
    ret_reloc->addend = has_addend ? sonde__base_bytes_u64(b) : 0;
    return true;
}

static enum sonde_status apply_section(struct object *object,
                                       const struct sonde__elf_section *section)
{
    struct sonde__loaded *loaded = object->loaded;
    const struct sonde__loaded_area *area;
    struct sonde__bytes b;
    struct reloc reloc;
    if (section->info >= loaded->section_count ||
        loaded->area_of_section[section->info] == UINT32_MAX) {
        return SONDE_OK;
    }
    area = &loaded->areas[loaded->area_of_section[section->info]];
    sonde__base_bytes_init(&b, section->data, (size_t)section->size);
    while (next_reloc(loaded, section, &b, &reloc)) {
        if (reloc.offset < area->size &&
            apply(object, area->vaddr + reloc.offset, reloc.info, reloc.addend) == SONDE_MEMORY) {
            return SONDE_MEMORY;
        }
    }
    return SONDE_OK;
}

/* --- sections that are not loaded --- */

/* The value of a symbol: an address; in sections that are not loaded, an offset as in the file.
 * False: the symbol is in another file or nowhere. */
static bool debug_value(const struct object *object, uint32_t index, uint64_t *ret_value)
{
    const struct sonde__loaded *loaded = object->loaded;
    struct sonde__elf_symbol symbol;
    if (!sonde__elf_symbols_at(&object->symbols, index, &symbol) ||
        symbol.section == SONDE__SHN_UNDEF || symbol.section >= loaded->section_count) {
        return false;
    }
    *ret_value = symbol.value;
    if (loaded->area_of_section[symbol.section] != UINT32_MAX) {
        *ret_value += loaded->areas[loaded->area_of_section[symbol.section]].vaddr;
    }
    return true;
}

/* Apply the relocations of a section. A symbol that was discarded with its group, or is in
 * another file, has no address: writes all ones, as linkers do. */
static void relocate(struct object *object, const struct sonde__elf_section *section,
                     uint8_t *bytes, uint64_t size)
{
    struct sonde__bytes b;
    struct reloc reloc;
    sonde__base_bytes_init(&b, section->data, (size_t)section->size);
    while (next_reloc(object->loaded, section, &b, &reloc)) {
        const struct rule *rule = find_rule(object->loaded, (uint32_t)reloc.info);
        unsigned width = rule == NULL               ? 0
                         : rule->how == HOW_POINTER ? 8
                         : rule->how == HOW_WORD    ? 4
                                                    : 0;
        uint64_t value;
        if (width == 0 || size < width || reloc.offset > size - width) {
            continue;
        }
        if (section->type == SHT_REL) {
            reloc.addend = sonde__base_le(bytes + reloc.offset, width);
        }
        if (!debug_value(object, (uint32_t)(reloc.info >> 32), &value)) {
            value = UINT64_MAX;
            reloc.addend = 0;
        }
        sonde__base_put_le(bytes + reloc.offset, value + reloc.addend, width);
    }
}

/* The index of the first section with this name; shnum: none. */
static uint32_t section_index(const struct sonde__elf *elf, const char *name)
{
    struct sonde__elf_section section;
    uint32_t i = 0;
    while (i < elf->shnum &&
           !(sonde__elf_section(elf, i, &section) && strcmp(section.name, name) == 0)) {
        i++;
    }
    return i;
}

void sonde__loaded_relocate(struct sonde__loaded *loaded, const struct sonde__elf *elf,
                            const char *name, uint8_t *bytes, uint64_t size)
{
    struct object object = {.loaded = loaded};
    struct sonde__elf_section section;
    uint32_t index;
    if (!loaded->object || !sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &section) ||
        !sonde__elf_symbols(elf, &section, &object.symbols)) {
        return;
    }
    index = section_index(elf, name);
    for (uint32_t i = 0; i < elf->shnum; i++) {
        if (sonde__elf_section(elf, i, &section) && section.data != NULL &&
            (section.type == SONDE__SHT_RELA || section.type == SHT_REL) && section.info == index) {
            relocate(&object, &section, bytes, size);
        }
    }
}

enum sonde_status loaded_elf_object(struct sonde__loaded *loaded, const struct sonde__elf *elf)
{
    struct object object = {.loaded = loaded};
    struct sonde__elf_section section;
    if (!sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &section) ||
        !sonde__elf_symbols(elf, &section, &object.symbols)) {
        return SONDE_OK;
    }
    for (uint32_t i = 0; i < elf->shnum; i++) {
        if (sonde__elf_section(elf, i, &section) && section.type == SONDE__SHT_RELA &&
            section.data != NULL) {
            enum sonde_status status = apply_section(&object, &section);
            if (status != SONDE_OK) {
                return status;
            }
        }
    }
    return SONDE_OK;
}
