// SPDX-License-Identifier: Apache-2.0
/* Words of conditions: what the arguments of well-known functions are called, and constants of the
 * system's headers. Context: any thread. */
#ifndef SONDE_AUDIT_WORDS_H
#define SONDE_AUDIT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__audit_type { SONDE__AUDIT_INT, SONDE__AUDIT_LONG, SONDE__AUDIT_TEXT };

struct sonde__audit_argument {
    uint32_t index; /* from 0 */
    enum sonde__audit_type type;
};

/* "arg1" is an int, "arg1.long" the whole register, "arg1.text" the text there; "flags", "name" and
 * others by the function's name. False: the function has no argument of this name. */
bool sonde__audit_word(const char *function, const char *word, size_t size,
                       struct sonde__audit_argument *ret_argument);

/* Are there words of its own? */
bool sonde__audit_has_words(const char *function);

/* "O_RDONLY" */
bool sonde__audit_constant(const char *word, size_t size, uint64_t *ret_value);

#endif
