// SPDX-License-Identifier: Apache-2.0
/* Turns a memory map into the images of an address space, for processes and cores.
 *
 * An image's call frame information comes from its file if that has the build-id of the mapped
 * memory. Otherwise (deleted, replaced, the vdso, no file) it comes from a copy of the memory.
 * So an upgrade of a package under a running program never gives rules of other code. */
#ifndef SONDE_TARGET_IMAGES_H
#define SONDE_TARGET_IMAGES_H

#include <stdatomic.h>

#include "host_file.h"
#include "host_maps.h"
#include "image_elf.h"
#include "image_set.h"

/* A map with unknown protection (from a core's note of mapped files): the program headers of its
 * file say whether it holds code. */
#define SONDE__MAP_UNKNOWN 0x100u

struct sonde__target_source {
    size_t (*read)(void *ctx, uint64_t address, void *ret_bytes, size_t size);
    void *ctx;
    const char *root;         /* prefix of paths, or "" */
    const char *main_path;    /* the main program's path in the map, or null */
    uint64_t main_address;    /* or an address inside of it; 0: unknown */
    const char *main_instead; /* open this file for the main program, not below root; or null */
    bool trust_path;          /* a file is right unless something contradicts it (cores) */
    int32_t live_pid;         /* of a process, which still has files whose paths are gone; or 0 */
    unsigned arch;
};

/* The resources of one image, parallel to set.images. */
struct sonde__target_loaded {
    char *path;
    char *file_path; /* the file opened instead of path, or null */
    uint64_t start, device, inode;
    struct sonde__host_file file; /* mapped, or empty */
    uint8_t *memory;              /* copy of the image's memory, or null */
    size_t memory_size;
    struct sonde__elf elf; /* of the file or of the copy */
    bool readable;         /* elf is valid */
    uint64_t hits;         /* frames in this image */
    bool compiled;         /* compilation was tried */
    void *rules_memory;
    size_t rules_size;
};

/* Unloaded images that a frozen target (target_frozen.h) may still use. */
struct sonde__target_retired {
    _Atomic uint32_t users; /* open frozen targets */
    struct sonde__target_loaded *loaded;
    uint32_t count;
    size_t capacity;
};

struct sonde__target_images {
    struct sonde__image_set set;
    struct sonde__target_retired *retired; /* null: never frozen */
    struct sonde__image *images;
    struct sonde__image_range *ranges;
    struct sonde__target_loaded *loaded;
    size_t image_capacity, range_capacity;
    uint32_t image_count, range_count;
    bool instead_used; /* main_instead was opened as the main program's file */
};

/* Replace *images by those of `maps`. Unchanged images are kept, not read again.
 * Returns OK | MEMORY; on failure *images is as before. */
SONDE_NODISCARD enum sonde_status
sonde__target_images_build(struct sonde__target_images *images, const struct sonde__host_maps *maps,
                           const struct sonde__target_source *from);
void sonde__target_images_done(struct sonde__target_images *images);
/* Replace *images by *made, which has nothing retired. What a frozen target may still use is
 * retired. Ownership: takes what *made holds. */
void sonde__target_images_replace(struct sonde__target_images *images,
                                  const struct sonde__target_images *made);

/* Add a user: what the images point to stays until it decrements `users`. Null: no memory. */
struct sonde__target_retired *sonde__target_images_share(struct sonde__target_images *images);

/* Count the frames of a stack by image. Images with many get a compiled table. */
void sonde__target_images_hit(struct sonde__target_images *images, const uint64_t *pcs,
                              uint32_t count);

#endif
