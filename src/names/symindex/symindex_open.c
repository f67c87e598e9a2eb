// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base_crc32c.h"
#include "base_status.h"
#include "symindex.h"
#include "tail_graph.h"

static enum sonde_status corrupt(struct sonde_error *ret_error, const char *what, uint64_t at)
{
    return sonde__base_fail(ret_error, SONDE_CORRUPT, what, NULL, 0, at);
}

static void read_counts(struct sonde__symindex *index)
{
    const uint8_t *p = index->file;
    index->base = sonde__base_le64(p + SYMINDEX_AT_BASE);
    index->from_header = (p[SYMINDEX_AT_FLAGS] & SYMINDEX_FROM_HEADER) != 0;
    index->code_bytes = sonde__base_le32(p + SYMINDEX_AT_CODE_BYTES);
    index->arch = sonde__base_le32(p + SYMINDEX_AT_ARCH);
    index->ranges = sonde__base_le32(p + SYMINDEX_AT_RANGE_COUNT);
    index->calls = sonde__base_le32(p + SYMINDEX_AT_CALL_COUNT);
    index->functions = sonde__base_le32(p + SYMINDEX_AT_FUNCTION_COUNT);
    index->names = sonde__base_le32(p + SYMINDEX_AT_NAME_COUNT);
    index->files = sonde__base_le32(p + SYMINDEX_AT_FILE_COUNT);
    index->directories = sonde__base_le32(p + SYMINDEX_AT_DIRECTORY_COUNT);
    index->symbols = sonde__base_le32(p + SYMINDEX_AT_SYMBOL_COUNT);
    index->aliases = sonde__base_le32(p + SYMINDEX_AT_ALIAS_COUNT);
    index->units = sonde__base_le32(p + SYMINDEX_AT_UNIT_COUNT);
    index->bad_units = sonde__base_le32(p + SYMINDEX_AT_BAD_UNIT_COUNT);
    index->escapes = sonde__base_le32(p + SYMINDEX_AT_ESCAPE_COUNT);
    memcpy(index->widths, p + SYMINDEX_AT_WIDTHS, SYMINDEX_WIDTH_COUNT);
}

static bool has_bytes(const struct sonde__symindex *index, enum symindex_section section,
                      uint64_t bytes)
{
    return index->parts[section].size >= bytes;
}

static uint64_t packed_bytes(uint64_t count, unsigned a, unsigned b, unsigned c)
{
    return (count * (a + b + c) + 7) / 8 + SYMINDEX_PAD;
}

/* Are the sections as large as the header's counts require? */
static bool counts_fit(struct sonde__symindex *index)
{
    const uint8_t *w = index->widths;
    for (unsigned i = 0; i < SYMINDEX_WIDTH_COUNT; i++) {
        if (w[i] > 32) {
            return false;
        }
    }
    index->block_count =
        (uint32_t)(((uint64_t)index->ranges + SYMINDEX_BLOCK_RANGES - 1) / SYMINDEX_BLOCK_RANGES);
    return has_bytes(index, SYMINDEX_BUCKETS,
                     ((uint64_t)(index->code_bytes >> SYMINDEX_BUCKET_SHIFT) + 1) * 4) &&
           has_bytes(index, SYMINDEX_BLOCKS, (uint64_t)index->block_count * SYMINDEX_BLOCK_BYTES) &&
           has_bytes(index, SYMINDEX_RANGES, SYMINDEX_PAD) &&
           has_bytes(index, SYMINDEX_CALLS,
                     packed_bytes(index->calls, w[SYMINDEX_WIDTH_CALL_FUNCTION],
                                  w[SYMINDEX_WIDTH_CALL_PARENT], w[SYMINDEX_WIDTH_CALL_LINE])) &&
           has_bytes(index, SYMINDEX_ESCAPES, (uint64_t)index->escapes * 12) &&
           has_bytes(index, SYMINDEX_FUNCTIONS,
                     packed_bytes(index->functions, w[SYMINDEX_WIDTH_FUNCTION_NAME],
                                  w[SYMINDEX_WIDTH_FUNCTION_FILE],
                                  w[SYMINDEX_WIDTH_FUNCTION_LINE])) &&
           has_bytes(index, SYMINDEX_NAME_BLOCKS,
                     ((uint64_t)index->names + SYMINDEX_NAME_BLOCK - 1) / SYMINDEX_NAME_BLOCK *
                         4) &&
           has_bytes(index, SYMINDEX_FILES, (uint64_t)index->files * 8) &&
           has_bytes(index, SYMINDEX_DIRECTORIES, (uint64_t)index->directories * 4) &&
           has_bytes(index, SYMINDEX_SYMBOLS, (uint64_t)index->symbols * 12) &&
           has_bytes(index, SYMINDEX_ALIASES, (uint64_t)index->aliases * 8) &&
           has_bytes(index, SYMINDEX_BAD_UNITS, (uint64_t)index->bad_units * 16);
}

