// SPDX-License-Identifier: Apache-2.0
/* Search memory for words that equal one of a few values, with the vector registers of this
 * machine. Context: any thread; not handler (vector registers). */
#ifndef SONDE_HOST_WORDS_H
#define SONDE_HOST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values per search: as many as cost no more than one. */
#define SONDE__HOST_NEEDLES_MAX 4u

enum sonde__host_words_way {
    SONDE__HOST_WORDS_BEST, /* that the machine has */
    SONDE__HOST_WORDS_SCALAR,
    SONDE__HOST_WORDS_VECTOR, /* AVX2, NEON; scalar where there is neither */
};

/* words         8-byte aligned memory of `count` words; may be any memory that can be read, also
 *               what another thread writes meanwhile
 * needles       `needle_count` values, 1 to SONDE__HOST_NEEDLES_MAX
 * ret_hits      positions, rising
 * ret_done      how many words were looked at: less than `count` when `capacity` hits were found
 * Returns the number of hits. */
size_t sonde__host_words_find(enum sonde__host_words_way way, const uint64_t *words, size_t count,
                              const uint64_t *needles, unsigned needle_count, uint32_t *ret_hits,
                              size_t capacity, size_t *ret_done);

/* Only read the memory, in the same way: the bound that the search is measured against. */
uint64_t sonde__host_words_read(enum sonde__host_words_way way, const uint64_t *words,
                                size_t count);

#endif
