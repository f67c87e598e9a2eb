// SPDX-License-Identifier: Apache-2.0
#include "report_utf8.h"

#include <stdint.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";
#define REPLACEMENT_BYTES 3u
#define DOTS_BYTES        3u

static bool is_tail(uint8_t byte, uint8_t low, uint8_t high)
{
    return byte >= low && byte <= high;
}

/* The table of RFC 3629 §4: no overlong forms, no surrogates, nothing over U+10FFFF. */
unsigned sonde__report_utf8_sequence(const void *text, size_t size)
{
    const uint8_t *p = text;
    uint8_t low = 0x80, high = 0xbf;
    unsigned length;
    if (p[0] < 0x80) {
        return p[0] != 0;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf) {
        length = 2;
    } else if (p[0] >= 0xe0 && p[0] <= 0xef) {
        length = 3;
        low = p[0] == 0xe0 ? 0xa0 : 0x80;
        high = p[0] == 0xed ? 0x9f : 0xbf;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        length = 4;
        low = p[0] == 0xf0 ? 0x90 : 0x80;
        high = p[0] == 0xf4 ? 0x8f : 0xbf;
    } else {
        return 0;
    }
    if (size < length || !is_tail(p[1], low, high)) {
        return 0;
    }
    for (unsigned i = 2; i < length; i++) {
        if (!is_tail(p[i], 0x80, 0xbf)) {
            return 0;
        }
    }
    return length;
}

bool sonde__report_utf8_valid(const void *text, size_t size)
{
    const uint8_t *p = text;
    for (size_t at = 0; at < size;) {
        unsigned step = sonde__report_utf8_sequence(p + at, size - at);
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

size_t sonde__report_utf8_length(const void *text, size_t size, size_t max, bool *ret_cut)
{
    const uint8_t *p = text;
    size_t length = 0, fits = 0; /* fits: the last length with room for the dots */
    *ret_cut = false;
    for (size_t at = 0; at < size;) {
        unsigned step = sonde__report_utf8_sequence(p + at, size - at);
        length += step == 0 ? REPLACEMENT_BYTES : step;
        at += step == 0 ? 1 : step;
        if (length <= max - DOTS_BYTES) {
            fits = length;
        } else if (length > max) {
            *ret_cut = true;
            return fits + DOTS_BYTES;
        }
    }
    return length;
}

void sonde__report_utf8_copy(char *to, size_t length, const void *text, size_t size, bool cut)
{
    const uint8_t *p = text;
    size_t end = cut ? length - DOTS_BYTES : length, out = 0;
    for (size_t at = 0; at < size && out < end;) {
        unsigned step = sonde__report_utf8_sequence(p + at, size - at);
        if (step == 0) {
            memcpy(to + out, replacement, REPLACEMENT_BYTES);
            out += REPLACEMENT_BYTES;
            at++;
        } else {
            memcpy(to + out, p + at, step);
            out += step;
            at += step;
        }
    }
    if (cut) {
        memcpy(to + out, "...", DOTS_BYTES);
        out += DOTS_BYTES;
    }
    to[out] = '\0';
}
