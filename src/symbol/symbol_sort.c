// SPDX-License-Identifier: Apache-2.0
/* Least-significant-digit radix sort of candidates: linear, stable, no comparison calls. */
#include <string.h>

#include "symbol_layout.h"

/* 11 bits: 2048 counters of 4 bytes fit the first-level cache beside the data; code of up to 4 MiB
 * takes two passes and of 8 GiB three. */
#define DIGIT_BITS  11u
#define DIGIT_COUNT (1u << DIGIT_BITS)

static void sort_digit(const struct symbol_item *from, struct symbol_item *to, uint32_t count,
                       unsigned shift)
{
    uint32_t places[DIGIT_COUNT] = {0};
    uint32_t place = 0;
    for (uint32_t i = 0; i < count; i++) {
        places[from[i].start >> shift & (DIGIT_COUNT - 1)]++;
    }
    for (uint32_t i = 0; i < DIGIT_COUNT; i++) {
        uint32_t here = places[i];
        places[i] = place;
        place += here;
    }
    for (uint32_t i = 0; i < count; i++) {
        to[places[from[i].start >> shift & (DIGIT_COUNT - 1)]++] = from[i];
    }
}

void symbol_sort(struct symbol_item *items, struct symbol_item *scratch, uint32_t count,
                 uint32_t start_max)
{
    struct symbol_item *from = items, *to = scratch;
    for (unsigned shift = 0; shift < 32 && (start_max >> shift) != 0; shift += DIGIT_BITS) {
        struct symbol_item *sorted = to;
        sort_digit(from, to, count, shift);
        to = from;
        from = sorted;
    }
    if (from != items && count != 0) {
        memcpy(items, from, (size_t)count * sizeof *items);
    }
}
