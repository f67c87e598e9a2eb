// SPDX-License-Identifier: Apache-2.0
/* The images of this process: main program, shared libraries, vdso.
 *
 * A pc has no meaning without its image. (build-id, pc - bias) means the same in every process,
 * also after it has ended. */
#ifndef SONDE_IMAGE_H
#define SONDE_IMAGE_H

#include <stdint.h>

#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_IMAGE_MAIN 1u /* the main program */
#define SONDE_IMAGE_VDSO 2u /* the kernel's */

#define SONDE_BUILD_ID_MAX 32

struct sonde_image {
    const char *path;      /* as the loader has it, "[vdso]", or "" if unknown */
    uint64_t start;        /* lowest mapped address */
    uint64_t end;          /* one past the highest */
    uint64_t bias;         /* address - vaddr (address in the file's own coordinates) */
    uint32_t flags;        /* SONDE_IMAGE_ bits */
    uint8_t build_id_size; /* bytes; 0: it has none */
    uint8_t build_id[SONDE_BUILD_ID_MAX];
};

/* Called once for each image; return 0 to continue, anything else to end. The image and its path
 * are valid during the call. */
typedef int (*sonde_image_each)(void *ctx, const struct sonde_image *image);

/* Enumerate the images, the main program first.
 *
 * Returns    OK | MEMORY
 * Context    any thread; not handler      Blocks  on the loader's lock, shortly; not during `each`
 * Ownership  nothing is transferred; an image may be unloaded during `each`, its data stays valid
 * Example    examples/images.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_images_each(sonde_image_each each, void *ctx);

/* Find the image whose code holds `pc`; `each` is called once with it.
 *
 * pc  an address to look up; for a frame use sonde_stack_lookup_pc()
 *
 * Returns    OK | ABSENT (no image has code there; `each` was not called) | MEMORY
 * Context    any thread; not handler      Blocks  on the loader's lock, shortly; not during `each`
 * Ownership  nothing is transferred
 * Example    examples/images.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_image_find(uint64_t pc, sonde_image_each each,
                                                             void *ctx);

/* Is the code at `pc` app code: in the main program, or in a library outside the distribution's
 * library folders (/lib*, /usr/lib*)? This is the rule of --app-only; sonde_image_set_app() makes
 * exceptions.
 *
 * pc  an address to look up; for a frame use sonde_stack_lookup_pc()
 *
 * Returns    1 | 0 (the system's, the kernel's, or no image's)
 * Context    any thread; not handler      Blocks  on the loader's lock, shortly
 * Ownership  nothing is transferred
 * Example    examples/images.c */
SONDE_API int sonde_image_is_app(uint64_t pc);

/* Add an exception: images whose paths begin with `path_prefix` are app code, or are not. Of
 * several rules that match, the longest prefix wins; of equal prefixes, the last one.
 *
 * path_prefix  absolute ("/opt/vendor/"), at most 255 bytes; copied
 * is_app       1: the program's own; 0: the system's
 *
 * Returns    OK | USAGE | LIMIT (32 rules were made)
 * Context    any thread, one at a time; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/images.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_image_set_app(const char *path_prefix,
                                                                int is_app);

#ifdef __cplusplus
}
#endif

#endif
