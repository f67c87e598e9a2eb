// SPDX-License-Identifier: Apache-2.0
/* ELF headers, segments, sections, and vaddr -> bytes. Invariant after opening: phnum and shnum
 * headers of phentsize and shentsize bytes are inside the view, so its size limits every loop
 * over them. Context: handler. */
#include "image_elf.h"

#include "base_mem.h"
#include "base_status.h"

static uint64_t read_word(struct sonde__bytes *b, bool is64)
{
    return is64 ? sonde__base_bytes_u64(b) : sonde__base_bytes_u32(b);
}

static void note_damage(struct sonde__elf *elf, const char *what, uint64_t at)
{
    if (elf->damage == NULL) {
        elf->damage = what;
        elf->damage_at = at;
    }
}

/* How many of `count` headers of `entsize` bytes at `offset` are inside the view. */
static uint32_t cut_count(const struct sonde__elf *elf, uint64_t offset, uint64_t entsize,
                          uint64_t count)
{
    uint64_t size = (uint64_t)(elf->file.end - elf->file.begin);
    uint64_t fit;
    if (offset > size || entsize == 0) {
        return 0;
    }
    fit = (size - offset) / entsize;
    if (fit > UINT32_MAX - 1) {
        fit = UINT32_MAX - 1;
    }
    return (uint32_t)(count < fit ? count : fit);
}

/* Read all of a section header but its name, which stays an offset. */
static bool read_section(const struct sonde__elf *elf, uint32_t index,
                         struct sonde__elf_section *ret_section, uint32_t *ret_name)
{
    struct sonde__bytes b = elf->file;
    struct sonde__elf_section s = {.name = ""};
    if (index >= elf->shnum ||
        !sonde__base_bytes_seek(&b, elf->shoff + (uint64_t)index * elf->shentsize)) {
        return false;
    }
    *ret_name = sonde__base_bytes_u32(&b);
    s.type = sonde__base_bytes_u32(&b);
    s.flags = read_word(&b, elf->is64);
    s.vaddr = read_word(&b, elf->is64);
    s.offset = read_word(&b, elf->is64);
    s.size = read_word(&b, elf->is64);
    s.link = sonde__base_bytes_u32(&b);
    s.info = sonde__base_bytes_u32(&b);
    read_word(&b, elf->is64); /* sh_addralign */
    s.entsize = read_word(&b, elf->is64);
    if (b.failed) {
        return false;
    }
    if (s.type != SONDE__SHT_NOBITS && s.type != SONDE__SHT_NULL) {
        struct sonde__bytes part = sonde__base_bytes_part(&elf->file, s.offset, s.size);
        s.data = part.failed ? NULL : part.begin;
    }
    *ret_section = s;
    return true;
}

/* Resolve .shstrtab once. It is cut behind its last NUL, so every offset in it starts a string
 * that ends inside, and look-ups of names need no search for the end. */
static void resolve_section_names(struct sonde__elf *elf)
{
    struct sonde__elf_section strings;
    uint32_t name;
    uint64_t size;
    elf->section_names = NULL;
    elf->section_names_size = 0;
    if (!read_section(elf, elf->shstrndx, &strings, &name) || strings.data == NULL) {
        return;
    }
    for (size = strings.size; size > 0 && strings.data[size - 1] != 0; size--) {
    }
    elf->section_names = (const char *)strings.data;
    elf->section_names_size = size;
}

static const char *section_name(const struct sonde__elf *elf, uint32_t offset)
{
    return offset < elf->section_names_size ? elf->section_names + offset : "";
}

bool sonde__elf_section(const struct sonde__elf *elf, uint32_t index,
                        struct sonde__elf_section *ret_section)
{
    uint32_t name;
    if (!read_section(elf, index, ret_section, &name)) {
        return false;
    }
    ret_section->name = section_name(elf, name);
    return true;
}

bool sonde__elf_section_by_name(const struct sonde__elf *elf, const char *name,
                                struct sonde__elf_section *ret_section)
{
    struct sonde__elf_section section;
    for (uint32_t i = 0; i < elf->shnum; i++) {
        if (sonde__elf_section(elf, i, &section) &&
            sonde__base_str_compare(section.name, name) == 0) {
            *ret_section = section;
            return true;
        }
    }
    return false;
}

bool sonde__elf_section_by_type(const struct sonde__elf *elf, uint32_t type,
                                struct sonde__elf_section *ret_section)
{
    struct sonde__elf_section section;
    for (uint32_t i = 0; i < elf->shnum; i++) {
        if (sonde__elf_section(elf, i, &section) && section.type == type) {
            *ret_section = section;
            return true;
        }
    }
    return false;
}

