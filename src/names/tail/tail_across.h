// SPDX-License-Identifier: Apache-2.0
/* Finds frames lost to tail calls between two frames, across images. The caller provides the images
 * and resolves the words through which one image jumps to another, from memory or by name. Context:
 * normal; allocates. */
#ifndef SONDE_TAIL_ACROSS_H
#define SONDE_TAIL_ACROSS_H

#include "tail_graph.h"

struct sonde__tail_images {
    void *ctx;
    /* The tail graph of an image, with offsets from *ret_base. Null: its jumps are unknown. It must
     * stay valid during the search. */
    const struct sonde__tail_graph *(*graph)(void *ctx, uint32_t image, uint64_t *ret_base);
    /* The entry of the function that the word at a place points to. False: unknown. */
    bool (*word)(void *ctx, const struct sonde__tail_place *at, struct sonde__tail_place *ret_to);
    /* The entry of the function at a place that no graph covers. */
    bool (*entry)(void *ctx, const struct sonde__tail_place *at, uint64_t *ret_vaddr);
};

/* The frames missing between a caller, which called the function at `entry`, and its inner frame,
 * whose pc is `inner` (for a return address: minus 1). */
enum sonde__tail_answer sonde__tail_across(const struct sonde__tail_images *images,
                                           const struct sonde__tail_place *entry,
                                           const struct sonde__tail_place *inner,
                                           struct sonde__tail_frames *ret_found);

#endif
