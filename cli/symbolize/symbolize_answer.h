// SPDX-License-Identifier: Apache-2.0
/* Finds the image and the names of an address. */
#ifndef SONDE_SYMBOLIZE_ANSWER_H
#define SONDE_SYMBOLIZE_ANSWER_H

#include "host_maps.h"
#include "symbol_answer.h"
#include "symbolize_images.h"
#include "symbolize_scan.h"

struct symbolize_answer {
    struct symbolize_image *image; /* null: unknown */
    uint64_t vaddr;                /* without an image: the address */
    /* .tails: between the previous frame and this one; its image ids are symbolize_image_number()s.
     * A function of JIT code has the source JIT. */
    struct sonde__answer names;
};

/* Is anything known? */
static inline bool symbolize_is_named(const struct symbolize_answer *answer)
{
    return answer->names.count != 0 || answer->names.function.source == SONDE__NAME_JIT;
}

/* Look up the names at an image's vaddr. */
void symbolize_find_names(struct symbolize_image *image, uint64_t vaddr,
                          struct sonde__answer *ret_names);
/* maps: of the process, for plain addresses; may be empty. returns: all addresses are return
 * addresses. */
void symbolize_ask(struct symbolize_images *images, const struct sonde__host_maps *maps,
                   bool returns, const struct symbolize_place *place,
                   struct symbolize_answer *ret_answer);

#endif
