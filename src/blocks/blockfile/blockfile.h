// SPDX-License-Identifier: Apache-2.0
/* The blocks of a file: every descriptor in its constants, with and without symbols, and where the
 * blocks that have it come from: literals in data, and the code that fills a block on the stack.
 *
 * A descriptor is known by its shape - two numbers that are no pointers, the second one a size,
 * then two functions or none, then the encoding of a block's type - or by its symbol, or because a
 * block in data leads to it. What only looks like one has no such encoding; where encodings were
 * left out by the compiler, code that fills a block with it, of the class of such blocks, stands
 * for one. A small descriptor (none was met in a file) is not looked for. Sans I/O. Context: any
 * thread. */
#ifndef SONDE_BLOCKFILE_H
#define SONDE_BLOCKFILE_H

#include <sonde/status.h>

#include "block.h"
#include "loaded.h"

/* How a descriptor was found; several may be said of one. */
enum sonde__blockfile_found {
    SONDE__BLOCKFILE_BY_SHAPE = 1,
    SONDE__BLOCKFILE_BY_SYMBOL = 2,
    SONDE__BLOCKFILE_BY_BLOCK = 4,
    SONDE__BLOCKFILE_BY_CODE = 8, /* that fills a block with it */
};

struct sonde__blockfile_desc {
    uint64_t vaddr;
    uint32_t found; /* enum sonde__blockfile_found */
    uint32_t size;  /* of the block, in bytes */
    uint64_t reserved;
    uint64_t copy, dispose; /* 0: none */
    uint64_t signature;     /* of the text; 0: none */
    /* The flags that a block of it must have, by what stands there; a block's own flags tell more
     * and are right (flags_known). */
    uint32_t flags;
    bool flags_known;
    bool flags_differ;  /* its blocks do not have the same */
    const char *symbol; /* or null */
    uint32_t first_block, block_count;
};

/* A block's literal in data, or code that fills one. */
struct sonde__blockfile_block {
    uint32_t desc;   /* index */
    uint64_t invoke; /* vaddr */
    uint64_t at;     /* GLOBAL: of the literal; else of the code that stores the last of the two */
    uint64_t first;  /* the function that the code stores behind the header; 0: none, not known */
    uint32_t flags;
    bool flags_known;
    bool is_global;
};

/* A box of a __block variable, as the code that makes a block fills it: its header, which tells
 * what is in it. Known where the box, the block and what leads from one to the other are filled in
 * one stretch of code. */
struct sonde__blockfile_box {
    uint32_t desc;   /* of the block: index */
    uint64_t invoke; /* of the block */
    uint32_t offset; /* in the block: of the capture that leads to the box */
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
    uint32_t
        lookups_left;   /* that code may still cost, for boxes and descriptors without encoding */
    const char *damage; /* what was left out (static text), or null */
    /* functions whose names say that they are blocks', and no block was found; by address */
    uint64_t *unmatched;
    uint32_t unmatched_count;
};

/* Find them. by_symbols: symbols are asked, too.
 * Returns OK | MEMORY. Ownership: release with sonde__blockfile_done(). */
SONDE_NODISCARD enum sonde_status sonde__blockfile_find(const struct sonde__loaded *loaded,
                                                        bool by_symbols,
                                                        struct sonde__blockfile *ret_file,
                                                        struct sonde_error *ret_error);
void sonde__blockfile_done(struct sonde__blockfile *file);

/* The box that a block's capture at an offset leads to, or null: not known. */
const struct sonde__blockfile_box *
sonde__blockfile_box_of(const struct sonde__blockfile *file,
                        const struct sonde__blockfile_block *block, uint32_t offset);
/* What there is to be read of it (block_captures.h): with no address. */
void sonde__blockfile_box_read(const struct sonde__blockfile_box *box,
                               struct sonde__block_byref *ret_byref);

/* The file as memory that blocks are read from: imports have the names of their functions. `loaded`
 * must outlive it. */
void sonde__blockfile_memory(struct sonde__loaded *loaded, struct sonde__block_memory *ret_memory);

#endif
