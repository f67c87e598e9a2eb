// SPDX-License-Identifier: Apache-2.0
/* A snapshot of this process' images in one block of memory. Private to target_self*.c. */
#ifndef SONDE_TARGET_SELF_IMAGES_H
#define SONDE_TARGET_SELF_IMAGES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "image_set.h"

/* A compiled rule table, shared by the snapshots whose image it fits. It heads its own mapping. */
struct self_table {
    const struct sonde__rules *rules;
    size_t mapped_bytes;
    uint32_t uses; /* snapshots */
};

enum { SELF_PATH_MAX = 4096 }; /* PATH_MAX of Linux */

/* What the loader counts: equal counters, equal images. */
struct self_counters {
    unsigned long long adds, subs;
};

struct self_snapshot {
    struct sonde__image_set set;
    struct sonde__image *images;
    struct sonde__image_range *ranges;
    struct self_table **tables;  /* of each image; null: none */
    const ElfW(Dyn) * *dynamics; /* the dynamic section of each; null: none */
    char **paths; /* room of SELF_PATH_MAX for each whose path the kernel is asked; null: not */
    struct self_counters counters;
    bool compiled;         /* every image was tried */
    size_t mapped_bytes;   /* of this block */
    uint64_t stripes_left; /* retired: stripes not seen idle since (capture_images.h) */
    struct self_snapshot *next;
};

/* Must be called inside a dl_iterate_phdr callback: no image goes away meanwhile. Null: no memory.
 * previous (may be null): its tables are used again where they fit. */
struct self_snapshot *self_snapshot_build(const struct self_snapshot *previous,
                                          const struct self_counters *counters, bool compile);
void self_snapshot_free(struct self_snapshot *snapshot);

/* Flag the images that are never unloaded. Where self_snapshot_build() may be called. */
void self_snapshot_mark_needed(struct self_snapshot *snapshot,
                               const struct self_snapshot *previous);

/* Does the loader's path need the kernel's word? */
bool self_path_is_asked(const struct sonde__image *image, const char *path);
/* Set the paths of those images as the kernel knows them. Where self_snapshot_build() may be
 * called. */
void self_snapshot_ask_paths(struct self_snapshot *snapshot);
/* Length of a path of the kernel's without the mark of a deleted file. */
size_t self_path_undeleted(const char *path, size_t size);

/* The parts of one object that the loader describes. False: it has nothing mapped. */
bool self_image_describe(const struct dl_phdr_info *info, struct sonde__image *ret_image);

#endif
