// SPDX-License-Identifier: Apache-2.0
/* Radix sort of candidates: linear, stable, no comparison calls. */
#include <string.h>

#include "symbol_layout.h"

void symbol_sort_prepare(struct symbol_digits *digits, uint32_t start_max)
{
    unsigned bits = start_max != 0 ? 32 - (unsigned)__builtin_clz(start_max) : 1;
    digits->passes = (bits + SYMBOL_DIGIT_BITS_MAX - 1) / SYMBOL_DIGIT_BITS_MAX;
    digits->bits = (bits + digits->passes - 1) / digits->passes;
    for (unsigned pass = 0; pass < SYMBOL_PASSES_MAX; pass++) {
        memset(digits->counts[pass], 0, sizeof digits->counts[pass][0] << digits->bits);
    }
}

symbol_key *symbol_sort(symbol_key *keys, symbol_key *scratch, uint32_t count,
                        struct symbol_digits *digits)
{
    symbol_key *from = keys, *to = scratch;
    uint32_t mask = (1u << digits->bits) - 1;
    for (unsigned pass = 0; pass < digits->passes; pass++) {
        uint32_t *places = digits->counts[pass], place = 0;
        unsigned shift = 32 + pass * digits->bits;
        symbol_key *sorted = to;
        for (uint32_t digit = 0; digit <= mask; digit++) {
            uint32_t here = places[digit];
            places[digit] = place;
            place += here;
        }
        for (uint32_t i = 0; i < count; i++) {
            to[places[from[i] >> shift & mask]++] = from[i];
        }
        to = from;
        from = sorted;
    }
    return from;
}
