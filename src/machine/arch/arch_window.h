// SPDX-License-Identifier: Apache-2.0
/* Compares a window of small numbers with one number, without branches or dependent loads.
 * Context: handler. */
#ifndef SONDE_ARCH_WINDOW_H
#define SONDE_ARCH_WINDOW_H

#include <stdint.h>
#include <string.h>

#define SONDE__ARCH_WINDOW 16u

#if defined(__SSE2__)
#    include <emmintrin.h>

/* Bit i: at[i] > key, for the SONDE__ARCH_WINDOW numbers from `at` on. */
static inline uint32_t sonde__arch_window_greater(const int16_t *at, int16_t key)
{
    const __m128i keys = _mm_set1_epi16(key);
    __m128i a, b;
    memcpy(&a, at, sizeof a);
    memcpy(&b, at + 8, sizeof b);
    a = _mm_packs_epi16(_mm_cmpgt_epi16(a, keys), _mm_cmpgt_epi16(b, keys));
    return (uint32_t)_mm_movemask_epi8(a);
}
#else
typedef int16_t sonde__arch_lanes __attribute__((vector_size(16)));

static inline uint32_t sonde__arch_window_greater(const int16_t *at, int16_t key)
{
    const sonde__arch_lanes keys = {key, key, key, key, key, key, key, key};
    const sonde__arch_lanes low = {1, 2, 4, 8, 16, 32, 64, 128};
    uint32_t mask = 0;
    for (unsigned i = 0; i < SONDE__ARCH_WINDOW; i += 16) {
        sonde__arch_lanes a, b;
        uint64_t halves[2];
        memcpy(&a, at + i, sizeof a);
        memcpy(&b, at + i + 8, sizeof b);
        a = ((a > keys) & low) | ((b > keys) & (low << 8));
        memcpy(halves, &a, sizeof halves);
        halves[0] |= halves[1];
        halves[0] |= halves[0] >> 32;
        halves[0] |= halves[0] >> 16;
        mask |= (uint32_t)(halves[0] & 0xffff) << i;
    }
    return mask;
}
#endif

#endif
