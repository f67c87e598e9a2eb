// SPDX-License-Identifier: Apache-2.0
/* Shared by the files that implement block.h. Context: any thread, one at a time. */
#ifndef SONDE_API_BLOCK_H
#define SONDE_API_BLOCK_H

#include <sonde/block.h>

#include "blockheap_graph.h"
#include "symfile_cache.h"
#include "target.h"

struct sonde_blocks {
    struct sonde__target *target; /* null: callbacks */
    struct sonde__symfile_cache *symfile;
    struct sonde__blockheap *heap;
    struct sonde_block_memory memory;
    sonde_block_describer *describer; /* null: off */
    void *describer_ctx;
    struct sonde_block_search search; /* the last one; struct_bytes 0: none */
    enum sonde_status search_status;
};

/* The bytes read of a block, in one read if possible. */
enum { BODY_BYTES = 4096, FIRST_BYTES = 256 };
struct block_body {
    _Alignas(8) uint8_t bytes[BODY_BYTES];
    uint32_t size;
};

/* As sonde_block_inspect(), with the block's bytes and captures. */
SONDE_NODISCARD enum sonde_status block_read(struct sonde_blocks *blocks, uint64_t address,
                                             struct block_body *body, struct sonde_block *ret_block,
                                             const struct sonde__blockheap_captures **ret_captures);
/* Clear the copy after each block_read(), so that no search of memory finds it. */
void block_forget(struct block_body *body);

#endif
