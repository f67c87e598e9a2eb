// SPDX-License-Identifier: Apache-2.0
#include "base_bytes.h"

uint64_t sonde__base_bytes_uleb(struct sonde__bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = sonde__base_bytes_u8(b);
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    (void)sonde__base_bytes_fail(b);
    return 0;
}

int64_t sonde__base_bytes_sleb(struct sonde__bytes *b)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = sonde__base_bytes_u8(b);
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shift + 7 < 64) {
                value |= ~(uint64_t)0 << (shift + 7);
            }
            return (int64_t)value;
        }
    }
    (void)sonde__base_bytes_fail(b);
    return 0;
}

const char *sonde__base_bytes_string(struct sonde__bytes *b)
{
    const uint8_t *start = b->at;
    const uint8_t *p = start;
    while (p < b->end && *p != 0) {
        p++;
    }
    if (p == b->end) {
        (void)sonde__base_bytes_fail(b);
        return "";
    }
    b->at = p + 1;
    return (const char *)start;
}

const uint8_t *sonde__base_bytes_take(struct sonde__bytes *b, uint64_t size)
{
    const uint8_t *start = b->at;
    if (!sonde__base_bytes_need(b, size)) {
        return NULL;
    }
    b->at += size;
    return start;
}

bool sonde__base_bytes_seek(struct sonde__bytes *b, uint64_t offset)
{
    if (offset > (uint64_t)(b->end - b->begin)) {
        return sonde__base_bytes_fail(b);
    }
    if (offset != 0) { /* an all-zero view has no address to add to */
        b->at = b->begin + offset;
    } else {
        b->at = b->begin;
    }
    return true;
}

struct sonde__bytes sonde__base_bytes_part(const struct sonde__bytes *b, uint64_t offset,
                                           uint64_t size)
{
    struct sonde__bytes part = {b->begin, b->begin, b->begin, false, b->big_endian};
    uint64_t total = (uint64_t)(b->end - b->begin);
    if (offset > total || size > total - offset) {
        part.failed = true;
        return part;
    }
    if (total != 0) { /* an all-zero view has no address to add to */
        part.begin = b->begin + offset;
        part.at = part.begin;
        part.end = part.begin + size;
    }
    return part;
}
