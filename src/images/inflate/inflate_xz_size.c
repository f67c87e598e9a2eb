// SPDX-License-Identifier: Apache-2.0
/* Source: The .xz File Format 1.1.0, sections 2.1.2 (stream footer), 4 (index) and 1.2 (multibyte
 * integers). */
#include <string.h>

#include "base_bytes.h"
#include "inflate.h"

enum { FOOTER_BYTES = 12, HEADER_BYTES = 12 };

/* Read at most nine bytes of seven bits each; the last must not be zero. */
static bool read_integer(struct sonde__bytes *b, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 9; i++) {
        uint8_t byte = sonde__base_bytes_u8(b);
        value |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte < 0x80) {
            *ret_value = value;
            return !b->failed && (byte != 0 || i == 0);
        }
    }
    return false;
}

bool sonde__inflate_xz_size(const void *data, size_t size, uint64_t *ret_size)
{
    const uint8_t *bytes = data;
    struct sonde__bytes b;
    uint64_t count, index_bytes, block, total = 0;
    if (size < HEADER_BYTES + FOOTER_BYTES ||
        memcmp(bytes,
               "\xfd"
               "7zXZ\0",
               6) != 0 ||
        memcmp(bytes + size - 2, "YZ", 2) != 0) {
        return false;
    }
    sonde__base_bytes_init(&b, bytes + size - FOOTER_BYTES + 4, 4);
    index_bytes = ((uint64_t)sonde__base_bytes_u32(&b) + 1) * 4;
    if (index_bytes > size - HEADER_BYTES - FOOTER_BYTES) {
        return false;
    }
    sonde__base_bytes_init(&b, bytes + size - FOOTER_BYTES - index_bytes, index_bytes);
    if (sonde__base_bytes_u8(&b) != 0 || !read_integer(&b, &count)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) { /* each takes at least two bytes, so this ends */
        uint64_t packed;
        if (!read_integer(&b, &packed) || !read_integer(&b, &block) || block > UINT64_MAX - total) {
            return false;
        }
        total += block;
    }
    *ret_size = total;
    return true;
}
