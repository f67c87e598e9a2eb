// SPDX-License-Identifier: Apache-2.0
/* Frames that tail calls took away, between two frames of which each, and those in between, may be
 * of another image. Who asks knows the images, and where the words lead that one image jumps to
 * another through: by the program's memory, or by names. Context: normal; takes some heap. */
#ifndef SONDE_TAIL_ACROSS_H
#define SONDE_TAIL_ACROSS_H

#include "tail_graph.h"

/* Images are numbers of the asker's. */
struct sonde__tail_place {
    uint32_t image;
    uint64_t vaddr;
};

struct sonde__tail_images {
    void *ctx;
    /* The tail graph of an image, whose offsets count from *ret_base. Null: nothing is known of its
     * jumps. It must stay until the question is answered. */
    const struct sonde__tail_graph *(*graph)(void *ctx, uint32_t image, uint64_t *ret_base);
    /* The function that the word at a place leads to: its entry. False: it is not known. */
    bool (*word)(void *ctx, const struct sonde__tail_place *at, struct sonde__tail_place *ret_to);
    /* The entry of the function whose code is at a place of no graph's. */
    bool (*entry)(void *ctx, const struct sonde__tail_place *at, uint64_t *ret_vaddr);
};

struct sonde__tail_across {
    struct sonde__tail_place frames[SONDE__TAIL_FRAMES_MAX]; /* innermost first: in the jump, or the
                                                                function's entry */
    uint32_t count;
    uint32_t ways; /* as struct sonde__tail_found */
};

/* What is missing between a caller, which called the function at `entry`, and the frame that is
 * there, whose pc is at `inner` (of a return address: minus 1). */
enum sonde__tail_answer sonde__tail_across(const struct sonde__tail_images *images,
                                           const struct sonde__tail_place *entry,
                                           const struct sonde__tail_place *inner,
                                           struct sonde__tail_across *ret_found);

#endif
