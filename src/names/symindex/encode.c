// SPDX-License-Identifier: Apache-2.0
/* Ranges, calls, functions, names and files -> the bytes of an index file. */
#include "encode.h"

#include <string.h>

#include <sonde/arch.h>

#include "image_set.h"
#include "mem_heap.h"

/* --- checksums: CRC-32C, eight bytes at a time --- */

struct crc_tables {
    uint32_t t[8][256];
};

static void make_tables(struct crc_tables *tables)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
        }
        tables->t[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++) {
        for (unsigned k = 1; k < 8; k++) {
            uint32_t before = tables->t[k - 1][i];
            tables->t[k][i] = before >> 8 ^ tables->t[0][before & 0xff];
        }
    }
}

static uint32_t checksum(const struct crc_tables *tables, const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (; size >= 8; size -= 8, data += 8) {
        uint32_t a = sonde__base_le32(data) ^ crc;
        uint32_t b = sonde__base_le32(data + 4);
        crc = tables->t[7][a & 0xff] ^ tables->t[6][a >> 8 & 0xff] ^ tables->t[5][a >> 16 & 0xff] ^
              tables->t[4][a >> 24] ^ tables->t[3][b & 0xff] ^ tables->t[2][b >> 8 & 0xff] ^
              tables->t[1][b >> 16 & 0xff] ^ tables->t[0][b >> 24];
    }
    for (; size > 0; size--) {
        crc = crc >> 8 ^ tables->t[0][(crc ^ *data++) & 0xff];
    }
    return ~crc;
}

/* --- the file --- */

static void find_build_id(const struct sonde__symindex_source *source,
                          struct sonde__build_id *ret_id)
{
    if (source->breakpad != NULL) {
        *ret_id = source->breakpad->id;
    } else if (source->macho_debug != NULL) {
        *ret_id = source->macho_debug->uuid;
    } else if (!sonde__elf_build_id(source->debug, ret_id) && source->image != NULL) {
        (void)sonde__elf_build_id(source->image, ret_id);
    }
}

static uint32_t arch_of(const struct sonde__symindex_source *source)
{
    return source->breakpad != NULL      ? source->breakpad->arch
           : source->macho_debug != NULL ? source->macho_debug->arch
                                         : source->debug->arch;
}

static bool is_from_header(const struct sonde__symindex_source *source)
{
    return source->macho_debug != NULL || (source->breakpad != NULL && source->breakpad->is_macho);
}

static void write_header(const struct encode *e, uint8_t *file, size_t header, size_t size)
{
    const struct convert *c = e->c;
    struct sonde__build_id id = {0};
    for (unsigned i = 0; i < SYMINDEX_MAGIC_BYTES; i++) {
        file[i] = (uint8_t)SYMINDEX_MAGIC[i];
    }
    find_build_id(c->source, &id);
    sonde__base_put_le32(file + SYMINDEX_AT_VERSION, SYMINDEX_VERSION);
    sonde__base_put_le32(file + SYMINDEX_AT_HEADER_BYTES, (uint32_t)header);
    sonde__base_put_le64(file + SYMINDEX_AT_FILE_BYTES, size);
    sonde__base_put_le64(file + SYMINDEX_AT_BASE, c->base);
    sonde__base_put_le32(file + SYMINDEX_AT_CODE_BYTES,
                         c->size < UINT32_MAX ? (uint32_t)c->size : UINT32_MAX);
    sonde__base_put_le32(file + SYMINDEX_AT_ARCH, arch_of(c->source));
    sonde__base_put_le32(file + SYMINDEX_AT_BUILD_ID_SIZE, id.size);
    memcpy(file + SYMINDEX_AT_BUILD_ID, id.bytes, id.size);
    sonde__base_put_le32(file + SYMINDEX_AT_SECTION_COUNT, SYMINDEX_KNOWN - 1);
    sonde__base_put_le32(file + SYMINDEX_AT_RANGE_COUNT, (uint32_t)c->range_count);
    sonde__base_put_le32(file + SYMINDEX_AT_CALL_COUNT, (uint32_t)c->call_count);
    sonde__base_put_le32(file + SYMINDEX_AT_FUNCTION_COUNT, (uint32_t)c->function_count);
    sonde__base_put_le32(file + SYMINDEX_AT_NAME_COUNT, e->name_count);
    sonde__base_put_le32(file + SYMINDEX_AT_FILE_COUNT, (uint32_t)c->file_count);
    sonde__base_put_le32(file + SYMINDEX_AT_DIRECTORY_COUNT, e->directory_count);
    sonde__base_put_le32(file + SYMINDEX_AT_SYMBOL_COUNT, (uint32_t)c->symbol_count);
    sonde__base_put_le32(file + SYMINDEX_AT_ALIAS_COUNT, (uint32_t)c->alias_count);
    sonde__base_put_le32(file + SYMINDEX_AT_UNIT_COUNT, (uint32_t)c->main.unit_count);
    sonde__base_put_le32(file + SYMINDEX_AT_BAD_UNIT_COUNT, (uint32_t)c->bad_unit_count);
    sonde__base_put_le32(file + SYMINDEX_AT_ESCAPE_COUNT, e->escape_count);
    memcpy(file + SYMINDEX_AT_WIDTHS, e->widths, sizeof e->widths);
    file[SYMINDEX_AT_FLAGS] = is_from_header(c->source) ? SYMINDEX_FROM_HEADER : 0;
}

