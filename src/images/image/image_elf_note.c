// SPDX-License-Identifier: Apache-2.0
/* Notes, build-id and debug links of an ELF. Context: handler.
 *
 * A note is namesz, descsz, type, name, desc; name and desc are padded to 4 bytes, or to 8 in
 * segments aligned to 8 (gABI 4.1 "Note Section", as binutils and the kernel read it). */
#include "base_mem.h"
#include "image_elf.h"

/* Limit of note segments or sections read. Programs have two or three, cores one. Without a
 * limit, a hostile file with many headers over the same bytes would cost quadratic time. */
#define NOTE_AREAS_MAX 32u

typedef bool note_callback(void *ctx, const char *owner, uint32_t type, const uint8_t *data,
                           size_t size);

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

/* False: `each` wants no more. */
static bool walk_notes(const uint8_t *data, uint64_t size, uint64_t align, note_callback *each,
                       void *ctx)
{
    struct sonde__bytes b;
    uint64_t pad = align == 8 ? 8 : 4;
    sonde__base_bytes_init(&b, data, (size_t)size);
    while (sonde__base_bytes_left(&b) >= 12) {
        uint64_t at = sonde__base_bytes_offset(&b);
        uint32_t name_size = sonde__base_bytes_u32(&b);
        uint32_t desc_size = sonde__base_bytes_u32(&b);
        uint32_t type = sonde__base_bytes_u32(&b);
        const uint8_t *name = sonde__base_bytes_take(&b, name_size);
        const uint8_t *desc;
        sonde__base_bytes_seek(&b, at + align_up(12 + (uint64_t)name_size, pad));
        desc = sonde__base_bytes_take(&b, desc_size);
        if (b.failed || name == NULL || desc == NULL) {
            return true; /* this area is broken from here on */
        }
        if (!each(ctx, name_size > 0 && name[name_size - 1] == 0 ? (const char *)name : "", type,
                  desc, desc_size)) {
            return false;
        }
        at = align_up(sonde__base_bytes_offset(&b), pad);
        if (!sonde__base_bytes_seek(&b, at)) {
            return true; /* the last note need not be padded */
        }
    }
    return true;
}

/* The bytes of a note segment. A core's notes are only in the file, so they have no vaddr. */
static const uint8_t *note_segment_data(const struct sonde__elf *elf,
                                        const struct sonde__elf_segment *segment,
                                        uint64_t *ret_size)
{
    struct sonde__bytes part;
    if (elf->memory) {
        uint64_t left = 0;
        const uint8_t *data = sonde__elf_from_vaddr(elf, segment->vaddr, &left);
        *ret_size = segment->filesz < left ? segment->filesz : left;
        return data;
    }
    part = sonde__base_bytes_part(&elf->file, segment->offset, segment->filesz);
    if (part.failed) { /* cut file: use what is present */
        uint64_t size = (uint64_t)(elf->file.end - elf->file.begin);
        if (segment->offset >= size) {
            return NULL;
        }
        part = sonde__base_bytes_part(&elf->file, segment->offset, size - segment->offset);
    }
    *ret_size = (uint64_t)(part.end - part.begin);
    return part.begin;
}

void sonde__elf_each_note(const struct sonde__elf *elf, note_callback *each, void *ctx)
{
    unsigned areas = 0;
    for (uint32_t i = 0; i < elf->phnum && areas < NOTE_AREAS_MAX; i++) {
        struct sonde__elf_segment segment;
        uint64_t size = 0;
        const uint8_t *data;
        if (!sonde__elf_segment(elf, i, &segment) || segment.type != SONDE__PT_NOTE) {
            continue;
        }
        areas++;
        data = note_segment_data(elf, &segment, &size);
        if (data != NULL && !walk_notes(data, size, segment.align, each, ctx)) {
            return;
        }
    }
}

static bool take_build_id(void *ctx, const char *owner, uint32_t type, const uint8_t *data,
                          size_t size)
{
    struct sonde__build_id *id = ctx;
    if (type != SONDE__NT_GNU_BUILD_ID || sonde__base_str_compare(owner, "GNU") != 0 || size == 0 ||
        size > SONDE__BUILD_ID_MAX) {
        return true;
    }
    id->size = (uint8_t)size;
    sonde__base_mem_copy(id->bytes, data, size);
    return false;
}

bool sonde__elf_build_id(const struct sonde__elf *elf, struct sonde__build_id *ret_id)
{
    struct sonde__build_id id = {0};
    unsigned areas = 0;
    sonde__elf_each_note(elf, take_build_id, &id);
    for (uint32_t i = 0; i < elf->shnum && id.size == 0 && areas < NOTE_AREAS_MAX; i++) {
        struct sonde__elf_section section;
        if (sonde__elf_section(elf, i, &section) && section.type == SONDE__SHT_NOTE &&
            section.data != NULL) {
            areas++;
            walk_notes(section.data, section.size, 4, take_build_id, &id);
        }
    }
    if (id.size == 0) {
        return false;
    }
    *ret_id = id;
    return true;
}

bool sonde__elf_debuglink(const struct sonde__elf *elf, const char **ret_name, uint32_t *ret_crc)
{
    struct sonde__elf_section section;
    struct sonde__bytes b;
    const char *name;
    uint32_t crc;
    if (!sonde__elf_section_by_name(elf, ".gnu_debuglink", &section) || section.data == NULL) {
        return false;
    }
    sonde__base_bytes_init(&b, section.data, (size_t)section.size);
    name = sonde__base_bytes_string(&b);
    sonde__base_bytes_seek(&b, align_up(sonde__base_bytes_offset(&b), 4));
    crc = sonde__base_bytes_u32(&b);
    if (b.failed || name[0] == '\0') {
        return false;
    }
    *ret_name = name;
    *ret_crc = crc;
    return true;
}

bool sonde__elf_debugaltlink(const struct sonde__elf *elf, const char **ret_name,
                             struct sonde__build_id *ret_id)
{
    struct sonde__elf_section section;
    struct sonde__bytes b;
    const char *name;
    size_t size;
    if (!sonde__elf_section_by_name(elf, ".gnu_debugaltlink", &section) || section.data == NULL) {
        return false;
    }
    sonde__base_bytes_init(&b, section.data, (size_t)section.size);
    name = sonde__base_bytes_string(&b);
    size = sonde__base_bytes_left(&b);
    if (b.failed || name[0] == '\0' || size == 0 || size > SONDE__BUILD_ID_MAX) {
        return false;
    }
    ret_id->size = (uint8_t)size;
    sonde__base_mem_copy(ret_id->bytes, b.at, size);
    *ret_name = name;
    return true;
}
