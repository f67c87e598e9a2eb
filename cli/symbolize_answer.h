// SPDX-License-Identifier: Apache-2.0
/* What an address is: its image, and the names there. */
#ifndef SONDE_SYMBOLIZE_ANSWER_H
#define SONDE_SYMBOLIZE_ANSWER_H

#include "host_maps.h"
#include "symbol_answer.h"
#include "symbolize_images.h"
#include "symbolize_scan.h"

struct symbolize_answer {
    struct symbolize_image *image; /* null: unknown */
    uint64_t vaddr;                /* without a image: the address */
    /* .tails: between the previous frame and this one; images are numbers of images
     * (symbolize_images.h). The function of code that a runtime made has the source JIT. */
    struct sonde__answer names;
};

/* Is anything known? */
static inline bool symbolize_is_named(const struct symbolize_answer *answer)
{
    return answer->names.count != 0 || answer->names.function.source == SONDE__NAME_JIT;
}

/* The names at a vaddr of a image. */
void symbolize_find_names(struct symbolize_image *image, uint64_t vaddr,
                          struct sonde__answer *ret_names);
/* maps: of the process, for plain addresses; may be empty. returns: all places are return
 * addresses. */
void symbolize_ask(struct symbolize_images *images, const struct sonde__host_maps *maps,
                   bool returns, const struct symbolize_place *place,
                   struct symbolize_answer *ret_answer);

#endif
