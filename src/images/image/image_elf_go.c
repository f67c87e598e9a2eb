// SPDX-License-Identifier: Apache-2.0
/* Finds the function table of a Go program in its ELF file or loaded image.
 *
 * Linkers name its section .gopclntab or .data.rel.ro.gopclntab. If C is linked in and the program
 * is position-independent, it is somewhere in .data.rel.ro: then the readable segments are
 * searched, if another section shows that the program is Go's.
 *
 * From Go 1.26 on, the table does not say where code begins. The runtime's record of the program
 * (moduledata in runtime/symtab.go) does; it begins with the address of the table. Context:
 * handler. */
#include "base_mem.h"
#include "image_elf.h"
#include "image_go.h"

enum { WORD = 8, ALIGNMENT = 8, TEXT_FIELD = 24, RELA_BYTES = 24 };
enum { RECORD_FIRST_PC = 20 * WORD, RECORD_END_PC = 21 * WORD, RECORD_TEXT = 22 * WORD };
enum { R_X86_64_RELATIVE = 8, R_AARCH64_RELATIVE = 1027 };
enum { DT_RELA = 7, DT_RELASZ = 8 };

static bool ends_with(const char *text, const char *end)
{
    size_t size = sonde__base_str_length(text);
    size_t end_size = sonde__base_str_length(end);
    return size >= end_size && sonde__base_str_compare(text + size - end_size, end) == 0;
}

/* Iterates over the relative relocations of a file. */
struct relocations {
    struct sonde__bytes bytes;
    uint64_t kind;
};

static void open_relocations(const struct sonde__elf *elf, struct relocations *ret_relocations)
{
    uint64_t table = 0, size = 0, left = 0;
    const uint8_t *data = NULL;
    if (!elf->memory && sonde__elf_dynamic_tag(elf, DT_RELA, &table) &&
        sonde__elf_dynamic_tag(elf, DT_RELASZ, &size)) {
        data = sonde__elf_from_vaddr(elf, table, &left);
    }
    sonde__base_bytes_init(&ret_relocations->bytes, data, (size_t)(size < left ? size : left));
    ret_relocations->kind =
        elf->arch == SONDE_ARCH_X86_64 ? R_X86_64_RELATIVE : (uint64_t)R_AARCH64_RELATIVE;
}

static bool next_relocation(struct relocations *relocations, uint64_t *ret_at, uint64_t *ret_value)
{
    while (sonde__base_bytes_left(&relocations->bytes) >= RELA_BYTES) {
        *ret_at = sonde__base_bytes_u64(&relocations->bytes);
        uint64_t info = sonde__base_bytes_u64(&relocations->bytes);
        *ret_value = sonde__base_bytes_u64(&relocations->bytes);
        if ((uint32_t)info == relocations->kind) {
            return true;
        }
    }
    return false;
}

/* The value that a relative relocation of the file writes at `vaddr`; 0: none. */
static uint64_t relocated(const struct sonde__elf *elf, uint64_t vaddr)
{
    struct relocations relocations;
    uint64_t at, value;
    open_relocations(elf, &relocations);
    while (next_relocation(&relocations, &at, &value)) {
        if (at == vaddr) {
            return value;
        }
    }
    return 0;
}

/* The word at `vaddr` as the program sees it; 0: none. */
static uint64_t word_at(const struct sonde__elf *elf, uint64_t vaddr)
{
    const uint8_t *data = sonde__elf_at_vaddr(elf, vaddr, WORD);
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, data, data != NULL ? WORD : 0);
    uint64_t value = sonde__base_bytes_u64(&b);
    return value != 0 ? value : relocated(elf, vaddr);
}

/* The start of code, if a record of the table at `table` is at `vaddr`; 0: it is not. */
static uint64_t text_by_record(const struct sonde__elf *elf, uint64_t vaddr, uint64_t table)
{
    uint64_t first = word_at(elf, vaddr + RECORD_FIRST_PC);
    uint64_t end = word_at(elf, vaddr + RECORD_END_PC);
    uint64_t text = word_at(elf, vaddr + RECORD_TEXT);
    return word_at(elf, vaddr) == table && text <= first && first < end ? text : 0;
}

