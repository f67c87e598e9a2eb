// SPDX-License-Identifier: Apache-2.0
/* Values of the keys of a rules file. Each is a part of a value that the INI reader has read;
 * `ret_at` is the byte of it that is wrong. */
#ifndef SONDE_RULES_VALUES_H
#define SONDE_RULES_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cut off the next element of a list, at a comma outside of ( ) [ ] and < >, without the blanks
 * around it. *at: where to begin; it is moved behind the comma. False: the list ends. */
bool sonde__rules_next(const char *list, size_t *at, size_t *ret_begin, size_t *ret_size);

/* All return null, or what was expected. */
const char *sonde__rules_severity(const char *text, uint32_t *ret_severity);
const char *sonde__rules_limit(const char *text, uint64_t *ret_count, uint64_t *ret_ns);
/* An element with a comma inside of brackets, of which one does not end. */
const char *sonde__rules_unbalanced(const char *text, size_t *ret_at);
/* "name:2" -> 2, and cuts it off. */
const char *sonde__rules_argument(char *text, size_t *ret_at, uint32_t *ret_argument);
/* "!module:GLOB" */
const char *sonde__rules_pattern(const char *text, size_t *ret_at, bool *ret_is_symbol,
                                 bool *ret_is_not, const char **ret_glob);

#endif
