// SPDX-License-Identifier: Apache-2.0
/* Words of conditions: what the arguments of well-known functions are called, and constants of the
 * system's headers. Context: any thread. */
#ifndef SONDE_AUDIT_WORDS_H
#define SONDE_AUDIT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__audit_type {
    SONDE__AUDIT_INT,
    SONDE__AUDIT_LONG,
    SONDE__AUDIT_TEXT,
    SONDE__AUDIT_PATH,
    SONDE__AUDIT_ADDRESS, /* of a socket */
    SONDE__AUDIT_FAMILY,  /* the number is a part of an address */
    SONDE__AUDIT_PORT,
};

struct sonde__audit_argument {
    uint32_t index; /* from 0 */
    uint32_t other; /* of a path: of its folder; of an address: its size; NONE (when.h) */
    enum sonde__audit_type type;
    bool is_message; /* the address is that of a struct msghdr */
};

/* "arg1" is an int, "arg1.long" the whole register, "arg1.text" the text there, "arg1.path" the
 * path; "flags", "name" and others by the function's name. "path" is the function's file, "addr" an
 * address, "addr.family" and "addr.port" its parts; "arg" is argument `chosen` (from 1; 0: none) as
 * what it is known to be. False: the function has no argument of this name. */
bool sonde__audit_word(const char *function, uint32_t chosen, const char *word, size_t size,
                       struct sonde__audit_argument *ret_argument);

/* Are there words of its own? */
bool sonde__audit_has_words(const char *function);

/* "O_RDONLY" */
bool sonde__audit_constant(const char *word, size_t size, uint64_t *ret_value);

#endif
