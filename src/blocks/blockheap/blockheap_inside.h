// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder tell each other. Context: any thread. */
#ifndef SONDE_BLOCKHEAP_INSIDE_H
#define SONDE_BLOCKHEAP_INSIDE_H

#include "blockheap_graph.h"
#include "mem_table.h"
#include "symfile_cache.h"
#include "target.h"

/* Images have three or four classes of blocks; processes have one runtime, some two or three. */
enum { BLOCKHEAP_CLASSES_MAX = 32 };

/* A symbol that has to do with blocks and may be in data, which the index of functions has not. */
struct blockheap_symbol {
    uint64_t address; /* in the target */
    const char *name; /* the symbol file's */
};

/* What was learned of a descriptor, with the flags it was read by. */
struct blockheap_desc {
    uint64_t address;
    uint32_t flags;
    bool is_good;
    uint32_t size;
};

/* Of a descriptor these flags change what is read. */
#define BLOCKHEAP_DESC_BITS                                                                        \
    (SONDE_BLOCK_INLINE_LAYOUT | SONDE_BLOCK_SMALL_DESCRIPTOR | SONDE_BLOCK_HAS_HELPERS |          \
     SONDE_BLOCK_HAS_SIGNATURE | SONDE_BLOCK_HAS_LAYOUT)

/* What the blocks of a descriptor hold, and of one function if its variables were asked for. */
struct blockheap_kept {
    uint64_t descriptor, invoke;
    uint32_t flags;
    struct sonde__blockheap_captures *captures; /* null: it cannot be read */
};

struct sonde__blockheap {
    struct sonde__target *target;          /* null: a caller's memory */
    const struct sonde__image_set *images; /* of a caller's memory; null: it has none */
    struct sonde__target_memory own;       /* where pointers may lead; ranges null: not read yet */
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
    struct blockheap_merging *merging; /* made when it is needed */
    sonde__blockheap_variables *variables;
    void *variables_ctx;
};

/* The target's, as it has them now; none of a caller's memory that tells of none. */
const struct sonde__image_set *blockheap_images(const struct sonde__blockheap *heap);

/* The image whose memory holds an address, code or data; or null. */
const struct sonde__image *blockheap_image_at(const struct sonde__blockheap *heap,
                                              uint64_t address);

/* --- blockheap_symbols.c --- */

/* Collect classes and symbols of all images. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status blockheap_read_symbols(struct sonde__blockheap *heap);
/* The symbol that begins at an address: of the above, or a function's; or null. */
const char *blockheap_name_at(struct sonde__blockheap *heap, uint64_t address);

/* --- blockheap_memory.c --- */

/* Read the map, for the two below. Returns OK | MEMORY | as reading the map. */
SONDE_NODISCARD enum sonde_status blockheap_read_own(struct sonde__blockheap *heap,
                                                     struct sonde_error *ret_error);
/* Bytes of the target's writable memory from an address to the end of its range; 0: it is none. */
uint64_t blockheap_own_left(const struct sonde__blockheap *heap, uint64_t address);
/* What is to be read of memory at an address, of which no more is known than that something points
 * to it: up to the end of its allocation, or BLOCKHEAP_WINDOW bytes.
 * ret_start  of the allocation; the address itself where none is known
 * False: it is not the target's writable memory, or an image's. */
bool blockheap_extent(struct sonde__blockheap *heap, uint64_t address, uint64_t *ret_start,
                      uint64_t *ret_size);
enum { BLOCKHEAP_WINDOW = 128 };

/* --- blockheap_captures.c --- */

void blockheap_kept_done(struct sonde__blockheap *heap);

#endif
