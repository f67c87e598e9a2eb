// SPDX-License-Identifier: Apache-2.0
/* Areas, symbols and dynamic relocations of an ELF (gABI 4.1 chapter 5; psABI AMD64 1.0 §4.4;
 * aaelf64 §5.7; the RELR format of the gABI's draft). Context: any thread. */
#include <stdio.h>
#include <string.h>

#include "arch_regs.h"
#include "base_status.h"
#include "base_text.h"
#include "loaded_inside.h"
#include "mem_heap.h"

#define SHT_NOBITS  8u
#define SHF_WRITE   1u
#define DT_RELA     7u
#define DT_RELASZ   8u
#define DT_JMPREL   23u
#define DT_PLTRELSZ 2u
#define DT_RELRSZ   35u
#define DT_RELR     36u

enum { WORD = 8 };

enum {
    X86_64_ABSOLUTE = 1,
    X86_64_GLOB_DAT = 6,
    X86_64_JUMP_SLOT = 7,
    X86_64_RELATIVE = 8,
    AARCH64_ABSOLUTE = 257,
    AARCH64_GLOB_DAT = 1025,
    AARCH64_JUMP_SLOT = 1026,
    AARCH64_RELATIVE = 1027,
};

/* --- areas --- */

/* Files without pointers to set have their constants with pointers in .rodata. */
static uint32_t kinds_of(const struct sonde__elf_section *section)
{
    if ((section->flags & SONDE__SHF_EXECINSTR) != 0) {
        return SONDE__LOADED_CODE;
    }
    if ((section->flags & SHF_WRITE) == 0) {
        return SONDE__LOADED_STRINGS |
               (sonde__base_starts_with(section->name, ".rodata") ? SONDE__LOADED_CONSTANTS : 0u);
    }
    return sonde__base_starts_with(section->name, ".data.rel.ro") ? SONDE__LOADED_CONSTANTS
                                                                  : SONDE__LOADED_DATA;
}

static bool add_section_areas(struct sonde__loaded *loaded, const struct sonde__elf *elf)
{
    struct sonde__elf_section section;
    size_t capacity = 0;
    uint64_t next = SONDE__LOADED_BEGINS;
    if (loaded->object) {
        loaded->area_of_section = sonde__mem_alloc_array(elf->shnum, sizeof(uint32_t));
        if (loaded->area_of_section == NULL) {
            return false;
        }
        loaded->section_count = elf->shnum;
    }
    for (uint32_t i = 0; i < elf->shnum; i++) {
        struct sonde__loaded_area area = {0};
        uint32_t before = loaded->area_count;
        if (loaded->object) {
            loaded->area_of_section[i] = UINT32_MAX;
        }
        if (!sonde__elf_section(elf, i, &section) || (section.flags & SONDE__SHF_ALLOC) == 0 ||
            section.type == SHT_NOBITS || section.data == NULL) {
            continue;
        }
        snprintf(area.name, sizeof area.name, "%s", section.name);
        area.kinds = kinds_of(&section);
        area.vaddr = loaded->object ? next : section.vaddr + loaded->bias;
        area.size = section.size;
        area.bytes = section.data;
        if (!loaded_add_area(loaded, &capacity, &area)) {
            return false;
        }
        if (loaded->object && loaded->area_count != before) {
            loaded->area_of_section[i] = before;
            next = (next + section.size + 63) & ~(uint64_t)63; /* no section needs more */
        }
    }
    return true;
}

/* Without section headers: add the segments, by their protection. */
static bool add_segment_areas(struct sonde__loaded *loaded, const struct sonde__elf *elf)
{
    struct sonde__elf_segment segment;
    size_t capacity = 0;
    for (uint32_t i = 0; i < elf->phnum; i++) {
        struct sonde__loaded_area area = {0};
        uint64_t left = 0;
        if (!sonde__elf_segment(elf, i, &segment) || segment.type != SONDE__PT_LOAD) {
            continue;
        }
        snprintf(area.name, sizeof area.name, "segment %u", i);
        area.kinds = (segment.flags & SONDE__PF_X) != 0
                         ? SONDE__LOADED_CODE | SONDE__LOADED_STRINGS
                         : SONDE__LOADED_CONSTANTS | SONDE__LOADED_DATA |
                               ((segment.flags & SONDE__PF_W) == 0 ? SONDE__LOADED_STRINGS : 0u);
        area.bytes = sonde__elf_from_vaddr(elf, segment.vaddr, &left);
        area.vaddr = segment.vaddr + loaded->bias;
        area.size = left;
        if (!loaded_add_area(loaded, &capacity, &area)) {
            return false;
        }
    }
    return true;
}

