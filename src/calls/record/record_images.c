// SPDX-License-Identifier: Apache-2.0
#include "record_images.h"

#include "base_mem.h"

enum { WORDS = 64 }; /* 64 images each; an image beyond them is never known to have stayed */

static bool is_open(const struct sonde__record_image *noted)
{
    return atomic_load_explicit(&noted->closed_node, memory_order_relaxed) == 0;
}

static bool is_same(const struct sonde__record_image *noted, const struct sonde__image *image)
{
    return is_open(noted) && noted->start == image->start && noted->bias == image->bias &&
           noted->build_id.size == image->build_id.size &&
           sonde__base_mem_compare(noted->build_id.bytes, image->build_id.bytes,
                                   image->build_id.size) == 0;
}

/* Index of the image in the set, or image_count if it is gone. */
static uint32_t index_of(const struct sonde__image_set *set,
                         const struct sonde__record_image *noted)
{
    uint32_t i = 0;
    while (i < set->image_count && !is_same(noted, &set->images[i])) {
        i++;
    }
    return i;
}

static void note_closed(struct sonde__record_image *noted, struct sonde__depot *depot)
{
    atomic_store_explicit(&noted->closed_node, sonde__depot_part(depot), memory_order_release);
}

static uint32_t close_gone(struct sonde__record_images *known, struct sonde__depot *depot,
                           const struct sonde__image_set *set)
{
    uint32_t gone = 0;
    for (uint32_t i = 0; i < known->count; i++) {
        struct sonde__record_image *noted = &known->images[i];
        if (is_open(noted) && index_of(set, noted) == set->image_count) {
            (void)sonde__depot_close(depot, noted->start, noted->end);
            note_closed(noted, depot);
            gone++;
        }
    }
    return gone;
}

struct stayed {
    const struct sonde__image_set *set;
    uint64_t words[WORDS]; /* a bit for each image of the set */
};

static bool has_stayed(void *ctx, uint64_t pc)
{
    const struct stayed *stayed = ctx;
    const struct sonde__image_range *range = sonde__image_range_find(stayed->set, pc);
    return range != NULL && range->image / 64 < WORDS &&
           (stayed->words[range->image / 64] >> range->image % 64 & 1) != 0;
}

/* An image was loaded and unloaded between two looks. One with the same place and build-id as
 * before is the same code; without a build-id it may be another. */
static void close_doubtful(struct sonde__record_images *known, struct sonde__depot *depot,
                           const struct sonde__image_set *set)
{
    struct stayed stayed = {.set = set};
    for (uint32_t i = 0; i < known->count; i++) {
        uint32_t index = index_of(set, &known->images[i]);
        if (index < set->image_count && index / 64 < WORDS &&
            (set->images[index].build_id.size != 0 || set->images[index].is_permanent)) {
            stayed.words[index / 64] |= (uint64_t)1 << index % 64;
        }
    }
    (void)sonde__depot_close_others(depot, has_stayed, &stayed);
    for (uint32_t i = 0; i < known->count; i++) {
        struct sonde__record_image *noted = &known->images[i];
        uint32_t index = index_of(set, noted);
        if (index < set->image_count &&
            (index / 64 >= WORDS || (stayed.words[index / 64] >> index % 64 & 1) == 0)) {
            note_closed(noted, depot);
        }
    }
}

static bool is_known(const struct sonde__record_images *known, const struct sonde__image *image)
{
    for (uint32_t i = 0; i < known->count; i++) {
        if (is_same(&known->images[i], image)) {
            return true;
        }
    }
    return false;
}

static bool note(struct sonde__record_images *known, const struct sonde__depot *depot,
                 const struct sonde__image *image, sonde__record_image_added *added, void *ctx)
{
    if (known->count == known->most) {
        return false;
    }
    struct sonde__record_image *noted = &known->images[known->count];
    noted->start = image->start;
    noted->end = image->end;
    noted->bias = image->bias;
    noted->flags = image->flags;
    noted->first_node = sonde__depot_next(depot);
    noted->build_id = image->build_id;
    atomic_store_explicit(&noted->closed_node, 0, memory_order_relaxed);
    if (added != NULL && !added(ctx, noted, image)) {
        return false;
    }
    known->count++;
    return true;
}

uint32_t sonde__record_look(struct sonde__record_images *known, struct sonde__depot *depot,
                            const struct sonde__image_set *set, sonde__record_image_added *added,
                            void *ctx)
{
    uint32_t lost = 0;
    if (set == NULL || set->generation == known->generation) {
        return 0;
    }
    uint32_t gone = close_gone(known, depot, set);
    if (known->generation != 0 && set->unloads - known->unloads > gone) {
        close_doubtful(known, depot, set);
    }
    for (uint32_t i = 0; i < set->image_count; i++) {
        if (!is_known(known, &set->images[i])) {
            lost += !note(known, depot, &set->images[i], added, ctx);
        }
    }
    known->generation = set->generation;
    known->unloads = set->unloads;
    return lost;
}

void sonde__record_forget_closed(struct sonde__record_images *known)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < known->count; i++) {
        if (is_open(&known->images[i])) {
            known->images[kept++] = known->images[i];
        }
    }
    known->count = kept;
}
