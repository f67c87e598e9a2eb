// SPDX-License-Identifier: Apache-2.0
/* Where the table of functions of a Go program stands in its ELF file or loaded image.
 *
 * Linkers name its section .gopclntab or .data.rel.ro.gopclntab. Where C is linked in and the
 * program is position-independent, it lies somewhere in .data.rel.ro: then it is searched for in
 * the data segments, in programs that are Go's by another section. Context: handler. */
#include "base_mem.h"
#include "image_elf.h"
#include "image_go.h"

enum { ALIGNMENT = 8, TEXT_FIELD = 24, RELA_BYTES = 24 };
enum { R_X86_64_RELATIVE = 8, R_AARCH64_RELATIVE = 1027 };
enum { DT_RELA = 7, DT_RELASZ = 8 };

static bool ends_with(const char *text, const char *end)
{
    size_t size = sonde__base_str_length(text);
    size_t end_size = sonde__base_str_length(end);
    return size >= end_size && sonde__base_str_compare(text + size - end_size, end) == 0;
}

/* What a relative relocation of the file writes at `vaddr`; 0: there is none. */
static uint64_t relocated(const struct sonde__elf *elf, uint64_t vaddr)
{
    uint64_t table = 0, size = 0, left = 0;
    struct sonde__bytes b;
    uint64_t relative =
        elf->machine == SONDE__EM_X86_64 ? R_X86_64_RELATIVE : (uint64_t)R_AARCH64_RELATIVE;
    if (!sonde__elf_dynamic_tag(elf, DT_RELA, &table) ||
        !sonde__elf_dynamic_tag(elf, DT_RELASZ, &size)) {
        return 0;
    }
    const uint8_t *data = sonde__elf_from_vaddr(elf, table, &left);
    sonde__base_bytes_init(&b, data, (size_t)(size < left ? size : left));
    while (sonde__base_bytes_left(&b) >= RELA_BYTES) {
        uint64_t at = sonde__base_bytes_u64(&b);
        uint64_t info = sonde__base_bytes_u64(&b);
        uint64_t addend = sonde__base_bytes_u64(&b);
        if (at == vaddr && (uint32_t)info == relative) {
            return addend;
        }
    }
    return 0;
}

/* Is the table at `data`, `left` bytes before the end of what holds it? */
static bool open_at(const struct sonde__elf *elf, uint64_t vaddr, const uint8_t *data,
                    uint64_t left, struct sonde__go *ret_go)
{
    uint64_t text = elf->memory ? 0 : relocated(elf, vaddr + TEXT_FIELD);
    return sonde__image_go_open(data, (size_t)left, text, elf->memory ? 0 - elf->bias : 0, ret_go);
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
