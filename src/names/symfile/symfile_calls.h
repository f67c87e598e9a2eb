// SPDX-License-Identifier: Apache-2.0
/* The calls at an address of one image (its function and the calls inlined there) with files and
 * lines. They come from an index file that exists or may be made, else unit by unit from the DWARF
 * in the image's own or separate debug file. Context: any thread, one at a time. */
#ifndef SONDE_SYMFILE_CALLS_H
#define SONDE_SYMFILE_CALLS_H

#include "symfile_cache.h"
#include "symfile_find.h"

struct symfile_calls;
struct sonde__symfile_macho;
struct sonde__tail_graph; /* tail_graph.h */

struct sonde__symfile_places {
    /* own, debug: the image's views, all zero without a file; macho: instead of both, if the image
     * is a Mach-O; else null. They must outlive it. Returns null if nothing is known, or without
     * memory. */
    struct symfile_calls *(*open)(const struct sonde__symfile_options *options,
                                  const struct sonde__image *image, const struct symfile_view *own,
                                  const struct symfile_view *debug,
                                  const struct sonde__symfile_macho *macho);
    void (*close)(struct symfile_calls *calls);
    /* as sonde__symfile_calls() */
    void (*find)(struct symfile_calls *calls, uint64_t vaddr, struct sonde__answer *answer);
    /* From an index file that was made with the image's code. */
    bool (*tails)(struct symfile_calls *calls, struct sonde__tail_graph *ret_graph,
                  uint64_t *ret_base);
};
extern const struct sonde__symfile_places sonde__symfile_places;

#endif
