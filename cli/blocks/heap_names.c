// SPDX-License-Identifier: Apache-2.0
#include "heap_names.h"

#include "blocks_places.h"
#include "mem_heap.h"
#include "target.h"

/* Members of a function do not move: lists of captures point to them. */
struct function {
    struct function *next;
    struct blocks_members members;
};

struct opened {
    struct opened *next;
    const struct sonde__image *image;
    struct blocks_places places;
};

struct heap_names {
    struct sonde__target *target;
    const struct sonde__symfile_options *options;
    struct opened *images;
    struct function *functions;
};

static struct opened *open_image(struct heap_names *names, const struct sonde__image *image)
{
    struct opened *opened = names->images;
    while (opened != NULL && opened->image != image) {
        opened = opened->next;
    }
    if (opened == NULL && (opened = sonde__mem_alloc_zeroed(sizeof *opened)) != NULL) {
        opened->image = image;
        opened->next = names->images;
        names->images = opened;
        blocks_places_of_image(&opened->places, names->options, image);
    }
    return opened;
}

/* Called once for each kind of block, because sonde__blockheap_captures() caches the result. */
static size_t variables_of(void *ctx, uint64_t invoke,
                           const struct sonde__block_member **ret_variables)
{
    struct heap_names *names = ctx;
    const struct sonde__image *image =
        sonde__image_find(sonde__target_images(names->target), invoke);
    struct opened *opened = image != NULL ? open_image(names, image) : NULL;
    struct function *function;
    if (opened == NULL || opened->places.types == NULL) {
        return 0;
    }
    function = sonde__mem_alloc_zeroed(sizeof *function);
    if (function == NULL) {
        return 0;
    }
    function->next = names->functions;
    names->functions = function;
    blocks_members(&opened->places, invoke - image->bias, &function->members);
    *ret_variables = function->members.items;
    return function->members.count;
}

enum sonde_status heap_names_open(struct sonde__target *target,
                                  const struct sonde__symfile_options *options,
                                  struct sonde__blockheap *heap, struct heap_names **ret_names)
{
    struct heap_names *names = sonde__mem_alloc_zeroed(sizeof *names);
    if (names == NULL) {
        return SONDE_MEMORY;
    }
    names->target = target;
    names->options = options;
    sonde__blockheap_set_variables(heap, variables_of, names);
    *ret_names = names;
    return SONDE_OK;
}

void heap_names_close(struct heap_names *names)
{
    if (names == NULL) {
        return;
    }
    for (struct function *function = names->functions, *next; function != NULL; function = next) {
        next = function->next;
        blocks_members_done(&function->members);
        sonde__mem_free(function);
    }
    for (struct opened *opened = names->images, *next; opened != NULL; opened = next) {
        next = opened->next;
        blocks_places_done(&opened->places);
        sonde__mem_free(opened);
    }
    sonde__mem_free(names);
}
