// SPDX-License-Identifier: Apache-2.0
#include "symbolize_answer.h"

#include <string.h>

/* Start of a function, for lines with offsets from it. */
static bool function_start(struct symbolize_image *image, const char *name, uint64_t *ret_vaddr)
{
    struct sonde__symfile_index_file *index = &image->index;
    for (uint32_t i = 0; i < index->index.symbols; i++) {
        struct sonde__symindex_symbol symbol;
        if (!sonde__symindex_symbol_at(&index->index, i, &symbol)) {
            continue;
        }
        for (uint32_t k = 0; k <= symbol.alias_count; k++) {
            uint32_t id =
                k == 0 ? symbol.name : sonde__symindex_alias(&index->index, &symbol, k - 1);
            if (strcmp(sonde__symindex_name(&index->strings, id), name) == 0) {
                *ret_vaddr = symbol.start;
                return true;
            }
        }
    }
    return false;
}

/* The image mapped at an address, and the vaddr. */
static struct symbolize_image *image_at(struct symbolize_images *images,
                                        const struct sonde__host_maps *maps, uint64_t address,
                                        uint64_t *ret_vaddr)
{
    const struct sonde__host_map *first = NULL;
    struct symbolize_image *image;
    for (uint32_t i = 0; i < maps->count; i++) {
        const struct sonde__host_map *map = &maps->items[i];
        if (first == NULL || strcmp(first->path, map->path) != 0) {
            first = map; /* lowest mapping of the file */
        }
        if (address < map->start || address >= map->end) {
            continue;
        }
        if (map->path[0] != '/') {
            return NULL;
        }
        image = symbolize_open_image(images, map->path, NULL);
        if (image != NULL) {
            uint64_t base = image->index.index.base;
            /* linked to a fixed address and mapped there */
            *ret_vaddr = address >= base && address - base < image->index.index.code_bytes
                             ? address
                             : address - (first->start - first->offset);
        }
        return image;
    }
    return NULL;
}

void symbolize_find_names(struct symbolize_image *image, uint64_t vaddr,
                          struct sonde__answer *ret_names)
{
    ret_names->function = (struct sonde__function){.name = ""};
    sonde__symfile_index_calls(&image->index, vaddr, ret_names);
}

void symbolize_ask(struct symbolize_images *images, const struct sonde__host_maps *maps,
                   bool returns, const struct symbolize_place *place,
                   struct symbolize_answer *ret_answer)
{
    const char *build_id = place->build_id[0] != '\0' ? place->build_id : NULL;
    uint64_t back = place->returns || returns ? 1 : 0;
    ret_answer->names.function = (struct sonde__function){.name = ""};
    ret_answer->names.count = 0;
    ret_answer->names.tails.count = 0;
    ret_answer->names.tails.ways = 0;
    ret_answer->vaddr = place->offset;
    if (place->image[0] == '\0' && maps->count != 0) {
        ret_answer->image = image_at(images, maps, place->offset, &ret_answer->vaddr);
    } else {
        ret_answer->image = symbolize_open_image(images, place->image, build_id);
    }
    if (ret_answer->image == NULL) {
        return;
    }
    if (place->symbol[0] != '\0') {
        uint64_t start;
        if (!function_start(ret_answer->image, place->symbol, &start)) {
            return;
        }
        ret_answer->vaddr = start + place->offset;
    }
    const struct sonde__symindex *index = &ret_answer->image->index.index;
    if (index->from_header && ret_answer->vaddr < index->base) {
        ret_answer->vaddr += index->base; /* Apple's offsets count from the header */
    }
    symbolize_find_names(ret_answer->image, ret_answer->vaddr - back, &ret_answer->names);
}
