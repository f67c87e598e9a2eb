// SPDX-License-Identifier: Apache-2.0
/* Shared by this folder. Context: any thread. */
#ifndef SONDE_BLOCKHEAP_INSIDE_H
#define SONDE_BLOCKHEAP_INSIDE_H

#include "blockheap_graph.h"
#include "mem_table.h"
#include "symfile_cache.h"
#include "target.h"

/* Images have three or four classes of blocks; processes have one runtime, some two or three. */
enum { BLOCKHEAP_CLASSES_MAX = 32 };

/* A data symbol related to blocks; the index of function names does not have it. */
struct blockheap_symbol {
    uint64_t address; /* in the target */
    const char *name; /* the symbol file's */
};

/* A descriptor, and the flags used to read it. */
struct blockheap_desc {
    uint64_t address;
    uint32_t flags;
    bool is_good;
    uint32_t size;
};

/* Flags that change how a descriptor is read. */
#define BLOCKHEAP_DESC_BITS                                                                        \
    (SONDE_BLOCK_INLINE_LAYOUT | SONDE_BLOCK_SMALL_DESCRIPTOR | SONDE_BLOCK_HAS_HELPERS |          \
     SONDE_BLOCK_HAS_SIGNATURE | SONDE_BLOCK_HAS_LAYOUT)

/* The captures for a descriptor; with variables, for one function. */
struct blockheap_kept {
    uint64_t descriptor, invoke;
    uint32_t flags;
    struct sonde__blockheap_captures *captures; /* null: unreadable */
};

struct sonde__blockheap {
    struct sonde__target *target;            /* null: the caller provides the memory */
    const struct sonde__image_set *images;   /* of the caller's memory; null: none */
    struct sonde__target_memory own;         /* targets of pointers; ranges null: not read yet */
    struct sonde__target_allocations listed; /* as of the last search */
    struct sonde__symfile_cache *symfile;
    struct sonde__block_memory memory;
    bool is_self;
    int32_t pid;
    struct sonde__blockheap_class classes[BLOCKHEAP_CLASSES_MAX];
    uint32_t class_count;
    struct blockheap_symbol *symbols; /* by address */
    size_t symbol_count, symbol_capacity;
    struct blockheap_desc *descs;
    size_t desc_count, desc_capacity;
    struct sonde__mem_table desc_table; /* by address and flags */
    struct blockheap_kept *kept;        /* by descriptor, then by flags, then by function */
    size_t kept_count, kept_capacity;
    struct blockheap_merging *merging; /* made on first use */
    sonde__blockheap_variables *variables;
    void *variables_ctx;
};

/* The target's current images, or those of a caller's memory, if any. */
const struct sonde__image_set *blockheap_images(const struct sonde__blockheap *heap);

/* The image that contains an address, or null. */
const struct sonde__image *blockheap_image_at(const struct sonde__blockheap *heap,
                                              uint64_t address);

/* --- blockheap_symbols.c --- */

/* Collect classes and symbols of all images. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status blockheap_read_symbols(struct sonde__blockheap *heap);
/* Name of the symbol at an address: a data symbol as above, or a function; or null. */
const char *blockheap_name_at(struct sonde__blockheap *heap, uint64_t address);

/* --- blockheap_memory.c --- */

/* Read the map for the two functions below. Returns OK | MEMORY | statuses of reading the map. */
SONDE_NODISCARD enum sonde_status blockheap_read_own(struct sonde__blockheap *heap,
                                                     struct sonde_error *ret_error);
/* Bytes from an address to the end of its range of writable memory; 0: not in one. */
uint64_t blockheap_own_left(const struct sonde__blockheap *heap, uint64_t address);
/* The listed allocation with an address, or null. */
const struct sonde__target_range *blockheap_listed(const struct sonde__blockheap *heap,
                                                   uint64_t address);
/* The memory to read around the target of a pointer: its allocation, or BLOCKHEAP_WINDOW bytes.
 * ret_start  of the allocation; else the address itself
 * False: not in writable memory of the target, or in an image. */
bool blockheap_extent(struct sonde__blockheap *heap, uint64_t address, uint64_t *ret_start,
                      uint64_t *ret_size);
enum { BLOCKHEAP_WINDOW = 128 };

/* --- blockheap_captures.c --- */

void blockheap_kept_done(struct sonde__blockheap *heap);

#endif
