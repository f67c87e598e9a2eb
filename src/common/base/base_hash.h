// SPDX-License-Identifier: Apache-2.0
/* FNV-1a of 64 bits (draft-eastlake-fnv, §2): hashes short texts, for tables that compare entries
 * anyway, and code: reports identify code by it, so its values must not change. Context:
 * handler. */
#ifndef SONDE_BASE_HASH_H
#define SONDE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of no bytes: the initial value. */
#define SONDE__HASH_EMPTY 0xcbf29ce484222325u

static inline uint64_t sonde__base_hash_byte(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * 0x100000001b3u;
}

static inline uint64_t sonde__base_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        hash = sonde__base_hash_byte(hash, ((const uint8_t *)bytes)[i]);
    }
    return hash;
}

/* Hash a text, without its NUL. */
static inline uint64_t sonde__base_hash_text(const char *text)
{
    uint64_t hash = SONDE__HASH_EMPTY;
    for (; *text != '\0'; text++) {
        hash = sonde__base_hash_byte(hash, (uint8_t)*text);
    }
    return hash;
}

/* Fold a hash to 32 bits for a table. */
static inline uint32_t sonde__base_hash_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

#endif
