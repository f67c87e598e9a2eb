// SPDX-License-Identifier: Apache-2.0
/* The bounded byte cursor: all parsers of sonde read their input through it.
 *
 * Invariant: begin <= at <= end, always. A read past the end returns 0 and sets `failed`, which
 * stays set: a parser may read a whole record and check once. No read touches a byte outside
 * [begin, end). Little-endian unless `big_endian`. Context: handler. */
#ifndef SONDE_BASE_BYTES_H
#define SONDE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__bytes {
    const uint8_t *begin;
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
    bool big_endian;
};

/* A view of `size` bytes; empty if data is null, whatever the size. */
static inline void sonde__base_bytes_init(struct sonde__bytes *b, const void *data, size_t size)
{
    if (data == NULL) {
        data = "";
        size = 0;
    }
    b->begin = data;
    b->at = data;
    b->end = size != 0 ? (const uint8_t *)data + size : data; /* an empty view may be null */
    b->failed = false;
    b->big_endian = false;
}

static inline size_t sonde__base_bytes_left(const struct sonde__bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline size_t sonde__base_bytes_offset(const struct sonde__bytes *b)
{
    return (size_t)(b->at - b->begin);
}

static inline bool sonde__base_bytes_fail(struct sonde__bytes *b)
{
    b->failed = true;
    b->at = b->end;
    return false;
}

/* Are `size` more bytes left? Fails the cursor if not. */
static inline bool sonde__base_bytes_need(struct sonde__bytes *b, uint64_t size)
{
    return size <= sonde__base_bytes_left(b) || sonde__base_bytes_fail(b);
}

static inline uint8_t sonde__base_bytes_u8(struct sonde__bytes *b)
{
    return b->at < b->end ? *b->at++ : (uint8_t)sonde__base_bytes_fail(b);
}

/* Little-endian numbers of 2, 4, 8 and `size` bytes (up to 8), without bounds check. Compilers make
 * one instruction of the first three. */
static inline uint16_t sonde__base_le16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t sonde__base_le32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t sonde__base_le64(const uint8_t *at)
{
    return sonde__base_le32(at) | (uint64_t)sonde__base_le32(at + 4) << 32;
}

static inline void sonde__base_put_le(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

static inline void sonde__base_put_le32(uint8_t *at, uint32_t value)
{
    sonde__base_put_le(at, value, 4);
}

static inline void sonde__base_put_le64(uint8_t *at, uint64_t value)
{
    sonde__base_put_le(at, value, 8);
}

static inline uint64_t sonde__base_le(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = size; i > 0; i--) {
        value = value << 8 | at[i - 1];
    }
    return value;
}

/* All numbers of an input are read here. Coverage of these loops tells a fuzzer nothing, and took
 * two thirds of its time. */
#if defined(SONDE_FUZZING)
#    define SONDE__BASE_BYTES_NO_COVERAGE __attribute__((no_sanitize("coverage")))
#else
#    define SONDE__BASE_BYTES_NO_COVERAGE
#endif

/* `size` is 1, 2, 4 or 8 (any 1..8 works). */
SONDE__BASE_BYTES_NO_COVERAGE static inline uint64_t sonde__base_bytes_uint(struct sonde__bytes *b,
                                                                            unsigned size)
{
    uint64_t value = 0;
    if (!sonde__base_bytes_need(b, size)) {
        return 0;
    }
    if (b->big_endian) {
        for (unsigned i = 0; i < size; i++) {
            value = value << 8 | b->at[i];
        }
    } else {
        for (unsigned i = size; i > 0; i--) {
            value = value << 8 | b->at[i - 1];
        }
    }
    b->at += size;
    return value;
}

static inline uint16_t sonde__base_bytes_u16(struct sonde__bytes *b)
{
    return (uint16_t)sonde__base_bytes_uint(b, 2);
}

static inline uint32_t sonde__base_bytes_u32(struct sonde__bytes *b)
{
    return (uint32_t)sonde__base_bytes_uint(b, 4);
}

static inline uint64_t sonde__base_bytes_u64(struct sonde__bytes *b)
{
    return sonde__base_bytes_uint(b, 8);
}

/* ULEB128 / SLEB128 (DWARF 5 §7.6): at most ten bytes; bits past the 64th are dropped. */
uint64_t sonde__base_bytes_uleb(struct sonde__bytes *b);
int64_t sonde__base_bytes_sleb(struct sonde__bytes *b);

/* A NUL-terminated string inside the view, or "" with the cursor failed. */
const char *sonde__base_bytes_string(struct sonde__bytes *b);

/* `size` bytes in place, or null with the cursor failed. */
const uint8_t *sonde__base_bytes_take(struct sonde__bytes *b, uint64_t size);

/* Go to an offset from `begin`; fails the cursor if past the end. */
bool sonde__base_bytes_seek(struct sonde__bytes *b, uint64_t offset);

/* The part [offset, offset + size) of the view as a new cursor (failed and empty if not inside). */
struct sonde__bytes sonde__base_bytes_part(const struct sonde__bytes *b, uint64_t offset,
                                           uint64_t size);

#endif
