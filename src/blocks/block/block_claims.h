// SPDX-License-Identifier: Apache-2.0
/* Adds to lists of claims. For this folder only. */
#ifndef SONDE_BLOCK_CLAIMS_H
#define SONDE_BLOCK_CLAIMS_H

#include "block.h"

static inline void sonde__block_claim_add(struct sonde__block_claims *claims,
                                          const struct sonde__block_claim *claim)
{
    if (claims->count < claims->capacity) {
        claims->items[claims->count++] = *claim;
    } else {
        claims->lost++;
    }
}

#endif
