// SPDX-License-Identifier: Apache-2.0
/* Names of code that was made while the program runs (JIT), which no image has.
 *
 * They come in three forms, that runtimes write for perf and for debuggers: the text of a
 * /tmp/perf-PID.map, a jitdump file, and small ELFs in memory that GDB's list leads to. Code moves
 * and is thrown away, so what was said later holds where two claim an address. Input is not
 * believed: what does not read as it should is left out and counted, and memory is bounded.
 * Context: any thread, one at a time. */
#ifndef SONDE_JIT_NAMES_H
#define SONDE_JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "mem_arena.h"

/* Functions that are kept; a large server has some 1e5. Later ones are left out, and counted. */
#define SONDE__JIT_CODES_MAX (1u << 20)
/* Longer names are cut; those of generated JavaScript have a few hundred bytes. */
#define SONDE__JIT_NAME_MAX 1024u

struct sonde__jit_code {
    uint64_t start, end;
    const char *name;
};

struct sonde__jit {
    struct sonde__arena arena;
    struct sonde__jit_code *codes; /* in the order in which they were said */
    size_t count, capacity;
    struct sonde__jit_piece {
        uint64_t start, end;
        uint32_t code;
    } * pieces; /* by start, disjoint; made by _settle() */
    size_t piece_count, piece_capacity;
    uint64_t bad;  /* lines, records and symbols that could not be understood */
    uint64_t lost; /* what did not fit SONDE__JIT_CODES_MAX */
};

void sonde__jit_init(struct sonde__jit *jit);
void sonde__jit_done(struct sonde__jit *jit);

/* [start, end) has this name from now on. An empty range is bad. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add(struct sonde__jit *jit, uint64_t start,
                                                 uint64_t end, const char *name, size_t name_size);

/* The lines "START SIZE name" of a perf map, in hexadecimal; 0x may stand before both. The last
 * line may be cut: it is being written. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add_map(struct sonde__jit *jit, const char *text,
                                                     size_t size);
/* A jitdump file (version 1, of a little-endian machine); its end may be cut.
 * Returns OK | UNSUPPORTED (no jitdump, or another kind) | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add_dump(struct sonde__jit *jit, const void *data,
                                                      size_t size);
/* The function symbols of an ELF that describes code in memory: their values are addresses; in an
 * object file, offsets in sections that know their addresses. Returns OK | UNSUPPORTED | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add_elf(struct sonde__jit *jit, const void *data,
                                                     size_t size);

/* All has been added: look-ups answer from now on. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_settle(struct sonde__jit *jit);
/* The code at an address. False: none is known. */
bool sonde__jit_find(const struct sonde__jit *jit, uint64_t address,
                     struct sonde__jit_code *ret_code);

#endif
