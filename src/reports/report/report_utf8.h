// SPDX-License-Identifier: Apache-2.0
/* Make text from outside valid UTF-8 (RFC 3629), which protobuf strings and JSON require and file
 * and thread names may violate. Each byte outside a valid sequence becomes U+FFFD. NUL counts as
 * invalid, so the result is a C string. Context: handler. */
#ifndef SONDE_REPORT_UTF8_H
#define SONDE_REPORT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the sequence at `text`, 1..4; 0: none is valid. size >= 1. */
unsigned sonde__report_utf8_sequence(const void *text, size_t size);
bool sonde__report_utf8_valid(const void *text, size_t size);

/* Size of the valid form of `text` without NUL, at most `max` (>= 3). *ret_cut: it was shortened
 * and ends in "...". */
size_t sonde__report_utf8_length(const void *text, size_t size, size_t max, bool *ret_cut);
/* Write that form and a NUL; `length` and `cut` are results of the function above. */
void sonde__report_utf8_copy(char *to, size_t length, const void *text, size_t size, bool cut);

#endif
