// SPDX-License-Identifier: Apache-2.0
/* The memory of the stepped program, and its images.
 *
 * The stack is read again at each instruction, to the program's own addresses if these are free
 * here: so the walk uses its loop over plain memory as well as its door. */
#ifndef TEST_ORACLE_SPACE_H
#define TEST_ORACLE_SPACE_H

#include "target_images.h"
#include "unwind_walk.h"

struct space {
    unsigned arch;
    size_t (*read)(void *ctx, uint64_t address, void *ret_bytes, size_t size);
    void *ctx;
    /* the stack, as of now */
    uint64_t start, end;
    uint8_t *bytes;                /* of start */
    uint64_t same_start, same_end; /* mapped here at the same address; empty: not mapped */
    uint8_t *buffer;
    /* images */
    struct sonde__host_maps maps;
    struct sonde__target_images images;
    struct sonde__image *bare; /* the images without tables */
    struct sonde__image_set in_place;
};

/* Set space->arch, read and ctx before. Images come from `maps`; the space takes ownership. */
void space_map(struct space *space, const struct sonde__host_maps *maps);
/* Take the stack from sp up to `outermost` and a little more. */
void space_take_stack(struct space *space, uint64_t sp, uint64_t outermost);
void space_done(struct space *space);

/* For struct sonde__memory: ctx is the space. */
bool space_door(void *ctx, uint64_t address, void *ret_bytes, size_t size);

/* Names the mapping that holds an address. */
uint64_t space_region(const struct space *space, uint64_t address);

#endif
