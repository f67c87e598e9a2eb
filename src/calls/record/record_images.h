// SPDX-License-Identifier: Apache-2.0
/* Which image each frame of a depot belongs to: the images that were seen, and when they were
 * unloaded.
 *
 * A look compares a snapshot with the one of the look before and closes the nodes of unloaded
 * images: an image loaded in their place gets new nodes. If the loader's count of unloads shows
 * that an image was loaded and unloaded between two looks, all nodes are closed except those of
 * images that certainly stayed. So two images never share a node, and nodes of images that stay are
 * kept open. Context: one look at a time, any thread. */
#ifndef SONDE_RECORD_IMAGES_H
#define SONDE_RECORD_IMAGES_H

#include <stdatomic.h>

#include <sonde/status.h>

#include "depot.h"
#include "image_set.h"

struct sonde__record_image {
    uint64_t start, end, bias;
    uint32_t path;                /* for the caller's use */
    uint32_t flags;               /* enum sonde__image_flags */
    uint32_t first_node;          /* depot nodes from there on may belong to it ... */
    _Atomic uint32_t closed_node; /* ... up to there; 0: it is still loaded */
    struct sonde__build_id build_id;
};

/* All zero: nothing was looked at yet. */
struct sonde__record_images {
    struct sonde__record_image *images;
    uint32_t count, most;
    uint64_t generation, unloads; /* of the set of the last look */
};

/* Called for a new image; its path is not set yet. False: do not note it. */
typedef bool sonde__record_image_added(void *ctx, struct sonde__record_image *noted,
                                       const struct sonde__image *image);

/* One look; does nothing for the set of the last one. added: may be null. Returns the number of
 * images that were not noted: no room, or refused by `added`. */
uint32_t sonde__record_look(struct sonde__record_images *known, struct sonde__depot *depot,
                            const struct sonde__image_set *set, sonde__record_image_added *added,
                            void *ctx);

/* Drop unloaded images, to make room. */
void sonde__record_forget_closed(struct sonde__record_images *known);

#endif