/* --- symbols --- */

/* "$x", "$d.1": aarch64's marks for the start of code and data. Swift's names begin alike. */
static bool is_mark(const char *name)
{
    return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
           (name[2] == '\0' || name[2] == '.');
}

static bool add_table(struct sonde__loaded *loaded, const struct sonde__elf_symbols *symbols)
{
    struct sonde__elf_symbol symbol;
    for (uint32_t i = 0; sonde__elf_symbols_at(symbols, i, &symbol); i++) {
        uint64_t vaddr = symbol.value + loaded->bias;
        if (symbol.section == SONDE__SHN_UNDEF || symbol.section >= SONDE__SHN_ABS ||
            symbol.type > SONDE__STT_GNU_IFUNC ||
            (symbol.type > SONDE__STT_FUNC && symbol.type != SONDE__STT_GNU_IFUNC) ||
            is_mark(symbol.name)) {
            continue;
        }
        if (loaded->object) {
            if (symbol.section >= loaded->section_count ||
                loaded->area_of_section[symbol.section] == UINT32_MAX) {
                continue;
            }
            vaddr += loaded->areas[loaded->area_of_section[symbol.section]].vaddr;
        }
        if (!loaded_add_symbol(loaded, vaddr, symbol.size, symbol.name)) {
            return false;
        }
    }
    return true;
}

static bool add_symbols(struct sonde__loaded *loaded, const struct sonde__elf *elf)
{
    struct sonde__elf_section table;
    struct sonde__elf_symbols symbols;
    bool whole = sonde__elf_section_by_type(elf, SONDE__SHT_SYMTAB, &table) &&
                 sonde__elf_symbols(elf, &table, &symbols);
    if (!whole && !sonde__elf_dynamic_symbols(elf, &symbols)) {
        return true;
    }
    if (!add_table(loaded, &symbols)) {
        return false;
    }
    loaded_end_symbols(loaded);
    return true;
}

/* --- dynamic relocations --- */

struct dynamic {
    struct sonde__loaded *loaded;
    struct sonde__elf_symbols symbols;
    bool has_symbols;
};

static enum sonde_status apply(struct dynamic *d, uint64_t vaddr, uint64_t info, uint64_t addend)
{
    uint32_t type = (uint32_t)info;
    bool x86 = d->loaded->arch == SONDE_ARCH_X86_64;
    struct sonde__elf_symbol symbol;
    uint64_t target = 0;
    enum sonde_status status = SONDE_OK;
    if (type == (x86 ? X86_64_RELATIVE : AARCH64_RELATIVE)) {
        loaded_set_pointer(d->loaded, vaddr + d->loaded->bias, addend + d->loaded->bias);
        return SONDE_OK;
    }
    if (type != (x86 ? X86_64_ABSOLUTE : AARCH64_ABSOLUTE) &&
        type != (x86 ? X86_64_GLOB_DAT : AARCH64_GLOB_DAT) &&
        type != (x86 ? X86_64_JUMP_SLOT : AARCH64_JUMP_SLOT)) {
        return SONDE_OK;
    }
    if (!d->has_symbols || !sonde__elf_symbols_at(&d->symbols, (uint32_t)(info >> 32), &symbol)) {
        loaded_damage(d->loaded, "a relocation against a missing symbol");
        return SONDE_OK;
    }
    if (symbol.section != SONDE__SHN_UNDEF) {
        target = symbol.value + d->loaded->bias;
    } else if (symbol.name[0] != '\0') {
        status = loaded_import(d->loaded, symbol.name, &target);
    }
    if (status == SONDE_OK) {
        loaded_set_pointer(d->loaded, vaddr + d->loaded->bias, target + addend);
    }
    return status;
}

