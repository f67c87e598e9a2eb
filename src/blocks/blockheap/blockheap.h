// SPDX-License-Identifier: Apache-2.0
/* The blocks on the heap of this process, another one or a core: found by searching writable memory
 * for the classes of the block runtimes.
 *
 * The search is passive: it stops, runs and writes nothing in the process. It checks class,
 * reference count, code and descriptor of each candidate. Memory changes meanwhile, so parts of the
 * result are from different moments. Context: any thread, one at a time. */
#ifndef SONDE_BLOCKHEAP_H
#define SONDE_BLOCKHEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "block.h"
#include "image_set.h"

struct sonde__blockheap;
struct sonde__target;
struct sonde__symfile_cache;

/* target, symbols  borrowed; must outlive it
 * is_self          the target is this process, whose memory is searched in place
 * Returns OK | ABSENT (no image has a block runtime) | MEMORY | statuses of reading the map.
 * Ownership: close it. */
SONDE_NODISCARD enum sonde_status sonde__blockheap_open(struct sonde__target *target,
                                                        struct sonde__symfile_cache *symbols,
                                                        bool is_self,
                                                        struct sonde__blockheap **ret_heap,
                                                        struct sonde_error *ret_error);
/* The same over memory that the caller reads. It can be asked about blocks, but not searched.
 * memory  copied.
 * Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status
sonde__blockheap_open_memory(const struct sonde__block_memory *memory,
                             struct sonde__blockheap **ret_heap);
void sonde__blockheap_close(struct sonde__blockheap *heap);

/* Access to the target's memory, with the names of what begins at an address. */
const struct sonde__block_memory *sonde__blockheap_memory(const struct sonde__blockheap *heap);

/* A class of blocks in one of the target's images. */
struct sonde__blockheap_class {
    uint64_t address;
    uint8_t kind;    /* enum sonde__block_class */
    uint8_t runtime; /* enum sonde__block_runtime; another image's if this one has none */
};
/* The class at an address, or null. */
const struct sonde__blockheap_class *sonde__blockheap_class_at(const struct sonde__blockheap *heap,
                                                               uint64_t address);

/* --- the search --- */

struct sonde__blockheap_item {
    uint64_t address, invoke, descriptor;
    uint32_t flags, size;
    uint32_t count; /* references */
    uint8_t runtime;
};

struct sonde__blockheap_found {
    struct sonde__blockheap_item *items; /* by address */
    size_t count, capacity;
    uint64_t bytes;      /* that were searched */
    uint64_t unreadable; /* unmapped meanwhile, or missing in a core */
    uint64_t hits;       /* words equal to a class of blocks */
    uint64_t stale;      /* of these, freed blocks and other memory */
    uint64_t left_out;   /* bytes over the limit */
    bool in_place;       /* this process' memory was searched without a copy */
    /* Of an allocator that lists its allocations: their number, its parts, and those that list
     * none. If all do, only the beginnings of allocations were looked at. */
    uint64_t allocations;
    uint32_t zones, unlisted;
    char note[120]; /* why the first part lists none; or "" */
};

/* Limit of the memory to search; the rest is counted. */
#define SONDE__BLOCKHEAP_BYTES_MAX ((uint64_t)1 << 40)

/* Search now, with a fresh map; the images are the target's current ones.
 * bytes_max: 0: the limit above.
 * Returns OK | MEMORY | TIMEOUT (of sonde__target_allocations()) | statuses of reading the map.
 * Ownership: release with _found_done(). */
SONDE_NODISCARD enum sonde_status sonde__blockheap_scan(struct sonde__blockheap *heap,
                                                        uint64_t bytes_max,
                                                        struct sonde__blockheap_found *ret_found,
                                                        struct sonde_error *ret_error);
void sonde__blockheap_found_done(struct sonde__blockheap_found *found);

/* Is it the header of a live heap block? header: the four words at `address`. */
bool sonde__blockheap_check_header(struct sonde__blockheap *heap, uint64_t address,
                                   const uint64_t header[4],
                                   struct sonde__blockheap_item *ret_item);
/* Is a live heap block at `address`? Reads its header. */
bool sonde__blockheap_check(struct sonde__blockheap *heap, uint64_t address,
                            struct sonde__blockheap_item *ret_item);

#endif
