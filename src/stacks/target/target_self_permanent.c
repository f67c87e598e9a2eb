// SPDX-License-Identifier: Apache-2.0
/* Finds the images that are never unloaded: the main program and all that it needs by name,
 * directly or indirectly.
 *
 * The loader keeps these as long as the process lives. They were all loaded before anything that
 * the program opened later, and the loader's list has that order: the first image of a name is the
 * needed one. The set cannot grow, so it is computed for the first snapshot only. An image that is
 * not recognized is only checked more often. */
#include "target_self_images.h"

static bool mark_needed_by(struct self_snapshot *snapshot, uint32_t image)
{
    bool is_new = false;
    const char *name;
    for (uint32_t i = 0; (name = self_needed_name(snapshot, image, i)) != NULL; i++) {
        for (uint32_t j = 0; j < snapshot->set.image_count; j++) {
            if (self_image_is_named(snapshot, j, name)) {
                is_new |= !snapshot->images[j].is_permanent;
                snapshot->images[j].is_permanent = true;
                break;
            }
        }
    }
    return is_new;
}

static void copy_marks(struct self_snapshot *snapshot, const struct self_snapshot *previous)
{
    for (uint32_t i = 0; i < previous->set.image_count; i++) {
        for (uint32_t j = 0; j < snapshot->set.image_count; j++) {
            if (previous->images[i].start == snapshot->images[j].start) {
                snapshot->images[j].is_permanent = previous->images[i].is_permanent;
                break;
            }
        }
    }
}

void self_snapshot_mark_needed(struct self_snapshot *snapshot, const struct self_snapshot *previous)
{
    if (previous != NULL) {
        copy_marks(snapshot, previous);
        return;
    }
    for (uint32_t i = 0; i < snapshot->set.image_count; i++) {
        snapshot->images[i].is_permanent =
            (snapshot->images[i].flags & (SONDE__IMAGE_MAIN | SONDE__IMAGE_VDSO)) != 0;
    }
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = 0; i < snapshot->set.image_count; i++) {
            if (snapshot->images[i].is_permanent) {
                is_new |= mark_needed_by(snapshot, i);
            }
        }
    }
}
