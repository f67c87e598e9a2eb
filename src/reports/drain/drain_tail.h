// SPDX-License-Identifier: Apache-2.0
/* Finds functions that left by a tail call between two adjacent frames (src/names/tail): the
 * function that the caller calls, and the jumps that lead from there to the inner frame, also
 * through other images. Tail graphs come from index files, or from an image's code on first use,
 * which is rare. Context: as drain_stack.h. */
#ifndef SONDE_DRAIN_TAIL_H
#define SONDE_DRAIN_TAIL_H

#include "symfile_cache.h"
#include "tail_code.h"
#include "target.h"

struct drain_graph {
    const struct sonde__elf *elf; /* of this ELF */
    struct sonde__tail_bytes bytes;
    struct sonde__tail_graph graph;
    uint64_t base;
    struct drain_graph *next;
};

struct drain_tails {
    struct sonde__target *target;
    struct sonde__symfile_cache *symbols;
    struct drain_graph *graphs; /* newest first */
    uint64_t code_bytes_max;    /* limit of code to search; 0: the default */
};

void drain_tails_done(struct drain_tails *tails);

/* Find the tail calls between frame `inner` of a stack and its caller. Images are indexes in the
 * snapshot. False: none, or unknown. */
bool drain_tails_find(struct drain_tails *tails, const struct sonde__image_set *set,
                      const struct sonde_stack *stack, uint32_t inner,
                      struct sonde__tail_frames *ret_frames);

#endif
