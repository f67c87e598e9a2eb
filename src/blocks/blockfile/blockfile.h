// SPDX-License-Identifier: Apache-2.0
/* Finds the blocks of a file, with and without symbols: descriptors in constants, literals in data,
 * and code that fills a block on the stack.
 *
 * A descriptor is recognised by its shape (two numbers that are no pointers, the second a size; two
 * functions or none; a block's signature), by its symbol, or because a block in data refers to it.
 * Data that only resembles a descriptor has no such signature. If the compiler left signatures out,
 * code that puts the descriptor into a stack block is the proof. Small descriptors are not
 * searched, because no file with them was met. Sans I/O. Context: any thread. */
#ifndef SONDE_BLOCKFILE_H
#define SONDE_BLOCKFILE_H

#include <sonde/status.h>

#include "block.h"
#include "loaded.h"

/* How a descriptor was found; flags. */
enum sonde__blockfile_found {
    SONDE__BLOCKFILE_BY_SHAPE = 1,
    SONDE__BLOCKFILE_BY_SYMBOL = 2,
    SONDE__BLOCKFILE_BY_BLOCK = 4,
    SONDE__BLOCKFILE_BY_CODE = 8, /* code fills a block with it */
};

struct sonde__blockfile_desc {
    uint64_t vaddr;
    uint32_t found; /* enum sonde__blockfile_found */
    uint32_t size;  /* of the block, in bytes */
    uint64_t reserved;
    uint64_t copy, dispose; /* 0: none */
    uint64_t signature;     /* of the text; 0: none */
    /* Flags of its blocks, guessed from its fields, or exact if a block has them (flags_known). */
    uint32_t flags;
    bool flags_known;
    bool flags_differ;  /* blocks with it have different flags */
    const char *symbol; /* or null */
    uint32_t first_block, block_count;
};

/* A literal in data, or code that fills a block. */
struct sonde__blockfile_block {
    uint32_t desc;   /* index */
    uint64_t invoke; /* vaddr */
    uint64_t at;     /* GLOBAL: of the literal; else of the last instruction that fills it */
    uint64_t first;  /* function that the code stores as first capture; 0: none, or unknown */
    uint32_t flags;
    bool flags_known;
    bool is_global;
};

/* The header of a __block variable's box, as filled by code that makes a block. Known if one
 * stretch of code fills the box, the block and the capture. */
struct sonde__blockfile_box {
    uint32_t desc;   /* of the block: index */
    uint64_t invoke; /* of the block */
    uint32_t offset; /* of the capture in the block */
    uint32_t flags, size;
    uint64_t copy, dispose; /* 0: none */
    uint64_t layout;        /* of kind LAYOUT: inline, or an address */
};

struct sonde__blockfile {
    struct sonde__blockfile_desc *descs; /* by vaddr */
    uint32_t desc_count;
    size_t desc_capacity;
    struct sonde__blockfile_block *blocks; /* by descriptor, then by place */
    uint32_t block_count;
    size_t block_capacity;
    struct sonde__blockfile_box *boxes; /* by descriptor, function and offset */
    uint32_t box_count;
    size_t box_capacity;
    uint32_t lookups_left; /* remaining look-ups for boxes and descriptors without a signature */
    const char *damage;    /* what was left out (static text), or null */
    /* functions with names of blocks for which no block was found; sorted */
    uint64_t *unmatched;
    uint32_t unmatched_count;
};

/* by_symbols: also use symbols.
 * Returns OK | MEMORY. Ownership: release with sonde__blockfile_done(). */
SONDE_NODISCARD enum sonde_status sonde__blockfile_find(const struct sonde__loaded *loaded,
                                                        bool by_symbols,
                                                        struct sonde__blockfile *ret_file,
                                                        struct sonde_error *ret_error);
void sonde__blockfile_done(struct sonde__blockfile *file);

/* The box of a block's capture at an offset; null: unknown. */
const struct sonde__blockfile_box *
sonde__blockfile_box_of(const struct sonde__blockfile *file,
                        const struct sonde__blockfile_block *block, uint32_t offset);
/* Get the box' header as if read from memory (block_captures.h), without an address. */
void sonde__blockfile_box_read(const struct sonde__blockfile_box *box,
                               struct sonde__block_byref *ret_byref);

/* Access to the file as a block's memory; imports have the names of their functions. `loaded` must
 * outlive it. */
void sonde__blockfile_memory(struct sonde__loaded *loaded, struct sonde__block_memory *ret_memory);

#endif
