// SPDX-License-Identifier: Apache-2.0
/* Describes a loaded object as an image: bounds, build-id and call frame information, in place in
 * memory. The object is loaded and the loader's lock is held, so plain loads inside its segments
 * are safe. Its tables are still parsed with bounds. Sources: gABI 4.1 chapter 5; LSB 5 §10.6. */
#include <elf.h>

#include "arch_regs.h"
#include "base_bytes.h"
#include "base_mem.h"
#include "image_cfi.h"
#include "image_elf.h"
#include "target_self_elf.h"

static const uint8_t *at_vaddr(const struct sonde__image *image, uint64_t vaddr)
{
    return (const uint8_t *)(uintptr_t)(vaddr + image->bias);
}

/* The end vaddr of the loaded segment that contains `vaddr`; 0: none. */
static uint64_t segment_end(const struct dl_phdr_info *info, uint64_t vaddr)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && vaddr >= segment->p_vaddr &&
            vaddr - segment->p_vaddr < segment->p_memsz) {
            return segment->p_vaddr + segment->p_memsz;
        }
    }
    return 0;
}

static void read_notes(struct sonde__image *image, const uint8_t *notes, size_t size,
                       bool *ret_is_go)
{
    struct sonde__bytes b;
    sonde__base_bytes_init(&b, notes, size);
    while (sonde__base_bytes_left(&b) >= 12) {
        uint32_t name_size = sonde__base_bytes_u32(&b);
        uint32_t data_size = sonde__base_bytes_u32(&b);
        uint32_t type = sonde__base_bytes_u32(&b);
        const uint8_t *name = sonde__base_bytes_take(&b, ((uint64_t)name_size + 3) & ~3ull);
        const uint8_t *data = sonde__base_bytes_take(&b, ((uint64_t)data_size + 3) & ~3ull);
        if (name == NULL || data == NULL || name_size != 4) {
            continue;
        }
        *ret_is_go = *ret_is_go || sonde__base_mem_compare(name, "Go\0", 4) == 0;
        if (image->build_id.size == 0 && type == NT_GNU_BUILD_ID &&
            sonde__base_mem_compare(name, "GNU", 4) == 0 && data_size <= SONDE__BUILD_ID_MAX) {
            sonde__base_mem_copy(image->build_id.bytes, data, data_size);
            image->build_id.size = (uint8_t)data_size;
            image->build_id_at = data;
        }
    }
}

/* Find the function table of a Go program in memory. Other images are not searched. Memory
 * between segments may be unmapped: the headers are in the first segment, and the search stays
 * inside segments. */
static void describe_go(const struct dl_phdr_info *info, struct sonde__image *image)
{
    struct sonde__elf elf;
    const uint8_t *start = (const uint8_t *)(uintptr_t)image->start;
    uint64_t first_end = segment_end(info, image->start - image->bias) + image->bias;
    if (sonde__elf_open_image(start, (size_t)(first_end - image->start), image->bias, &elf, NULL) ==
        SONDE_OK) {
        elf.shnum = 0;
        elf.file.end = start + (image->end - image->start);
        (void)sonde__elf_go(&elf, &image->go);
    }
}

/* Find the end of the records: after the last one in the search table. (No loaded header has its
 * size, and not every linker adds a zero record.) Without a usable table: the end of the
 * segment. */
static size_t records_size(const struct sonde__cfi *cfi, size_t size_max)
{
    struct sonde__cfi_search search;
    struct sonde__bytes b;
    uint64_t last = 0, length;
    if (!sonde__cfi_search_open(cfi, &search) || search.count == 0) {
        return size_max;
    }
    for (uint32_t i = 0; i < search.count; i++) {
        uint64_t start, offset;
        sonde__cfi_search_entry(cfi, &search, i, &start, &offset);
        if (offset > last && offset < size_max) {
            last = offset;
        }
    }
    sonde__base_bytes_init(&b, cfi->eh_frame, size_max);
    sonde__base_bytes_seek(&b, last);
    length = sonde__base_bytes_u32(&b);
    if (length == UINT32_MAX) {
        length = sonde__base_bytes_u64(&b);
    }
    if (b.failed || length > sonde__base_bytes_left(&b)) {
        return size_max;
    }
    return sonde__base_bytes_offset(&b) + (size_t)length;
}

static void describe_cfi(const struct dl_phdr_info *info, const ElfW(Phdr) * hdr,
                         struct sonde__image *image)
{
    struct sonde__cfi *cfi = &image->cfi;
    struct sonde__bytes b;
    uint64_t section, section_end, hdr_end = segment_end(info, hdr->p_vaddr);
    uint8_t encoding;
    if (hdr_end == 0 || hdr_end - hdr->p_vaddr < hdr->p_memsz) {
        return;
    }
    cfi->eh_frame_hdr = at_vaddr(image, hdr->p_vaddr);
    cfi->eh_frame_hdr_size = hdr->p_memsz;
    cfi->eh_frame_hdr_vaddr = hdr->p_vaddr;
    cfi->absolute_bias = 0 - image->bias;
    sonde__base_bytes_init(&b, cfi->eh_frame_hdr, cfi->eh_frame_hdr_size);
    sonde__base_bytes_u8(&b); /* version */
    encoding = sonde__base_bytes_u8(&b);
    sonde__base_bytes_u8(&b);
    sonde__base_bytes_u8(&b);
    if (encoding != 0x1b) { /* pcrel sdata4, which every linker writes */
        return;
    }
    section = hdr->p_vaddr + 4 + (uint64_t)(int64_t)(int32_t)sonde__base_bytes_u32(&b);
    section_end = segment_end(info, section);
    if (b.failed || section_end == 0) {
        return;
    }
    cfi->eh_frame = at_vaddr(image, section);
    cfi->eh_frame_vaddr = section;
    cfi->eh_frame_size = (size_t)(section_end - section);
    cfi->eh_frame_size = records_size(cfi, cfi->eh_frame_size);
}

bool self_image_describe(const struct dl_phdr_info *info, struct sonde__image *ret_image)
{
    struct sonde__image image = {.path = "", .bias = info->dlpi_addr, .arch = SONDE__ARCH_HOST};
    uint64_t low = UINT64_MAX, high = 0;
    bool is_go = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD) {
            low = segment->p_vaddr < low ? segment->p_vaddr : low;
            high = segment->p_vaddr + segment->p_memsz > high ? segment->p_vaddr + segment->p_memsz
                                                              : high;
        }
    }
    if (low >= high) {
        return false;
    }
    image.start = low + image.bias;
    image.end = high + image.bias;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t end = segment_end(info, segment->p_vaddr);
        if (segment->p_type == PT_NOTE && end != 0 && end - segment->p_vaddr >= segment->p_filesz) {
            read_notes(&image, at_vaddr(&image, segment->p_vaddr), segment->p_filesz, &is_go);
        } else if (segment->p_type == PT_GNU_EH_FRAME) {
            describe_cfi(info, segment, &image);
        }
    }
    if (is_go) {
        describe_go(info, &image);
    }
    *ret_image = image;
    return true;
}
