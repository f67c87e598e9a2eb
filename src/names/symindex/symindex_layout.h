// SPDX-License-Identifier: Apache-2.0
/* The format of an index file (docs/index-format.md), for its writer (encode*.c) and reader
 * (symindex_*.c). */
#ifndef SONDE_SYMINDEX_LAYOUT_H
#define SONDE_SYMINDEX_LAYOUT_H

#include <stdint.h>

#include "base_bytes.h"

#define SYMINDEX_MAGIC       "\x89sndidx\n" /* 8 bytes */
#define SYMINDEX_MAGIC_BYTES 8u
#define SYMINDEX_VERSION     3u

/* Header, offsets of its fields. */
enum {
    SYMINDEX_AT_VERSION = 8,
    SYMINDEX_AT_HEADER_BYTES = 12, /* with the section table and its checksum */
    SYMINDEX_AT_FILE_BYTES = 16,
    SYMINDEX_AT_BASE = 24,       /* vaddr of offset 0 */
    SYMINDEX_AT_CODE_BYTES = 32, /* offsets are below it */
    SYMINDEX_AT_ARCH = 36,       /* as in a report: 1 x86_64, 2 aarch64; 0 another one */
    SYMINDEX_AT_BUILD_ID_SIZE = 40,
    SYMINDEX_AT_BUILD_ID = 44, /* 32 bytes */
    SYMINDEX_AT_SECTION_COUNT = 76,
    SYMINDEX_AT_RANGE_COUNT = 80,
    SYMINDEX_AT_CALL_COUNT = 84,
    SYMINDEX_AT_FUNCTION_COUNT = 88,
    SYMINDEX_AT_NAME_COUNT = 92,
    SYMINDEX_AT_FILE_COUNT = 96,
    SYMINDEX_AT_DIRECTORY_COUNT = 100,
    SYMINDEX_AT_SYMBOL_COUNT = 104,
    SYMINDEX_AT_ALIAS_COUNT = 108,
    SYMINDEX_AT_UNIT_COUNT = 112,
    SYMINDEX_AT_BAD_UNIT_COUNT = 116,
    SYMINDEX_AT_ESCAPE_COUNT = 120,
    SYMINDEX_AT_WIDTHS = 124, /* 6 bytes: enum symindex_width */
    SYMINDEX_AT_FLAGS = 130,  /* 1 byte: SYMINDEX_FROM_HEADER; 1 of 0 */
    SYMINDEX_AT_SECTIONS = 132,
};

/* Offset 0 is the image's header (Mach-O): an offset from the header means base + offset. */
#define SYMINDEX_FROM_HEADER 1u

enum symindex_width {
    SYMINDEX_WIDTH_CALL_FUNCTION,
    SYMINDEX_WIDTH_CALL_PARENT,
    SYMINDEX_WIDTH_CALL_LINE,
    SYMINDEX_WIDTH_FUNCTION_NAME,
    SYMINDEX_WIDTH_FUNCTION_FILE,
    SYMINDEX_WIDTH_FUNCTION_LINE,
    SYMINDEX_WIDTH_COUNT,
};

/* An entry of the section table: id, CRC-32C, offset, size. */
#define SYMINDEX_SECTION_BYTES 24u
#define SYMINDEX_SECTIONS_MAX  64u

enum symindex_section {
    SYMINDEX_BUCKETS = 1,
    SYMINDEX_BLOCKS = 2,
    SYMINDEX_RANGES = 3,
    SYMINDEX_CALLS = 4,
    SYMINDEX_ESCAPES = 5,
    SYMINDEX_FUNCTIONS = 6,
    SYMINDEX_NAME_BLOCKS = 7,
    SYMINDEX_NAMES = 8,
    SYMINDEX_FILES = 9,
    SYMINDEX_DIRECTORIES = 10,
    SYMINDEX_TEXT = 11,
    SYMINDEX_SYMBOLS = 12,
    SYMINDEX_ALIASES = 13,
    SYMINDEX_BAD_UNITS = 14,
    SYMINDEX_TAIL_GRAPH = 15, /* content as in src/names/tail; empty: unknown */
    SYMINDEX_TAIL_SITES = 16,
    SYMINDEX_TAIL_ORIGIN = 17, /* struct sonde__tail_origin, its fields in their order */
    SYMINDEX_TAIL_EXTERNALS = 18,
    SYMINDEX_LEAVING_CALLS = 19,
    SYMINDEX_WORDS = 20,
    SYMINDEX_EXPORTS = 21,
    SYMINDEX_KNOWN = 22,
};

#define SYMINDEX_BUCKET_SHIFT 10u /* 1 KiB of code */
#define SYMINDEX_BLOCK_RANGES 32u
#define SYMINDEX_BLOCK_BYTES  16u
#define SYMINDEX_NAME_BLOCK   16u /* names */
#define SYMINDEX_WORD_BYTES   8u  /* offset, text */
#define SYMINDEX_EXPORT_BYTES 8u  /* name, start */
/* Zero bytes after every section of packed fields, because a field is read as eight bytes. */
#define SYMINDEX_PAD 8u

/* `width` (0 to 32) bits at bit `at`; the eight bytes from its first one must be readable. */
static inline uint32_t symindex_bits(const uint8_t *p, uint64_t at, unsigned width)
{
    return (uint32_t)(sonde__base_le64(p + (at >> 3)) >> (at & 7) & (((uint64_t)1 << width) - 1));
}

#endif
