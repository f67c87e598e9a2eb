// SPDX-License-Identifier: Apache-2.0
#include "space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test.h"

enum { STACK_BYTES_MAX = 1 << 20, GRAIN = 512 /* the walk's read size */ };

/* Nothing of ours uses the addresses of the program's stack, unless the loader was unlucky. */
static void reserve(struct space *space, uint64_t end)
{
    uint64_t start = end - STACK_BYTES_MAX;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the same address as in the program
    void *wanted = (void *)(uintptr_t)start;
    void *got = mmap(wanted, STACK_BYTES_MAX, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) {
        space->same_start = start;
        space->same_end = end;
    } else if (got != MAP_FAILED) {
        (void)munmap(got, STACK_BYTES_MAX);
    }
}

void space_map(struct space *space, const struct sonde__host_maps *maps)
{
    struct sonde__target_source from = {
        .read = space->read, .ctx = space->ctx, .root = "", .arch = space->arch};
    CHECK_OK(sonde__target_images_build(&space->images, maps, &from));
    sonde__host_maps_done(&space->maps);
    space->maps = *maps;
    for (uint32_t i = 0; i < maps->count && space->same_end == 0; i++) {
        if (strcmp(maps->items[i].path, "[stack]") == 0 && space->arch == SONDE__ARCH_HOST) {
            reserve(space, maps->items[i].end);
        }
    }
    uint32_t count = space->images.image_count;
    space->bare = realloc(space->bare, (count + 1) * sizeof *space->bare);
    CHECK(space->bare != NULL);
    for (uint32_t i = 0; i < count; i++) {
        space->bare[i] = space->images.images[i];
        space->bare[i].rules = NULL;
    }
    space->in_place = space->images.set;
    space->in_place.images = space->bare;
}

void space_take_stack(struct space *space, uint64_t sp, uint64_t outermost)
{
    uint64_t start = sp / GRAIN * GRAIN;
    uint64_t end = (outermost + 64 + GRAIN - 1) / GRAIN * GRAIN;
    bool same = start >= space->same_start && start < space->same_end;
    if (same && end > space->same_end) {
        end = space->same_end;
    }
    if (outermost < sp || end - start > STACK_BYTES_MAX) {
        end = start + 2 * GRAIN; /* the outermost frame is on another stack */
    }
    if (!same && space->buffer == NULL) {
        space->buffer = malloc(STACK_BYTES_MAX);
        CHECK(space->buffer != NULL);
    }
    space->start = start;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the same address as in the program
    space->bytes = same ? (uint8_t *)(uintptr_t)start : space->buffer;
    space->end = start + space->read(space->ctx, start, space->bytes, (size_t)(end - start));
}

bool space_door(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    const struct space *space = ctx;
    if (address >= space->start && address < space->end && space->end - address >= size) {
        memcpy(ret_bytes, space->bytes + (address - space->start), size);
        return true;
    }
    return space->read(space->ctx, address, ret_bytes, size) == size;
}

uint64_t space_region(const struct space *space, uint64_t address)
{
    for (uint32_t i = 0; i < space->maps.count; i++) {
        const struct sonde__host_map *map = &space->maps.items[i];
        /* the first mapping that ends above it; a stack grows downwards into what is not mapped */
        bool grows = strcmp(map->path, "[stack]") == 0 && map->start - address < 8 << 20;
        if (address < map->end && (address >= map->start || grows)) {
            return map->end;
        }
    }
    return 1;
}

void space_done(struct space *space)
{
    sonde__target_images_done(&space->images);
    sonde__host_maps_done(&space->maps);
    if (space->same_end != 0) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): as reserved
        (void)munmap((void *)(uintptr_t)space->same_start, STACK_BYTES_MAX);
    }
    free(space->buffer);
    free(space->bare);
}
