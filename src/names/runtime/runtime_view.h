// SPDX-License-Identifier: Apache-2.0
/* A target's memory in blocks, each read once per look at a thread.
 *
 * The next look at the same thread first reads all blocks that this look needed, by one call.
 * Bounded by SONDE__VIEW_BYTES and SONDE__VIEW_BLOCKS. Context: any thread, one at a time. */
#ifndef SONDE_RUNTIME_VIEW_H
#define SONDE_RUNTIME_VIEW_H

#include "runtime.h"

/* Python's data stack at its recursion limit has some 200 KiB. */
#define SONDE__VIEW_BYTES  524288u
#define SONDE__VIEW_BLOCKS 4096u
#define SONDE__VIEW_BATCH  1024u /* blocks read by one call: the system's limit (IOV_MAX) */
/* Frames are close together, so they are read by pages. */
#define SONDE__VIEW_PAGE 4096u

struct sonde__view_block {
    uint64_t address;
    uint32_t size, offset; /* of its bytes in the view */
    bool used;             /* by the current look */
};

struct sonde__view {
    struct sonde__runtime_memory memory;
    struct sonde__view_block blocks[SONDE__VIEW_BLOCKS];
    uint32_t count;
    uint32_t bytes_used;
    uint32_t last;  /* the block of the last request */
    uint32_t other; /* that before the last jump */
    uint64_t looks; /* number of the current look */
    uint64_t reads; /* calls of the callback so far */
    uint8_t bytes[SONDE__VIEW_BYTES];
};

/* Begin a look, and read the blocks `ahead`. */
void sonde__view_begin(struct sonde__view *view, const struct sonde__view_block *ahead,
                       uint32_t count);
/* Read the addresses and sizes in `wanted`, by one call for each SONDE__VIEW_BATCH. */
void sonde__view_ahead(struct sonde__view *view, const struct sonde__view_block *wanted,
                       uint32_t count);

/* The bytes at an address, valid until the next begin; null: unreadable, or no room. pages: read
 * whole pages around them. */
const uint8_t *sonde__view_at(struct sonde__view *view, uint64_t address, uint32_t size,
                              bool pages);

#endif
