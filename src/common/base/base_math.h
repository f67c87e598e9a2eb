// SPDX-License-Identifier: Apache-2.0
/* Arithmetic on unsigned numbers. Context: handler. */
#ifndef SONDE_BASE_MATH_H
#define SONDE_BASE_MATH_H

#include <stdint.h>

static inline uint64_t sonde__base_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t sonde__base_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* a - b, but not below 0. */
static inline uint64_t sonde__base_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

#endif