/* gABI 4.1 "ELF Header": counts too large for their field are in section header 0. */
static void resolve_counts(struct sonde__elf *elf, uint32_t phnum, uint32_t shnum,
                           uint32_t shstrndx)
{
    uint64_t shcount = shnum, phcount = phnum;
    unsigned phmin = elf->is64 ? SONDE__ELF_PHDR64_BYTES : SONDE__ELF_PHDR32_BYTES;
    unsigned shmin = elf->is64 ? SONDE__ELF_SHDR64_BYTES : SONDE__ELF_SHDR32_BYTES;
    elf->shstrndx = shstrndx;
    if (elf->shoff != 0 && elf->shentsize >= shmin) {
        struct sonde__elf_section first;
        elf->shnum = cut_count(elf, elf->shoff, elf->shentsize, 1);
        if (sonde__elf_section(elf, 0, &first)) {
            shcount = shnum == 0 ? first.size : shnum;
            /* only cores have so many; in other files this would cost a walk of millions */
            bool many = phnum == SONDE__PN_XNUM && elf->type == SONDE__ET_CORE;
            phcount = many && first.info != 0 ? first.info : phnum;
            elf->shstrndx = shstrndx == SONDE__SHN_XINDEX ? first.link : shstrndx;
        }
        elf->shnum = cut_count(elf, elf->shoff, elf->shentsize, shcount);
        if (elf->shnum < shcount) {
            note_damage(elf, "section headers lie past the end", elf->shoff);
        }
    } else if (elf->shoff != 0) {
        note_damage(elf, "section headers of an impossible size", elf->shoff);
    }
    if (elf->phoff != 0 && elf->phentsize >= phmin) {
        elf->phnum = cut_count(elf, elf->phoff, elf->phentsize, phcount);
        if (elf->phnum < phcount) {
            note_damage(elf, "program headers lie past the end", elf->phoff);
        }
    } else if (elf->phoff != 0 && phnum != 0) {
        note_damage(elf, "program headers of an impossible size", elf->phoff);
    }
}

enum sonde_status sonde__elf_open(const void *data, size_t size, struct sonde__elf *ret_elf,
                                  struct sonde_error *ret_error)
{
    static const uint8_t magic[4] = {0x7f, 'E', 'L', 'F'};
    const uint8_t *ident = data;
    struct sonde__elf elf = {0};
    struct sonde__bytes b;
    uint32_t phnum, shnum, shstrndx;
    if (size < sizeof magic || sonde__base_mem_compare(ident, magic, sizeof magic) != 0) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not an ELF", NULL, 0, 0);
    }
    if (size < SONDE__ELF_EHDR32_BYTES || (ident[4] == 2 && size < SONDE__ELF_EHDR64_BYTES)) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "ELF header cut short", NULL, 0, size);
    }
    if (ident[4] != 1 && ident[4] != 2) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "ELF of an unknown class", NULL, 0,
                                4);
    }
    if (ident[5] != 1) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                ident[5] == 2 ? "big-endian ELF" : "ELF of an unknown byte order",
                                NULL, 0, 5);
    }
    elf.is64 = ident[4] == 2;
    sonde__base_bytes_init(&elf.file, data, size);
    b = elf.file;
    sonde__base_bytes_seek(&b, 16);
    elf.type = sonde__base_bytes_u16(&b);
    elf.machine = sonde__base_bytes_u16(&b);
    elf.arch = sonde__elf_arch(elf.machine);
    sonde__base_bytes_u32(&b);
    elf.entry = read_word(&b, elf.is64);
    elf.phoff = read_word(&b, elf.is64);
    elf.shoff = read_word(&b, elf.is64);
    sonde__base_bytes_u32(&b); /* e_flags */
    sonde__base_bytes_u16(&b); /* e_ehsize */
    elf.phentsize = sonde__base_bytes_u16(&b);
    phnum = sonde__base_bytes_u16(&b);
    elf.shentsize = sonde__base_bytes_u16(&b);
    shnum = sonde__base_bytes_u16(&b);
    shstrndx = sonde__base_bytes_u16(&b);
    resolve_counts(&elf, phnum, shnum, shstrndx);
    resolve_section_names(&elf);
    if (elf.phnum == 0 && elf.shnum == 0) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT,
                                elf.damage != NULL ? elf.damage : "ELF without any header table",
                                NULL, 0, elf.damage != NULL ? elf.damage_at : 0);
    }
    *ret_elf = elf;
    return SONDE_OK;
}

/* May the section headers of a loaded image be used? They are where the file has them only if
 * every segment was loaded at its file offset, and the bytes there were loaded at all. */
static bool trust_sections(const struct sonde__elf *elf)
{
    struct sonde__elf_segment segment;
    struct sonde__elf_section section;
    for (uint32_t i = 0; i < elf->phnum; i++) {
        if (sonde__elf_segment(elf, i, &segment) && segment.type == SONDE__PT_LOAD &&
            segment.offset != segment.vaddr - elf->base) {
            return false;
        }
    }
    return sonde__elf_section(elf, 0, &section) && section.type == SONDE__SHT_NULL &&
           sonde__elf_section(elf, elf->shstrndx, &section) && section.type == SONDE__SHT_STRTAB &&
           sonde__base_str_compare(section.name, ".shstrtab") == 0;
}

