// SPDX-License-Identifier: Apache-2.0
/* Memory of a target in blocks, each read once for one look at a thread.
 *
 * The blocks that a look needed are read ahead at the next look of the same thread, all of them by
 * one call. Bounded: SONDE__VIEW_BYTES, SONDE__VIEW_BLOCKS. Context: any thread, one at a time. */
#ifndef SONDE_RUNTIME_VIEW_H
#define SONDE_RUNTIME_VIEW_H

#include "runtime.h"

/* Python's data stack at its recursion limit has some 200 KiB. */
#define SONDE__VIEW_BYTES  524288u
#define SONDE__VIEW_BLOCKS 1024u /* what one system call may read: IOV_MAX */
/* Frames are neighbours: they are read by pages. */
#define SONDE__VIEW_PAGE 4096u

struct sonde__view_block {
    uint64_t address;
    uint32_t size, offset; /* of its bytes */
    bool used;             /* by the look that goes on */
};

struct sonde__view {
    struct sonde__runtime_memory memory;
    struct sonde__view_block blocks[SONDE__VIEW_BLOCKS];
    uint32_t count;
    uint32_t bytes_used;
    uint32_t last;  /* the block that the last question was about */
    uint64_t reads; /* calls of the callback, ever */
    uint8_t bytes[SONDE__VIEW_BYTES];
};

/* Begin a look, with what the blocks of `ahead` hold now. */
void sonde__view_begin(struct sonde__view *view, const struct sonde__view_block *ahead,
                       uint32_t count);
/* Read what will be asked for by one call: addresses and sizes of `wanted`. */
void sonde__view_ahead(struct sonde__view *view, const struct sonde__view_block *wanted,
                       uint32_t count);

/* The bytes at an address; null: they cannot be read, or there is no room. pages: read the whole
 * pages around them. The bytes are valid until the next begin. */
const uint8_t *sonde__view_at(struct sonde__view *view, uint64_t address, uint32_t size,
                              bool pages);

#endif
