// SPDX-License-Identifier: Apache-2.0
/* The live heap blocks (closures), with the stack, thread and time of their creation.
 *
 * A hash table from address to entry, in memory that processes may share. A line is a cache line of
 * seven addresses. The address selects a few lines that a block may be in; heap neighbours share
 * the first of them, so little memory is touched.
 *
 * The table has its own reference counts; retains and releases are reported before they happen. The
 * last release removes the entry before the runtime frees the block, so no other block has its
 * address yet. One atomic step on the count decides which of several simultaneous releases is last.
 * The runtime's own count is a cross-check: a release by the only holder ends the block, whatever
 * was counted here.
 *
 * Invariant: an address has at most one entry, and a read returns one block's entry, never a
 * mixture. Lock-free. A block without room in its lines is dropped and counted. Context: any
 * thread, handler. */
#ifndef SONDE_REGISTRY_H
#define SONDE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks in a line, and lines that a block may be in. */
enum { SONDE__REGISTRY_LINE = 7, SONDE__REGISTRY_PROBES = 4 };

/* Lines of a table: a power of two, at least PROBES. Room for 900,000 blocks; 330 bytes per line,
 * of which only used ones are touched. */
#define SONDE__REGISTRY_LINES     ((uint32_t)1 << 17)
#define SONDE__REGISTRY_LINES_MAX ((uint32_t)1 << 22)

/* How the runtime counts references in a block. */
enum sonde__registry_form {
    SONDE__REGISTRY_UNKNOWN,
    SONDE__REGISTRY_BY_ONE,   /* flags, bits 0 to 15: libBlocksRuntime of compiler-rt */
    SONDE__REGISTRY_BY_TWO,   /* flags, bits 1 to 15: Apple's, swift-corelibs' */
    SONDE__REGISTRY_RESERVED, /* the word after flags: libobjc2 */
};

#define SONDE__REGISTRY_SIZE_MAX (UINT32_MAX >> 2) /* larger blocks count as this */

struct sonde__registry_block {
    uint64_t address;
    uint64_t time_ns; /* when it was made, by the caller's clock */
    uint64_t invoke;  /* its function */
    uint64_t tid;
    uint32_t stack;      /* in a depot; 0: the depot was full */
    uint32_t size_bytes; /* at most SIZE_MAX */
    uint32_t form;       /* enum sonde__registry_form */
};

struct sonde__registry_total {
    uint64_t made;
    uint64_t ended;
    uint64_t dropped;  /* made, but the table had no room */
    uint64_t replaced; /* ended unseen: another block has its address */
    uint64_t unseen;   /* ended although more references were counted here than by the runtime */
    uint64_t unknown;  /* retains and releases of heap blocks that are not in the table */
};

/* A handle of one process; the memory may be shared. */
struct sonde__registry {
    uint8_t *memory;
    uint32_t lines;
};

/* Size of a table with this many lines. It needs zeroed memory, aligned to 64. */
uint64_t sonde__registry_size(uint32_t lines);

/* Add a new block. False: no room, dropped. */
bool sonde__registry_add(const struct sonde__registry *registry,
                         const struct sonde__registry_block *block);

#define SONDE__REGISTRY_NONE UINT32_MAX
/* The place of a block, valid while the caller holds a reference to it. NONE: not in the table. */
uint32_t sonde__registry_place(const struct sonde__registry *registry, uint64_t address);
uint32_t sonde__registry_form_at(const struct sonde__registry *registry, uint32_t place);

/* Count a retain. */
void sonde__registry_retain(const struct sonde__registry *registry, uint32_t place);

/* Count a release, before the runtime does.
 * references: the runtime's count, the caller's included; 0: unknown; UINT32_MAX: never freed.
 * True: this ends the block, and its entry is removed. */
bool sonde__registry_release(const struct sonde__registry *registry, uint32_t place,
                             uint32_t references);

/* Count a retain or release of a heap block that is not in the table. */
void sonde__registry_miss(const struct sonde__registry *registry);

/* Look up an address. False: not in the table. All fields are of the same block. */
bool sonde__registry_find(const struct sonde__registry *registry, uint64_t address,
                          struct sonde__registry_block *ret_block);

/* Look up a place. Places below sonde__registry_places() enumerate all live blocks. False: free. */
uint32_t sonde__registry_places(const struct sonde__registry *registry);
bool sonde__registry_get(const struct sonde__registry *registry, uint32_t place,
                         struct sonde__registry_block *ret_block);

struct sonde__registry_total sonde__registry_total(const struct sonde__registry *registry);

#endif
