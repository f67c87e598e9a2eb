// SPDX-License-Identifier: Apache-2.0
/* The heap blocks (closures) that live, and where each was made: stack, thread, time.
 *
 * A table from address to entry, in memory that several processes may share. A line of it is a
 * cache line of seven addresses; a block stands in one of a few lines that follow from its address,
 * the first of which keeps neighbours of the heap together, so that little memory is touched.
 *
 * The table counts references itself: whoever retains a block says so before, whoever releases it
 * says so before. The release that is the last takes the entry out before the runtime frees the
 * block, so no other block can have got the address yet, and which of several releases at the same
 * moment is the last is decided by the count, in one step. The runtime's own count is a second
 * opinion: a caller that holds the only reference ends the block whatever we counted.
 *
 * Invariant: at most one entry has an address; an entry that is read is of one block, never a
 * mixture. Lock-free. Bounded: a block for which its lines have no room is dropped and counted.
 * Context: any thread, handler. */
#ifndef SONDE_REGISTRY_H
#define SONDE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks in a line, and lines that a block may stand in. */
enum { SONDE__REGISTRY_LINE = 7, SONDE__REGISTRY_PROBES = 4 };

/* Lines of a table: a power of two, at least PROBES. For 900,000 blocks; 330 bytes a line, of which
 * only what is used is touched. */
#define SONDE__REGISTRY_LINES     ((uint32_t)1 << 17)
#define SONDE__REGISTRY_LINES_MAX ((uint32_t)1 << 22)

/* How the runtime counts references in a block. */
enum sonde__registry_form {
    SONDE__REGISTRY_UNKNOWN,
    SONDE__REGISTRY_BY_ONE,   /* flags, bits 0 to 15: libBlocksRuntime of compiler-rt */
    SONDE__REGISTRY_BY_TWO,   /* flags, bits 1 to 15: Apple's, swift-corelibs' */
    SONDE__REGISTRY_RESERVED, /* the word after flags: libobjc2 */
};

struct sonde__registry_block {
    uint64_t address;
    uint64_t time_ns; /* when it was made, of the clock that the caller used */
    uint64_t invoke;  /* its function */
    uint32_t stack;   /* of a depot; 0: it had no room */
    uint32_t tid;
    uint32_t size_bytes;
    uint32_t form; /* enum sonde__registry_form */
};

struct sonde__registry_total {
    uint64_t made;
    uint64_t ended;
    uint64_t dropped;  /* made, and not in the table for want of room */
    uint64_t replaced; /* ended without our being told: another block got the address */
    uint64_t unseen;   /* ended while we counted references that the runtime did not */
    uint64_t unknown;  /* heap blocks that were retained or released, and not in the table */
};

/* A handle, of one process; the memory may be shared. */
struct sonde__registry {
    uint8_t *memory;
    uint32_t lines;
};

/* Bytes of zeroed memory, aligned to 64, for so many lines. */
uint64_t sonde__registry_size(uint32_t lines);

/* A block was made. False: no room; dropped. */
bool sonde__registry_add(const struct sonde__registry *registry,
                         const struct sonde__registry_block *block);

#define SONDE__REGISTRY_NONE UINT32_MAX
/* The place of a block, which holds as long as the caller has a reference to it. NONE: it is not in
 * the table. */
uint32_t sonde__registry_place(const struct sonde__registry *registry, uint64_t address);
uint32_t sonde__registry_form_at(const struct sonde__registry *registry, uint32_t place);

/* One reference more. */
void sonde__registry_retain(const struct sonde__registry *registry, uint32_t place);

/* One less, before the runtime is told. references: what the runtime counts, the caller's included;
 * 0: not known; UINT32_MAX: it will never end. True: the block ends by it; its entry is gone. */
bool sonde__registry_release(const struct sonde__registry *registry, uint32_t place,
                             uint32_t references);

/* A heap block that is not in the table was retained or released. */
void sonde__registry_miss(const struct sonde__registry *registry);

/* By address. False: it is not in the table. The answer is of one block. */
bool sonde__registry_find(const struct sonde__registry *registry, uint64_t address,
                          struct sonde__registry_block *ret_block);

/* By place, below this: all that live. False: nobody stands there. */
uint32_t sonde__registry_places(const struct sonde__registry *registry);
bool sonde__registry_get(const struct sonde__registry *registry, uint32_t place,
                         struct sonde__registry_block *ret_block);

struct sonde__registry_total sonde__registry_total(const struct sonde__registry *registry);

#endif
