// SPDX-License-Identifier: Apache-2.0
/* Least-significant-digit radix sort of candidates: linear, stable, no comparison calls.
 *
 * The digits are as narrow as the number of passes allows: code of 32 MiB takes three passes of
 * 9 bits, whose 512 places to write to stay in the first-level cache, where 2048 would not. */
#include <string.h>

#include "symbol_layout.h"

#define DIGIT_BITS_MAX 11u
#define PASSES_MAX     3u

struct symbol_item *symbol_sort(struct symbol_item *items, struct symbol_item *scratch,
                                uint32_t count, uint32_t start_max)
{
    uint32_t places[PASSES_MAX][1u << DIGIT_BITS_MAX];
    struct symbol_item *from = items, *to = scratch;
    unsigned bits = start_max != 0 ? 32 - (unsigned)__builtin_clz(start_max) : 1;
    unsigned passes = (bits + DIGIT_BITS_MAX - 1) / DIGIT_BITS_MAX;
    unsigned digit_bits = (bits + passes - 1) / passes;
    uint32_t digits = 1u << digit_bits, mask = digits - 1;
    for (unsigned pass = 0; pass < passes; pass++) {
        memset(places[pass], 0, digits * sizeof places[pass][0]);
    }
    for (uint32_t i = 0; i < count; i++) {
        for (unsigned pass = 0; pass < passes; pass++) {
            places[pass][from[i].start >> (pass * digit_bits) & mask]++;
        }
    }
    for (unsigned pass = 0; pass < passes; pass++) {
        struct symbol_item *sorted = to;
        uint32_t place = 0;
        for (uint32_t digit = 0; digit < digits; digit++) {
            uint32_t here = places[pass][digit];
            places[pass][digit] = place;
            place += here;
        }
        for (uint32_t i = 0; i < count; i++) {
            to[places[pass][from[i].start >> (pass * digit_bits) & mask]++] = from[i];
        }
        to = from;
        from = sorted;
    }
    return from;
}
