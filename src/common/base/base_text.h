// SPDX-License-Identifier: Apache-2.0
/* A text formatter without stdio: appends to the caller's buffer, keeps it NUL-terminated, and cuts
 * text that does not fit. Context: handler. */
#ifndef SONDE_BASE_TEXT_H
#define SONDE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base_mem.h"

struct sonde__text {
    char *data;
    size_t capacity; /* bytes, including the NUL; >= 1 */
    size_t length;   /* bytes, without the NUL */
    bool cut;        /* something did not fit */
};

void sonde__base_text_init(struct sonde__text *text, char *data, size_t capacity);
void sonde__base_text_char(struct sonde__text *text, char c);
void sonde__base_text_str(struct sonde__text *text, const char *s);
void sonde__base_text_bytes(struct sonde__text *text, const char *s, size_t size);
void sonde__base_text_dec(struct sonde__text *text, uint64_t value);
/* Remove an incomplete UTF-8 sequence from the end, as a cut leaves it. */
void sonde__base_text_end_whole(struct sonde__text *text);
/* lower-case hexadecimal without prefix, at least `digits_min` digits (0: as many as needed) */
void sonde__base_text_hex(struct sonde__text *text, uint64_t value, unsigned digits_min);

static inline bool sonde__base_starts_with(const char *text, const char *prefix)
{
    while (*prefix != '\0' && *text == *prefix) {
        text++;
        prefix++;
    }
    return *prefix == '\0';
}

static inline bool sonde__base_is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sonde__base_str_compare(text, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The value of a lower-case hexadecimal digit; 16: invalid. */
static inline unsigned sonde__base_hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                  : 16;
}

/* The part of a path after its last slash; "" if the path ends with it. */
const char *sonde__base_file_name(const char *path);

/* The plural ending of a noun: "1 call", "2 calls". */
static inline const char *sonde__base_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
