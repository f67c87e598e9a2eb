// SPDX-License-Identifier: Apache-2.0
/* Reads of the walk: plain loads where the caller vouches for the memory, else
 * sonde__memory.read, in blocks, so that one system call serves many words. Context: handler. */
#ifndef SONDE_UNWIND_MEMORY_H
#define SONDE_UNWIND_MEMORY_H

#include "unwind_walk.h"

/* Under AddressSanitizer, frames have poisoned gaps, and a walk reads whole stacks. Fuzzers make
 * up stacks, and there a load outside is a bug. */
#if defined(SONDE_FUZZING)
#    define SONDE__NO_SANITIZE
#else
#    define SONDE__NO_SANITIZE __attribute__((no_sanitize("address", "thread")))
#endif

/* Bytes of one `read`. Divides a page, so a block is readable whole or not at all. */
#define SONDE__READER_BLOCK 512

struct sonde__reader {
    struct sonde__memory memory;
    uint64_t block; /* address of the block held; 1: none */
    uint8_t bytes[SONDE__READER_BLOCK];
};

/* Load a word that is known to be mapped; stacks of hostile programs are not aligned. */
SONDE__NO_SANITIZE static inline uint64_t sonde__plain_word(uint64_t address)
{
    struct word {
        uint64_t value;
    } __attribute__((packed, may_alias));
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a range that holds 0 is vouched for
    return ((const struct word *)(uintptr_t)address)->value;
}

void sonde__reader_init(struct sonde__reader *reader, const struct sonde__memory *memory);

/* Read at most 8 bytes, by plain loads or through a block. */
bool sonde__reader_slow(struct sonde__reader *reader, uint64_t address, void *ret_bytes,
                        size_t size);

SONDE__NO_SANITIZE static inline bool sonde__reader_word(struct sonde__reader *reader,
                                                         uint64_t address, uint64_t *ret_value)
{
    if (address >= reader->memory.plain_start && address < reader->memory.plain_end &&
        reader->memory.plain_end - address >= sizeof *ret_value) {
        *ret_value = sonde__plain_word(address);
        return true;
    }
    return sonde__reader_slow(reader, address, ret_value, sizeof *ret_value);
}

#endif
