// SPDX-License-Identifier: Apache-2.0
/* Searches memory for words that equal one of a few values, with vector registers. Context: any
 * thread; not handler (vector registers). */
#ifndef SONDE_HOST_WORDS_H
#define SONDE_HOST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values per search: up to this number, more values cost nothing. */
#define SONDE__HOST_NEEDLES_MAX 4u

enum sonde__host_words_way {
    SONDE__HOST_WORDS_BEST, /* the best of this machine */
    SONDE__HOST_WORDS_SCALAR,
    SONDE__HOST_WORDS_VECTOR, /* AVX2 or NEON; scalar if there is neither */
};

/* words         8-byte aligned memory of `count` words; any readable memory, even if another thread
 *               writes it meanwhile
 * needles       `needle_count` values, 1 to SONDE__HOST_NEEDLES_MAX
 * ret_hits      positions, ascending
 * ret_done      words searched: fewer than `count` if `capacity` hits were found
 * Returns the number of hits. */
size_t sonde__host_words_find(enum sonde__host_words_way way, const uint64_t *words, size_t count,
                              const uint64_t *needles, unsigned needle_count, uint32_t *ret_hits,
                              size_t capacity, size_t *ret_done);

/* Only read the memory, in the same way: the lower bound for the time of a search. */
uint64_t sonde__host_words_read(enum sonde__host_words_way way, const uint64_t *words,
                                size_t count);

#endif
