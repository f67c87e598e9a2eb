// SPDX-License-Identifier: Apache-2.0
/* Read the result of a reader, so that a sanitizer detects bytes that are not there. */
#ifndef SONDE_FUZZ_READ_H
#define SONDE_FUZZ_READ_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_READ_MAX = 1000 }; /* length of text to read: further text may belong to others */

static inline void fuzz_read_string(const char *s)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < FUZZ_READ_MAX && s[i] != '\0'; i++) {
        sum += (uint8_t)s[i];
    }
    __asm__ volatile("" : : "r"(sum));
}

static inline void fuzz_read_bytes(const uint8_t *data, uint64_t size)
{
    if (data != NULL && size != 0) {
        __asm__ volatile("" : : "r"(data[0] + data[size - 1]));
    }
}

#endif
