// SPDX-License-Identifier: Apache-2.0
#include "symfile_sections.h"

#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "inflate.h"

/* Deflate expands at most 1032 times; debug sections stay far below, with zstd too. */
#define RATIO_MAX 1032u
/* Several times the largest debug information known. */
#define INFLATED_MAX ((uint64_t)16 << 30)

enum { NAME_BYTES = 40, ALIGNMENT = 64 };

struct found {
    struct sonde__elf_section section;
    struct sonde__elf_compression compression;
    bool there, compressed;
    uint64_t at; /* offset in the scratch */
};

static void find(const struct sonde__elf *elf, const char *prefix, const char *name,
                 const char *suffix, struct found *found)
{
    char text[NAME_BYTES];
    snprintf(text, sizeof text, ".%s_%s%s", prefix, name, suffix);
    found->there =
        sonde__elf_section_by_name(elf, text, &found->section) && found->section.data != NULL;
}

/* Find a section and its inflated size. A section of impossible size is skipped and recorded as
 * damage. */
static void look(const struct sonde__elf *elf, const char *name, bool split, struct found *found,
                 struct sonde__symfile_sections *sections)
{
    /* a package's index has no suffix .dwo */
    bool index = strcmp(name, "cu_index") == 0 || strcmp(name, "tu_index") == 0;
    const char *suffix = split && !index ? ".dwo" : "";
    bool old = false;
    find(elf, "debug", name, suffix, found);
    if (!found->there) {
        find(elf, "zdebug", name, suffix, found);
        old = found->there;
    }
    if (!found->there || (!old && (found->section.flags & SONDE__SHF_COMPRESSED) == 0)) {
        return;
    }
    struct sonde__elf_compression *c = &found->compression;
    found->there = false;
    if (!sonde__elf_compression(elf, &found->section, c)) {
        sections->damage = "a compressed section without its header";
    } else if (c->type != SONDE__ELFCOMPRESS_ZLIB && c->type != SONDE__ELFCOMPRESS_ZSTD) {
        sections->damage = "a section compressed in an unknown way";
    } else if (c->size / RATIO_MAX > c->data_size ||
               c->size > INFLATED_MAX - sections->inflated_bytes) {
        sections->damage = "a compressed section claims an impossible size";
    } else {
        found->there = found->compressed = true;
        found->at = sections->inflated_bytes;
        sections->inflated_bytes += (c->size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    }
}

static enum sonde_status inflate_one(const struct found *found, uint8_t *to, uint64_t *ret_size,
                                     const char **damage, struct sonde_error *ret_error)
{
    const struct sonde__elf_compression *c = &found->compression;
    struct sonde_error error;
    size_t size = 0;
    enum sonde_status status = sonde__inflate(
        c->type == SONDE__ELFCOMPRESS_ZSTD ? SONDE__INFLATE_ZSTD : SONDE__INFLATE_ZLIB, c->data,
        c->data_size, to, c->size, &size, &error);
    if (status == SONDE_OK && size != c->size) {
        *damage = "a compressed section is shorter than its header says";
    } else if (status == SONDE_CORRUPT || status == SONDE_LIMIT) {
        *damage = "a compressed section is malformed: its data after the error is lost";
    } else if (status != SONDE_OK) {
        return sonde__base_fail(ret_error, status, error.what, found->section.name, 0, 0);
    }
    *ret_size = size;
    return SONDE_OK;
}

static enum sonde_status inflate_all(const struct found *found,
                                     struct sonde__symfile_sections *sections,
                                     struct sonde_error *ret_error)
{
    for (unsigned i = 0; i < SONDE__DWARF_SECTION_COUNT; i++) {
        struct sonde__bytes *view = sonde__dwarf_section(&sections->views, i);
        const uint8_t *data = found[i].section.data;
        uint64_t size = found[i].section.size;
        if (!found[i].there) {
            continue;
        }
        if (found[i].compressed) {
            uint8_t *to = (uint8_t *)sections->scratch.data + found[i].at;
            SONDE_TRY(inflate_one(&found[i], to, &size, &sections->damage, ret_error));
            data = to;
        }
        sonde__base_bytes_init(view, data, size);
    }
    return SONDE_OK;
}

enum sonde_status sonde__symfile_sections_open(const struct sonde__elf *elf, bool split,
                                               struct sonde__symfile_sections *ret_sections,
                                               struct sonde_error *ret_error)
{
    struct sonde__symfile_sections sections = {0};
    struct found found[SONDE__DWARF_SECTION_COUNT];
    memset(found, 0, sizeof found);
    sonde__dwarf_sections_init(&sections.views);
    for (unsigned i = 0; i < SONDE__DWARF_SECTION_COUNT; i++) {
        look(elf, sonde__dwarf_section_name(i), split, &found[i], &sections);
    }
    if (sections.inflated_bytes != 0) {
        SONDE_TRY(sonde__host_scratch_open(sections.inflated_bytes, &sections.scratch, ret_error));
    }
    enum sonde_status status = inflate_all(found, &sections, ret_error);
    if (status != SONDE_OK) {
        sonde__symfile_sections_close(&sections);
        return status;
    }
    *ret_sections = sections;
    return SONDE_OK;
}

void sonde__symfile_sections_close(struct sonde__symfile_sections *sections)
{
    sonde__host_scratch_close(&sections->scratch);
    *sections = (struct sonde__symfile_sections){0};
}
