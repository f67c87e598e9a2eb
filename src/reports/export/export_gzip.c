// SPDX-License-Identifier: Apache-2.0
#include "export_gzip.h"

#include <string.h>

#include "base_bytes.h"

/* CRC-32 of RFC 1952 §8, four bits at a time; the table has 16 words. */
static uint32_t crc_of(uint32_t crc, const char *bytes, size_t size)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static bool put_block(struct sonde__export_gzip *g, bool last)
{
    const char head[] = {(char)last, (char)g->used, (char)(g->used >> 8), (char)~g->used,
                         (char)(~g->used >> 8)};
    uint32_t used = g->used;
    g->used = 0;
    g->stopped = g->stopped || !g->sink.write(g->sink.ctx, head, sizeof head) ||
                 (used != 0 && !g->sink.write(g->sink.ctx, g->block, used));
    return !g->stopped;
}

void sonde__export_gzip_begin(struct sonde__export_gzip *g, struct sonde__report_sink sink)
{
    /* deflate, no name, no time, no extra flags, unknown system */
    static const char head[] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)0xff};
    g->sink = sink;
    g->crc = g->size = g->used = 0;
    g->stopped = !sink.write(sink.ctx, head, sizeof head);
}

static bool put(void *ctx, const char *bytes, size_t size)
{
    struct sonde__export_gzip *g = ctx;
    g->crc = crc_of(g->crc, bytes, size);
    g->size += (uint32_t)size;
    while (size != 0) {
        size_t part = sizeof g->block - g->used;
        part = part < size ? part : size;
        memcpy(g->block + g->used, bytes, part);
        g->used += (uint32_t)part;
        bytes += part;
        size -= part;
        if (g->used == sizeof g->block && !put_block(g, false)) {
            return false;
        }
    }
    return true;
}

struct sonde__report_sink sonde__export_gzip_sink(struct sonde__export_gzip *g)
{
    return (struct sonde__report_sink){put, g};
}

void sonde__export_gzip_end(struct sonde__export_gzip *g)
{
    uint8_t tail[8];
    sonde__base_put_le32(tail, g->crc);
    sonde__base_put_le32(tail + 4, (uint32_t)g->size);
    if (put_block(g, true)) {
        (void)g->sink.write(g->sink.ctx, (const char *)tail, sizeof tail);
    }
}
