// SPDX-License-Identifier: Apache-2.0
/* The reported captures of each live block of the corpus, against its helpers' actions and
 * corpus/truth.txt. */
#ifndef SONDE_TEST_BLOCKS_LIVE_H
#define SONDE_TEST_BLOCKS_LIVE_H

#include <stdbool.h>

#include "corpus/truth.h"

struct sonde__blockheap;

extern struct corpus_live {
    struct sonde__blockheap *heap; /* of this process; the caller's */
    bool inlined;                  /* inlined constructors may do nothing with the capture */
    unsigned right, wrong;         /* blocks */
} corpus_live;

/* A corpus_observer. Prints what is wrong. */
void corpus_live_check(const struct shown *shown);

#endif