/* The table with address and size in two dynamic tags. */
static struct sonde__bytes table_of(const struct sonde__elf *elf, uint64_t place, uint64_t size)
{
    struct sonde__bytes b;
    uint64_t vaddr = 0, bytes = 0, left = 0;
    const uint8_t *data = NULL;
    if (sonde__elf_dynamic_tag(elf, place, &vaddr) && sonde__elf_dynamic_tag(elf, size, &bytes)) {
        data = sonde__elf_from_vaddr(elf, vaddr, &left);
    }
    sonde__base_bytes_init(&b, data, (size_t)(bytes < left ? bytes : left));
    return b;
}

static enum sonde_status apply_table(struct dynamic *d, struct sonde__bytes b)
{
    while (sonde__base_bytes_left(&b) >= SONDE__ELF_RELA64_BYTES) {
        uint64_t vaddr = sonde__base_bytes_u64(&b);
        uint64_t info = sonde__base_bytes_u64(&b);
        uint64_t addend = sonde__base_bytes_u64(&b);
        if (apply(d, vaddr, info, addend) == SONDE_MEMORY) {
            return SONDE_MEMORY;
        }
    }
    return SONDE_OK;
}

static void set_in_place(struct sonde__loaded *loaded, uint64_t vaddr)
{
    uint64_t value;
    vaddr += loaded->bias;
    if (sonde__loaded_word(loaded, vaddr, &value)) {
        loaded_set_pointer(loaded, vaddr, value + loaded->bias);
    }
}

/* An even word is the address of a pointer. In an odd word, each bit says whether one of the
 * next 63 words is a pointer. */
static void apply_relr(struct sonde__loaded *loaded, struct sonde__bytes b)
{
    uint64_t next = 0;
    while (sonde__base_bytes_left(&b) >= WORD) {
        uint64_t entry = sonde__base_bytes_u64(&b);
        if ((entry & 1) == 0) {
            set_in_place(loaded, entry);
            next = entry + WORD;
            continue;
        }
        for (unsigned i = 0; i < 63; i++) {
            if ((entry >> (i + 1) & 1) != 0) {
                set_in_place(loaded, next + (uint64_t)i * WORD);
            }
        }
        next += (uint64_t)63 * WORD;
    }
}

static enum sonde_status apply_dynamic(struct sonde__loaded *loaded, const struct sonde__elf *elf)
{
    struct dynamic d = {.loaded = loaded};
    d.has_symbols = sonde__elf_dynamic_symbols(elf, &d.symbols);
    SONDE_TRY(apply_table(&d, table_of(elf, DT_RELA, DT_RELASZ)));
    apply_relr(loaded, table_of(elf, DT_RELR, DT_RELRSZ));
    return apply_table(&d, table_of(elf, DT_JMPREL, DT_PLTRELSZ));
}

/* --- all --- */

enum sonde_status sonde__loaded_elf(const struct sonde__elf *elf, struct sonde__loaded *ret_loaded,
                                    struct sonde_error *ret_error)
{
    struct sonde__loaded loaded = {.damage = elf->damage};
    enum sonde_status status = SONDE_OK;
    bool made;
    if (!elf->is64 || elf->arch == SONDE_ARCH_OTHER) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "neither x86_64 nor aarch64: blocks are read only there", NULL, 0,
                                0);
    }
    if (elf->type != SONDE__ET_REL && elf->type != SONDE__ET_EXEC && elf->type != SONDE__ET_DYN) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "not a program, library or object (a core?)", NULL, 0, 0);
    }
    loaded.arch = elf->arch;
    loaded.object = elf->type == SONDE__ET_REL;
    loaded.absolute = elf->type == SONDE__ET_EXEC;
    loaded.bias = elf->type == SONDE__ET_DYN ? SONDE__LOADED_BEGINS : 0;
    loaded_limit(&loaded, (uint64_t)(elf->file.end - elf->file.begin));
    made = loaded.object || elf->shnum > 1 ? add_section_areas(&loaded, elf)
                                           : add_segment_areas(&loaded, elf);
    if (made) {
        loaded_end_areas(&loaded);
        made = add_symbols(&loaded, elf);
    }
    if (!made) {
        status = SONDE_MEMORY;
    } else if (loaded.object) {
        status = loaded_elf_object(&loaded, elf);
    } else {
        status = apply_dynamic(&loaded, elf);
    }
    if (status == SONDE_MEMORY) {
        sonde__loaded_done(&loaded);
        return sonde__base_fail(ret_error, SONDE_MEMORY, "no memory for the image", NULL, 0, 0);
    }
    *ret_loaded = loaded;
    return SONDE_OK;
}
