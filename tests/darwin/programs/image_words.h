// SPDX-License-Identifier: Apache-2.0
/* All words of an image in memory, and the protection of its pages: what changed, and where. */
#ifndef SONDE_DARWIN_IMAGE_WORDS_H
#define SONDE_DARWIN_IMAGE_WORDS_H

#include <stdint.h>

struct image_words {
    uint64_t start;
    uint64_t *values;
    int *protections; /* of each page */
    unsigned count, page_count;
};

/* Copy those of the image that has the address; what was copied before is replaced. */
void image_words_copy(struct image_words *words, const void *in_image);

enum { IMAGE_WORDS_CHANGED_MAX = 64 };
/* Where they differ; returns how many words do. */
unsigned image_words_changed(const struct image_words *a, const struct image_words *b,
                             const uint64_t *ret_at[IMAGE_WORDS_CHANGED_MAX]);

/* Of the page at this address; -1: none is there. */
int image_words_protection(uint64_t address);

/* Have all pages the same protection? */
int image_words_protected_alike(const struct image_words *a, const struct image_words *b);

#endif