static size_t aligned(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static void write_file(const struct encode *e, struct sonde__symindex_made *made)
{
    size_t header =
        SYMINDEX_AT_SECTIONS + (SYMINDEX_KNOWN - 1) * (size_t)SYMINDEX_SECTION_BYTES + 4;
    struct crc_tables tables;
    size_t size = aligned(header);
    size_t at = size;
    uint8_t *file, *entry;
    for (unsigned i = 1; i < SYMINDEX_KNOWN; i++) {
        size += aligned(e->sections[i].size);
    }
    file = sonde__mem_alloc(size);
    if (file == NULL) {
        e->c->status = SONDE_MEMORY;
        return;
    }
    make_tables(&tables);
    memset(file, 0, at);
    entry = file + SYMINDEX_AT_SECTIONS;
    for (unsigned i = 1; i < SYMINDEX_KNOWN; i++, entry += SYMINDEX_SECTION_BYTES) {
        const struct section *s = &e->sections[i];
        if (s->size != 0) {
            memcpy(file + at, s->data, s->size);
            memset(file + at + s->size, 0, aligned(s->size) - s->size);
        }
        sonde__base_put_le32(entry, i);
        sonde__base_put_le32(entry + 4, checksum(&tables, file + at, s->size));
        sonde__base_put_le64(entry + 8, at);
        sonde__base_put_le64(entry + 16, s->size);
        at += aligned(s->size);
    }
    write_header(e, file, header, size);
    sonde__base_put_le32(entry, checksum(&tables, file, header - 4));
    made->data = file;
    made->size = size;
    made->ranges = (uint32_t)e->c->range_count;
    made->calls = (uint32_t)e->c->call_count;
    made->functions = (uint32_t)e->c->function_count;
    made->names = e->name_count;
    made->symbols = (uint32_t)e->c->symbol_count;
}

enum sonde_status convert_encode(struct convert *c, struct sonde__symindex_made *made)
{
    struct encode e = {.c = c};
    void (*const steps[])(struct encode *) = {
        encode_ranges,  encode_names,   encode_calls, encode_files,
        encode_symbols, encode_exports, encode_tails,
    };
    if (c->strings.count == 0) {
        (void)convert_string(c, "?", 1); /* creates string 0 */
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && c->status == SONDE_OK; i++) {
        steps[i](&e);
    }
    if (c->status == SONDE_OK) {
        write_file(&e, made);
    }
    for (unsigned i = 0; i < SYMINDEX_KNOWN; i++) {
        sonde__mem_free(e.sections[i].data);
    }
    sonde__mem_free(e.name_ids);
    sonde__mem_free(e.sorted);
    sonde__mem_free(e.text_at);
    sonde__mem_free(e.directory_ids);
    return c->status;
}