enum sonde_status sonde__elf_open_image(const void *data, size_t size, uint64_t bias,
                                        struct sonde__elf *ret_elf, struct sonde_error *ret_error)
{
    struct sonde__elf elf = {0};
    uint64_t lowest = UINT64_MAX;
    SONDE_TRY(sonde__elf_open(data, size, &elf, ret_error));
    for (uint32_t i = 0; i < elf.phnum; i++) {
        struct sonde__elf_segment segment;
        if (sonde__elf_segment(&elf, i, &segment) && segment.type == SONDE__PT_LOAD &&
            segment.vaddr - segment.offset < lowest && segment.offset <= segment.vaddr) {
            /* The header is at file offset 0, which the first segment maps (page-aligned). */
            lowest = segment.vaddr - segment.offset;
            break;
        }
    }
    if (lowest == UINT64_MAX) {
        return sonde__base_fail(ret_error, SONDE_CORRUPT, "loaded image without a PT_LOAD", NULL, 0,
                                elf.phoff);
    }
    elf.memory = true;
    elf.base = lowest;
    elf.bias = bias;
    elf.damage = NULL; /* section headers are rarely loaded: their absence is no damage */
    if (!trust_sections(&elf)) {
        elf.shnum = 0;
    }
    *ret_elf = elf;
    return SONDE_OK;
}

bool sonde__elf_segment(const struct sonde__elf *elf, uint32_t index,
                        struct sonde__elf_segment *ret_segment)
{
    struct sonde__bytes b = elf->file;
    struct sonde__elf_segment s;
    if (index >= elf->phnum ||
        !sonde__base_bytes_seek(&b, elf->phoff + (uint64_t)index * elf->phentsize)) {
        return false;
    }
    s.type = sonde__base_bytes_u32(&b);
    if (elf->is64) {
        s.flags = sonde__base_bytes_u32(&b);
    }
    s.offset = read_word(&b, elf->is64);
    s.vaddr = read_word(&b, elf->is64);
    read_word(&b, elf->is64); /* p_paddr */
    s.filesz = read_word(&b, elf->is64);
    s.memsz = read_word(&b, elf->is64);
    if (!elf->is64) {
        s.flags = sonde__base_bytes_u32(&b);
    }
    s.align = read_word(&b, elf->is64);
    if (b.failed) {
        return false;
    }
    *ret_segment = s;
    return true;
}

bool sonde__elf_segment_by_type(const struct sonde__elf *elf, uint32_t type,
                                struct sonde__elf_segment *ret_segment)
{
    for (uint32_t i = 0; i < elf->phnum; i++) {
        struct sonde__elf_segment segment;
        if (sonde__elf_segment(elf, i, &segment) && segment.type == type) {
            *ret_segment = segment;
            return true;
        }
    }
    return false;
}

bool sonde__elf_text_range(const struct sonde__elf *elf, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t start = UINT64_MAX, end = 0;
    for (uint32_t i = 0; i < elf->phnum; i++) {
        struct sonde__elf_segment s;
        if (!sonde__elf_segment(elf, i, &s) || s.type != SONDE__PT_LOAD ||
            (s.flags & SONDE__PF_X) == 0 || s.memsz == 0 || s.vaddr > UINT64_MAX - s.memsz) {
            continue;
        }
        start = s.vaddr < start ? s.vaddr : start;
        end = s.vaddr + s.memsz > end ? s.vaddr + s.memsz : end;
    }
    if (start >= end) {
        return false;
    }
    *ret_start = start;
    *ret_end = end;
    return true;
}

const uint8_t *sonde__elf_from_vaddr(const struct sonde__elf *elf, uint64_t vaddr,
                                     uint64_t *ret_left)
{
    uint64_t size = (uint64_t)(elf->file.end - elf->file.begin);
    for (uint32_t i = 0; i < elf->phnum; i++) {
        struct sonde__elf_segment s;
        uint64_t inside, offset, left;
        if (!sonde__elf_segment(elf, i, &s) || s.type != SONDE__PT_LOAD || vaddr < s.vaddr) {
            continue;
        }
        inside = vaddr - s.vaddr;
        left = elf->memory ? s.memsz : s.filesz;
        offset = elf->memory ? vaddr - elf->base : s.offset + inside;
        if (inside >= left || offset >= size || (!elf->memory && offset < inside)) {
            continue;
        }
        left -= inside;
        *ret_left = left < size - offset ? left : size - offset;
        return elf->file.begin + offset;
    }
    return NULL;
}

const uint8_t *sonde__elf_at_vaddr(const struct sonde__elf *elf, uint64_t vaddr, uint64_t size)
{
    uint64_t left = 0;
    const uint8_t *data = sonde__elf_from_vaddr(elf, vaddr, &left);
    return data != NULL && size <= left ? data : NULL;
}
