// SPDX-License-Identifier: Apache-2.0
/* Finds the call frame information of an ELF. image_cfi and unwind read its records. Sources:
 * LSB 5 §10.6 (.eh_frame, .eh_frame_hdr). Context: handler. */
#include "image_elf.h"

/* Pointer encodings of .eh_frame_hdr (LSB 5 §10.5.1). */
#define PE_ABSPTR  0x00u
#define PE_UDATA4  0x03u
#define PE_UDATA8  0x04u
#define PE_SDATA4  0x0bu
#define PE_SDATA8  0x0cu
#define PE_PCREL   0x10u
#define PE_DATAREL 0x30u
#define PE_OMIT    0xffu

static const uint8_t *plain_data(const struct sonde__elf_section *section)
{
    return (section->flags & SONDE__SHF_COMPRESSED) == 0 ? section->data : NULL;
}

static bool find_by_sections(const struct sonde__elf *elf, struct sonde__cfi *cfi)
{
    struct sonde__elf_section section;
    if (sonde__elf_section_by_name(elf, ".eh_frame", &section) && plain_data(&section) != NULL) {
        cfi->eh_frame = section.data;
        cfi->eh_frame_size = (size_t)section.size;
        cfi->eh_frame_vaddr = section.vaddr;
    }
    if (sonde__elf_section_by_name(elf, ".eh_frame_hdr", &section) &&
        plain_data(&section) != NULL) {
        cfi->eh_frame_hdr = section.data;
        cfi->eh_frame_hdr_size = (size_t)section.size;
        cfi->eh_frame_hdr_vaddr = section.vaddr;
    }
    if (sonde__elf_section_by_name(elf, ".debug_frame", &section) && plain_data(&section) != NULL) {
        cfi->debug_frame = section.data;
        cfi->debug_frame_size = (size_t)section.size;
    }
    return cfi->eh_frame != NULL || cfi->debug_frame != NULL;
}

/* Read the eh_frame pointer of .eh_frame_hdr: version, three encodings, pointer. */
static bool read_eh_frame_pointer(const struct sonde__elf *elf, const struct sonde__cfi *cfi,
                                  uint64_t *ret_vaddr)
{
    struct sonde__bytes b;
    uint8_t encoding;
    uint64_t at, value;
    sonde__base_bytes_init(&b, cfi->eh_frame_hdr, cfi->eh_frame_hdr_size);
    if (sonde__base_bytes_u8(&b) != 1) {
        return false;
    }
    encoding = sonde__base_bytes_u8(&b);
    sonde__base_bytes_u16(&b);
    at = cfi->eh_frame_hdr_vaddr + sonde__base_bytes_offset(&b);
    switch (encoding == PE_OMIT ? encoding : encoding & 15) {
    case PE_ABSPTR:
        value = sonde__base_bytes_uint(&b, elf->is64 ? 8 : 4);
        break;
    case PE_UDATA4:
        value = sonde__base_bytes_u32(&b);
        break;
    case PE_SDATA4:
        value = (uint64_t)(int64_t)(int32_t)sonde__base_bytes_u32(&b);
        break;
    case PE_UDATA8:
    case PE_SDATA8:
        value = sonde__base_bytes_u64(&b);
        break;
    default:
        return false;
    }
    switch (encoding & 0xf0) {
    case 0:
        value += cfi->absolute_bias;
        break;
    case PE_PCREL:
        value += at;
        break;
    case PE_DATAREL:
        value += cfi->eh_frame_hdr_vaddr;
        break;
    default:
        return false;
    }
    *ret_vaddr = elf->is64 ? value : (uint32_t)value;
    return !b.failed;
}

/* Without section headers, .eh_frame's size is unknown: a zero length or its segment ends it. */
static bool find_by_segment(const struct sonde__elf *elf, struct sonde__cfi *cfi)
{
    struct sonde__elf_segment segment;
    uint64_t left = 0, vaddr;
    const uint8_t *data;
    if (!sonde__elf_segment_by_type(elf, SONDE__PT_GNU_EH_FRAME, &segment)) {
        return false;
    }
    data = sonde__elf_from_vaddr(elf, segment.vaddr, &left);
    if (data == NULL) {
        return false;
    }
    cfi->eh_frame_hdr = data;
    cfi->eh_frame_hdr_size = (size_t)(segment.filesz < left ? segment.filesz : left);
    cfi->eh_frame_hdr_vaddr = segment.vaddr;
    if (!read_eh_frame_pointer(elf, cfi, &vaddr) ||
        (data = sonde__elf_from_vaddr(elf, vaddr, &left)) == NULL) {
        cfi->eh_frame_hdr = NULL;
        cfi->eh_frame_hdr_size = 0;
        return false;
    }
    cfi->eh_frame = data;
    cfi->eh_frame_size = (size_t)left;
    cfi->eh_frame_vaddr = vaddr;
    return true;
}

bool sonde__elf_cfi(const struct sonde__elf *elf, struct sonde__cfi *ret_cfi)
{
    struct sonde__cfi cfi = {0};
    struct sonde__elf_section section;
    uint64_t start = 0, end = 0, got = 0;
    cfi.absolute_bias = elf->memory ? 0 - elf->bias : 0;
    if (!find_by_sections(elf, &cfi) || cfi.eh_frame == NULL) {
        if (!find_by_segment(elf, &cfi) && cfi.debug_frame == NULL) {
            return false;
        }
    }
    if (sonde__elf_section_by_name(elf, ".text", &section)) {
        cfi.text_vaddr = section.vaddr;
    } else if (sonde__elf_text_range(elf, &start, &end)) {
        cfi.text_vaddr = start;
    }
    if (sonde__elf_dynamic_tag(elf, SONDE__DT_PLTGOT, &got)) {
        cfi.data_vaddr = elf->memory && got >= elf->bias ? got - elf->bias : got;
    } else if (sonde__elf_section_by_name(elf, ".got", &section)) {
        cfi.data_vaddr = section.vaddr;
    }
    *ret_cfi = cfi;
    return true;
}
