// SPDX-License-Identifier: Apache-2.0
/* Context: handler. */
#ifndef SONDE_BASE_BASE_UTF8_H
#define SONDE_BASE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Write a character, at most four bytes. Returns their number. */
static inline size_t sonde__base_put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    for (size_t i = more; i > 0; i--, c >>= 6) {
        to[i] = (char)(0x80 | (c & 0x3f));
    }
    to[0] = (char)((0xf00u >> (more + 1) & 0xff) | c); /* a high bit for each byte */
    return more + 1;
}

#endif
