// SPDX-License-Identifier: Apache-2.0
/* Names of code generated at run time (JIT), which is in no image.
 *
 * Runtimes publish them for perf and debuggers in three forms: the text of a /tmp/perf-PID.map, a
 * jitdump file, and small ELFs in memory, in GDB's list. Code is moved and discarded, so the latest
 * entry for an address is used. Input is untrusted: malformed entries are dropped and counted, and
 * memory is bounded. Context: any thread, one at a time. */
#ifndef SONDE_JIT_NAMES_H
#define SONDE_JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "mem_arena.h"

/* Limit of functions kept; a large server has some 1e5. Further ones are dropped and counted. */
#define SONDE__JIT_CODES_MAX (1u << 20)
/* Longer names are cut; generated JavaScript has names of a few hundred bytes. */
#define SONDE__JIT_NAME_MAX 1024u

struct sonde__jit_code {
    uint64_t start, end;
    const char *name;
};

struct sonde__jit {
    struct sonde__arena arena;
    struct sonde__jit_code *codes; /* in order of addition */
    size_t count, capacity;
    struct sonde__jit_piece {
        uint64_t start, end;
        uint32_t code;
    } * pieces; /* by start, disjoint; made by _settle() */
    size_t piece_count, piece_capacity;
    uint64_t bad;  /* malformed lines, records and symbols */
    uint64_t lost; /* dropped because of SONDE__JIT_CODES_MAX */
};

void sonde__jit_init(struct sonde__jit *jit);
void sonde__jit_done(struct sonde__jit *jit);

/* Name [start, end) from here on. An empty range counts as bad. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add(struct sonde__jit *jit, uint64_t start,
                                                 uint64_t end, const char *name, size_t name_size);

/* Add the lines "START SIZE name" of a perf map; the numbers are hexadecimal, with or without 0x.
 * The last line may be incomplete, because the runtime may be writing it. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add_map(struct sonde__jit *jit, const char *text,
                                                     size_t size);
/* Add a jitdump file (version 1, little-endian), whose end may be cut.
 * Returns OK | UNSUPPORTED (not a jitdump, or another kind) | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add_dump(struct sonde__jit *jit, const void *data,
                                                      size_t size);
/* Add the function symbols of an ELF that describes code in memory. Their values are addresses; in
 * an object file, offsets in sections whose headers have addresses. Returns OK | UNSUPPORTED |
 * MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_add_elf(struct sonde__jit *jit, const void *data,
                                                     size_t size);

/* Finish adding. Call it before look-ups. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__jit_settle(struct sonde__jit *jit);
/* The code at an address. False: unknown. */
bool sonde__jit_find(const struct sonde__jit *jit, uint64_t address,
                     struct sonde__jit_code *ret_code);

#endif
