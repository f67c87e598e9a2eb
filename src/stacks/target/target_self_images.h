// SPDX-License-Identifier: Apache-2.0
/* A snapshot of this process' images in one block of memory. Private to target_self*.c. */
#ifndef SONDE_TARGET_SELF_IMAGES_H
#define SONDE_TARGET_SELF_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "target_self_loader.h"

/* A compiled rule table, at the start of its mapping. Snapshots whose image it fits share it. */
struct self_table {
    const struct sonde__rules *rules;
    size_t mapped_bytes;
    uint32_t uses; /* snapshots */
};

struct self_snapshot {
    struct sonde__image_set set;
    struct sonde__image *images;
    struct sonde__image_range *ranges;
    struct self_table **tables; /* of each image; null: none */
    const void **dynamics;      /* of each (struct self_object) */
    char **paths; /* SELF_PATH_MAX bytes for each whose path the system is asked for; else null */
    struct self_counters counters;
    bool compiled;         /* compilation was tried for every image */
    size_t mapped_bytes;   /* of this block */
    uint64_t stripes_left; /* retired: stripes not seen idle since (capture_images.h) */
    struct self_snapshot *next;
};

/* Call inside self_loader_hold(). Null: no memory. previous: null, or a snapshot whose tables
 * are used again where they fit. */
struct self_snapshot *self_snapshot_build(const struct self_snapshot *previous,
                                          const struct self_counters *counters, bool compile);
void self_snapshot_free(struct self_snapshot *snapshot);

/* Flag the images that are never unloaded (target_self_permanent.c). */
void self_snapshot_mark_needed(struct self_snapshot *snapshot,
                               const struct self_snapshot *previous);

/* --- of the port; where self_snapshot_build() may be called --- */

/* The name of needed image number `index` of an image, as its loader is asked for it; null: it
 * needs no more. */
const char *self_needed_name(const struct self_snapshot *snapshot, uint32_t image, uint32_t index);
/* May the loader answer this name with this image? */
bool self_image_is_named(const struct self_snapshot *snapshot, uint32_t image, const char *name);
/* May the loader's path be wrong, so that the system must be asked? */
bool self_path_is_asked(const struct sonde__image *image, const char *path);
/* Set the paths of those images from the system. */
void self_snapshot_ask_paths(struct self_snapshot *snapshot);

#endif
