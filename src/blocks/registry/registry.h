// SPDX-License-Identifier: Apache-2.0
/* The live heap blocks (closures), and where each was made: stack, thread, time.
 *
 * A hash table from address to entry, in memory that processes may share. A line of it is a cache
 * line of seven addresses; the address selects a few lines that a block may be in, and the first of
 * them is shared by neighbours in the heap, so that little memory is touched.
 *
 * The table counts references itself: retains and releases are reported before they happen. The
 * last release removes the entry before the runtime frees the block, so no other block can have its
 * address yet; which of several simultaneous releases is the last one is decided by one atomic step
 * on the count. The runtime's own count is a cross-check: a release by the only holder ends the
 * block whatever was counted here.
 *
 * Invariant: an address has at most one entry; a read returns the entry of one block, never a
 * mixture. Lock-free. Bounded: a block without room in its lines is dropped and counted. Context:
 * any thread, handler. */
#ifndef SONDE_REGISTRY_H
#define SONDE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks in a line, and lines that a block may be in. */
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
    uint64_t time_ns; /* when it was made, by the caller's clock */
    uint64_t invoke;  /* its function */
    uint32_t stack;   /* in a depot; 0: the depot was full */
    uint32_t tid;
    uint32_t size_bytes;
    uint32_t form; /* enum sonde__registry_form */
};

struct sonde__registry_total {
    uint64_t made;
    uint64_t ended;
    uint64_t dropped;  /* made, but the table had no room */
    uint64_t replaced; /* ended unseen: another block got its address */
    uint64_t unseen;   /* ended with references counted here that the runtime did not have */
    uint64_t unknown;  /* retains and releases of heap blocks that are not in the table */
};

/* A handle, of one process; the memory may be shared. */
struct sonde__registry {
    uint8_t *memory;
    uint32_t lines;
};

/* Bytes of a table of so many lines: zeroed memory, aligned to 64. */
uint64_t sonde__registry_size(uint32_t lines);

/* Add a block that was made. False: no room; dropped. */
bool sonde__registry_add(const struct sonde__registry *registry,
                         const struct sonde__registry_block *block);

#define SONDE__REGISTRY_NONE UINT32_MAX
/* The place of a block, valid while the caller holds a reference to it. NONE: it is not in the
 * table. */
uint32_t sonde__registry_place(const struct sonde__registry *registry, uint64_t address);
uint32_t sonde__registry_form_at(const struct sonde__registry *registry, uint32_t place);

/* One reference more. */
void sonde__registry_retain(const struct sonde__registry *registry, uint32_t place);

/* Count a release, before the runtime does it.
 * references: the runtime's count, with the caller's; 0: unknown; UINT32_MAX: it is never freed.
 * True: this ends the block; its entry is gone. */
bool sonde__registry_release(const struct sonde__registry *registry, uint32_t place,
                             uint32_t references);

/* Count a retain or release of a heap block that is not in the table. */
void sonde__registry_miss(const struct sonde__registry *registry);

/* Look up an address. False: it is not in the table. The answer is of one block. */
bool sonde__registry_find(const struct sonde__registry *registry, uint64_t address,
                          struct sonde__registry_block *ret_block);

/* Look up a place; places below this enumerate all live blocks. False: this one is free. */
uint32_t sonde__registry_places(const struct sonde__registry *registry);
bool sonde__registry_get(const struct sonde__registry *registry, uint32_t place,
                         struct sonde__registry_block *ret_block);

struct sonde__registry_total sonde__registry_total(const struct sonde__registry *registry);

#endif
