// SPDX-License-Identifier: Apache-2.0
/* Memory of an interpreter, recorded while a thread was read, for tests and fuzzing. Format:
 * version (4 bytes, PY_VERSION_HEX; 0: the memory states it), address of the runtime and thread id
 * (8 bytes each), then pieces: address (8), size (4), bytes. All numbers are little-endian. */
#ifndef SONDE_RECORDED_MEMORY_H
#define SONDE_RECORDED_MEMORY_H

#include <string.h>

#include "base_bytes.h"
#include "runtime_private.h"

struct recorded_memory {
    const uint8_t *data;
    size_t size;
    uint32_t version;
    uint64_t runtime, tid;
};

enum { RECORDED_HEAD = 20, RECORDED_PIECE = 12 };

static inline bool recorded_open(const uint8_t *data, size_t size, struct recorded_memory *ret)
{
    if (size < RECORDED_HEAD) {
        return false;
    }
    *ret = (struct recorded_memory){data, size, sonde__base_le32(data), sonde__base_le64(data + 4),
                                    sonde__base_le64(data + 12)};
    return true;
}

/* The bytes from `address` on that one piece has, the last of the longest. */
static inline uint32_t recorded_part(const struct recorded_memory *m, uint64_t address,
                                     uint8_t *ret, uint32_t size)
{
    uint32_t got = 0;
    for (size_t at = RECORDED_HEAD; m->size - at >= RECORDED_PIECE;) {
        uint64_t start = sonde__base_le64(m->data + at);
        uint32_t bytes = sonde__base_le32(m->data + at + 8);
        at += RECORDED_PIECE;
        if (bytes > m->size - at) {
            break;
        }
        if (address >= start && address - start < bytes) {
            uint32_t left = bytes - (uint32_t)(address - start);
            uint32_t n = left < size ? left : size;
            if (n >= got) {
                memcpy(ret, m->data + at + (address - start), n);
                got = n;
            }
        }
        at += bytes;
    }
    return got;
}

/* The bytes from `address` on. Pieces may continue each other. */
static inline uint32_t recorded_copy(const struct recorded_memory *m, uint64_t address,
                                     uint8_t *ret, uint32_t size)
{
    uint32_t got = 0, more = 1;
    while (got < size && more != 0) {
        more = recorded_part(m, address + got, ret + got, size - got);
        got += more;
    }
    return got;
}

/* Change a word, in all pieces that have it. data: the record's */
static inline void recorded_poke(const struct recorded_memory *m, uint8_t *data, uint64_t address,
                                 uint64_t word)
{
    for (size_t at = RECORDED_HEAD; m->size - at >= RECORDED_PIECE;) {
        uint64_t start = sonde__base_le64(data + at);
        uint32_t bytes = sonde__base_le32(data + at + 8);
        at += RECORDED_PIECE;
        if (address >= start && address + 8 <= start + bytes) {
            memcpy(data + at + (address - start), &word, 8);
        }
        at += bytes;
    }
}

static inline void recorded_read(void *ctx, struct sonde__runtime_piece *pieces, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        pieces[i].got = recorded_copy(ctx, pieces[i].address, pieces[i].bytes, pieces[i].size);
    }
}

#endif