enum sonde_status sonde__symindex_open(const void *data, size_t size,
                                       struct sonde__symindex *ret_index,
                                       struct sonde_error *ret_error)
{
    const uint8_t *p = data;
    struct sonde__symindex index = {.file = p, .size = size};
    if (size < SYMINDEX_AT_SECTIONS + 4 || memcmp(p, SYMINDEX_MAGIC, SYMINDEX_MAGIC_BYTES) != 0) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED, "not an index file of sonde", NULL, 0,
                                0);
    }
    if (sonde__base_le32(p + SYMINDEX_AT_VERSION) != SYMINDEX_VERSION) {
        return sonde__base_fail(ret_error, SONDE_UNSUPPORTED,
                                "an index file of another version: make it again", NULL, 0,
                                SYMINDEX_AT_VERSION);
    }
    uint32_t sections = sonde__base_le32(p + SYMINDEX_AT_SECTION_COUNT);
    uint64_t header = SYMINDEX_AT_SECTIONS + (uint64_t)sections * SYMINDEX_SECTION_BYTES + 4;
    if (sections > SYMINDEX_SECTIONS_MAX || header > size ||
        header != sonde__base_le32(p + SYMINDEX_AT_HEADER_BYTES)) {
        return corrupt(ret_error, "the header of the index is damaged", SYMINDEX_AT_HEADER_BYTES);
    }
    if (sonde__base_crc32c(0, p, (size_t)header - 4) != sonde__base_le32(p + header - 4)) {
        return corrupt(ret_error, "the header of the index is damaged", header - 4);
    }
    if (sonde__base_le64(p + SYMINDEX_AT_FILE_BYTES) != size) {
        return corrupt(ret_error, "the index is truncated, or has data after its end", size);
    }
    index.build_id.size = (uint8_t)sonde__base_le32(p + SYMINDEX_AT_BUILD_ID_SIZE);
    if (sonde__base_le32(p + SYMINDEX_AT_BUILD_ID_SIZE) > SONDE__BUILD_ID_MAX) {
        return corrupt(ret_error, "the build-id is too long", SYMINDEX_AT_BUILD_ID_SIZE);
    }
    memcpy(index.build_id.bytes, p + SYMINDEX_AT_BUILD_ID, SONDE__BUILD_ID_MAX);
    for (unsigned i = 0; i < SYMINDEX_KNOWN; i++) {
        index.parts[i].data = p; /* missing sections are empty */
    }
    for (uint32_t i = 0; i < sections; i++) {
        const uint8_t *entry = p + SYMINDEX_AT_SECTIONS + (size_t)i * SYMINDEX_SECTION_BYTES;
        uint32_t id = sonde__base_le32(entry);
        uint64_t at = sonde__base_le64(entry + 8);
        uint64_t bytes = sonde__base_le64(entry + 16);
        if (at > size || bytes > size - at) {
            return corrupt(ret_error, "a section lies outside the index", (uint64_t)(entry - p));
        }
        if (id < SYMINDEX_KNOWN) {
            index.parts[id] = (struct sonde__symindex_part){p + at, bytes};
        }
    }
    read_counts(&index);
    if (!counts_fit(&index)) {
        return corrupt(ret_error, "a section is smaller than its count", 0);
    }
    *ret_index = index;
    return SONDE_OK;
}

bool sonde__symindex_intact(const struct sonde__symindex *index)
{
    uint32_t sections = sonde__base_le32(index->file + SYMINDEX_AT_SECTION_COUNT);
    for (uint32_t i = 0; i < sections; i++) {
        const uint8_t *entry =
            index->file + SYMINDEX_AT_SECTIONS + (size_t)i * SYMINDEX_SECTION_BYTES;
        if (sonde__base_crc32c(0, index->file + sonde__base_le64(entry + 8),
                               (size_t)sonde__base_le64(entry + 16)) !=
            sonde__base_le32(entry + 4)) {
            return false;
        }
    }
    return true;
}

bool sonde__symindex_bad_unit(const struct sonde__symindex *index, uint32_t i,
                              struct sonde__symindex_bad_unit *ret_unit)
{
    if (i >= index->bad_units) {
        return false;
    }
    const uint8_t *p = index->parts[SYMINDEX_BAD_UNITS].data + (size_t)i * 16;
    ret_unit->offset = sonde__base_le64(p);
    ret_unit->name = sonde__symindex_text(index, sonde__base_le32(p + 8));
    ret_unit->what = sonde__symindex_text(index, sonde__base_le32(p + 12));
    return true;
}

void sonde__symindex_tails(const struct sonde__symindex *index, struct sonde__tail_graph *ret_graph)
{
    const struct sonde__symindex_part *graph = &index->parts[SYMINDEX_TAIL_GRAPH];
    const struct sonde__symindex_part *sites = &index->parts[SYMINDEX_TAIL_SITES];
    (void)sonde__tail_open(graph->data, (size_t)graph->size, sites->data, (size_t)sites->size,
                           ret_graph);
    sonde__tail_add_externals(ret_graph, index->parts[SYMINDEX_TAIL_EXTERNALS].data,
                              (size_t)index->parts[SYMINDEX_TAIL_EXTERNALS].size);
    sonde__tail_add_leaving_calls(ret_graph, index->parts[SYMINDEX_LEAVING_CALLS].data,
                                  (size_t)index->parts[SYMINDEX_LEAVING_CALLS].size);
}

void sonde__symindex_tail_origin(const struct sonde__symindex *index,
                                 struct sonde__tail_origin *ret_origin)
{
    const struct sonde__symindex_part *part = &index->parts[SYMINDEX_TAIL_ORIGIN];
    *ret_origin = (struct sonde__tail_origin){0};
    if (part->size >= 12) {
        ret_origin->sources = sonde__base_le32(part->data);
        ret_origin->functions = sonde__base_le32(part->data + 4);
        ret_origin->calls = sonde__base_le32(part->data + 8);
    }
}