static uint64_t text_in_segment(const struct sonde__elf *elf, const struct sonde__elf_segment *s,
                                uint64_t table)
{
    uint64_t left = 0, text = 0;
    const uint8_t *data = sonde__elf_from_vaddr(elf, s->vaddr, &left);
    for (uint64_t at = (0 - s->vaddr) % ALIGNMENT; data != NULL && at + WORD <= left && text == 0;
         at += ALIGNMENT) {
        uint64_t value;
        sonde__base_mem_copy(&value, data + at, WORD);
        text = value == table ? text_by_record(elf, s->vaddr + at, table) : 0;
    }
    return text;
}

/* Find the start of code by the runtime's record of the table at address `table`. */
static uint64_t text_of(const struct sonde__elf *elf, uint64_t table)
{
    struct sonde__elf_segment s;
    struct relocations relocations;
    uint64_t at, value, text = 0;
    for (uint32_t i = 0; text == 0 && sonde__elf_segment(elf, i, &s); i++) {
        if (s.type == SONDE__PT_LOAD && (s.flags & SONDE__PF_W) != 0) {
            text = text_in_segment(elf, &s, table);
        }
    }
    open_relocations(elf, &relocations);
    while (text == 0 && next_relocation(&relocations, &at, &value)) {
        text = value == table ? text_by_record(elf, at, table) : 0;
    }
    return text;
}

/* Open the table at `data`, `left` bytes before the end of its section or segment. */
static bool open_at(const struct sonde__elf *elf, uint64_t vaddr, const uint8_t *data,
                    uint64_t left, struct sonde__go *ret_go)
{
    uint64_t bias = elf->memory ? elf->bias : 0;
    uint64_t text = relocated(elf, vaddr + TEXT_FIELD);
    if (sonde__image_go_open(data, (size_t)left, text, 0 - bias, ret_go)) {
        return true;
    }
    text = text == 0 ? text_of(elf, vaddr + bias) : 0;
    return text != 0 && sonde__image_go_open(data, (size_t)left, text, 0 - bias, ret_go);
}

static bool has_magic(const uint8_t *bytes)
{
    uint32_t last = bytes[0];
    return bytes[1] == 0xff && bytes[2] == 0xff && bytes[3] == 0xff &&
           (last == 0xf0 || last == 0xf1 || last == 0xfa || last == 0xfb) && bytes[4] == 0 &&
           bytes[5] == 0;
}

static bool search(const struct sonde__elf *elf, struct sonde__go *ret_go)
{
    struct sonde__elf_segment s;
    for (uint32_t i = 0; sonde__elf_segment(elf, i, &s); i++) {
        uint64_t left = 0;
        const uint8_t *data = s.type == SONDE__PT_LOAD && (s.flags & SONDE__PF_R) != 0
                                  ? sonde__elf_from_vaddr(elf, s.vaddr, &left)
                                  : NULL;
        uint64_t skip = (0 - s.vaddr) % ALIGNMENT;
        if (data == NULL) {
            continue;
        }
        for (uint64_t at = skip; at + TEXT_FIELD <= left; at += ALIGNMENT) {
            if (has_magic(data + at) && open_at(elf, s.vaddr + at, data + at, left - at, ret_go)) {
                return true;
            }
        }
    }
    return false;
}

bool sonde__elf_go(const struct sonde__elf *elf, struct sonde__go *ret_go)
{
    struct sonde__elf_section section;
    bool is_go = elf->shnum == 0;
    if (!elf->is64) {
        return false;
    }
    for (uint32_t i = 0; i < elf->shnum; i++) {
        if (!sonde__elf_section(elf, i, &section)) {
            continue;
        }
        if (section.data != NULL && (section.flags & SONDE__SHF_COMPRESSED) == 0 &&
            ends_with(section.name, ".gopclntab")) {
            return open_at(elf, section.vaddr, section.data, section.size, ret_go);
        }
        is_go = is_go || sonde__base_str_compare(section.name, ".go.buildinfo") == 0;
    }
    return is_go && search(elf, ret_go);
}
