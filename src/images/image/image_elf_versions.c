// SPDX-License-Identifier: Apache-2.0
#include "image_elf_versions.h"

#include "base_mem.h"

/* Without bit 15 of a number, which marks a version that is not the default one. */
#define NUMBER_MASK 0x7fffu
/* Smaller numbers have no version: 0 is local, 1 the file itself. */
#define NUMBER_FIRST 2u

struct reader {
    struct sonde__bytes records;
    struct sonde__elf_symbols symbols; /* for the strings */
    struct sonde__elf_versions *versions;
    uint64_t left; /* records that may still be read */
};

static void set_name(struct reader *r, uint32_t number, uint32_t name)
{
    number &= NUMBER_MASK;
    if (!r->records.failed && number >= NUMBER_FIRST && number < SONDE__ELF_VERSIONS_MAX &&
        name < r->symbols.strings_size) {
        r->versions->names[number] = r->symbols.strings + name;
    }
}

/* Go to the next record, `next` bytes behind the one at *at. False: none. */
static bool go_on(struct reader *r, uint64_t *at, uint32_t next)
{
    *at += next;
    return next != 0 && r->left-- != 0 && sonde__base_bytes_seek(&r->records, *at);
}

/* Verdef: version, flags, number, count (2 bytes each), hash, first name, next (4 each); a name:
 * its place, next (4 each). The first name is the definition's, the others are inherited. */
static void read_definitions(struct reader *r)
{
    struct sonde__bytes *b = &r->records;
    uint64_t at = 0;
    uint32_t next;
    do {
        sonde__base_bytes_u16(b);
        sonde__base_bytes_u16(b);
        uint16_t number = sonde__base_bytes_u16(b);
        sonde__base_bytes_u16(b);
        sonde__base_bytes_u32(b);
        uint32_t names = sonde__base_bytes_u32(b);
        next = sonde__base_bytes_u32(b);
        if (!sonde__base_bytes_seek(b, at + names)) {
            return;
        }
        set_name(r, number, sonde__base_bytes_u32(b));
    } while (go_on(r, &at, next));
}

/* Vernaux: hash (4 bytes), flags, number (2 each), name, next (4 each). */
static void read_names_needed(struct reader *r, uint64_t at)
{
    struct sonde__bytes *b = &r->records;
    uint32_t next;
    if (!sonde__base_bytes_seek(b, at)) {
        return;
    }
    do {
        sonde__base_bytes_u32(b);
        sonde__base_bytes_u16(b);
        uint16_t number = sonde__base_bytes_u16(b);
        uint32_t name = sonde__base_bytes_u32(b);
        next = sonde__base_bytes_u32(b);
        set_name(r, number, name);
    } while (go_on(r, &at, next));
}

/* Verneed: version, count (2 bytes each), file, first name, next (4 each). */
static void read_needs(struct reader *r)
{
    struct sonde__bytes *b = &r->records;
    uint64_t at = 0;
    uint32_t next;
    do {
        sonde__base_bytes_u32(b);
        sonde__base_bytes_u32(b);
        uint32_t names = sonde__base_bytes_u32(b);
        next = sonde__base_bytes_u32(b);
        if (b->failed) {
            return;
        }
        read_names_needed(r, at + names);
        b->failed = false; /* skip a damaged list */
    } while (go_on(r, &at, next));
}

static void read_records(const struct sonde__elf *elf, uint32_t type, void (*read)(struct reader *),
                         struct sonde__elf_versions *versions)
{
    struct sonde__elf_section section;
    struct reader r = {.versions = versions};
    if (sonde__elf_section_by_type(elf, type, &section) && section.data != NULL &&
        sonde__elf_dynamic_symbols(elf, &r.symbols)) {
        sonde__base_bytes_init(&r.records, section.data, (size_t)section.size);
        r.left = section.size / 8; /* the smallest record */
        read(&r);
    }
}

void sonde__elf_versions(const struct sonde__elf *elf, struct sonde__elf_versions *ret_versions)
{
    struct sonde__elf_section section;
    sonde__base_mem_set(ret_versions, 0, sizeof *ret_versions);
    if (sonde__elf_section_by_type(elf, SONDE__SHT_GNU_VERSYM, &section) && section.data != NULL) {
        ret_versions->numbers = section.data;
        ret_versions->count = section.size / 2;
        read_records(elf, SONDE__SHT_GNU_VERDEF, read_definitions, ret_versions);
        read_records(elf, SONDE__SHT_GNU_VERNEED, read_needs, ret_versions);
    }
}

const char *sonde__elf_version(const struct sonde__elf_versions *versions, uint32_t symbol)
{
    uint32_t number;
    if (versions->numbers == NULL) {
        return "";
    }
    if (symbol >= versions->count) {
        return NULL;
    }
    number = (versions->numbers[(uint64_t)symbol * 2] |
              (uint32_t)versions->numbers[(uint64_t)symbol * 2 + 1] << 8) &
             NUMBER_MASK;
    if (number < NUMBER_FIRST) {
        return "";
    }
    return number < SONDE__ELF_VERSIONS_MAX ? versions->names[number] : NULL;
}
