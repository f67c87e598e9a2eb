// SPDX-License-Identifier: Apache-2.0
/* The text of a perf map: tools/perf/Documentation/jit-interface.txt of Linux. */
#include <string.h>

#include "base_status.h"
#include "jit_names.h"

/* Parse a hexadecimal number and the blank after it. */
static bool number(const char **at, const char *end, uint64_t *ret_value)
{
    const char *p = *at;
    uint64_t value = 0;
    unsigned digits = 0;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
        p += 2;
    }
    for (; p < end; p++, digits++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                         : *p >= 'A' && *p <= 'F' ? (unsigned)(*p - 'A') + 10
                                                  : 16;
        if (digit == 16) {
            break;
        }
        if (value >> 60 != 0) {
            return false;
        }
        value = value << 4 | digit;
    }
    if (digits == 0 || p == end || (*p != ' ' && *p != '\t')) {
        return false;
    }
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    *at = p;
    *ret_value = value;
    return true;
}

enum sonde_status sonde__jit_add_map(struct sonde__jit *jit, const char *text, size_t size)
{
    const char *at = text;
    const char *end = text + size;
    const char *line_end;
    /* a last line without a newline may have an incomplete name */
    for (; size != 0 && (line_end = memchr(at, '\n', (size_t)(end - at))) != NULL;
         at = line_end + 1) {
        const char *p = at;
        const char *last = line_end > at && line_end[-1] == '\r' ? line_end - 1 : line_end;
        uint64_t start, bytes;
        if (!number(&p, last, &start) || !number(&p, last, &bytes) || start + bytes < start) {
            jit->bad += last != at;
            continue;
        }
        SONDE_TRY(sonde__jit_add(jit, start, start + bytes, p, (size_t)(last - p)));
        if (line_end + 1 == end) {
            break;
        }
    }
    return SONDE_OK;
}
