// SPDX-License-Identifier: Apache-2.0
/* Conditions of rules, as text, compiled for a function:
 *
 *   flags & O_ACCMODE == O_RDONLY && !(file ~ *.tmp || arg3 in (1, 0x10))
 *
 * Parts are joined by && and || (which binds less), grouped by parentheses, and negated by !. A
 * part is a word, "&" and a value if only these bits count, and one of: == != < <= > >= and a
 * value; "in" and values in parentheses, separated by commas; nothing: any of the bits is set. Or
 * it is a word of a text, ~ or !~ and a pattern. A value is a number or a constant, or several with
 * | between.
 *
 * A word of a path is compared by ~ and !~ with a pattern that begins with / or ~/ (the user's home
 * folder), where * and ? are no slash and ** is any characters; one of an address by ==, != and in
 * with addresses and networks: 192.0.2.0/24, 2001:db8::/32.
 *
 * Words are in audit_words.h. A test without comparison holds if the bits are not 0. A pattern ends
 * at a blank or a closing parenthesis; it is matched with the text as the program gives it (* and
 * ?). Context: any thread. */
#ifndef SONDE_AUDIT_WHEN_H
#define SONDE_AUDIT_WHEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "when.h"

/* What is in the tables of a `struct sonde__when` so far. */
struct sonde__audit_when {
    struct sonde__when *when;
    uint32_t text_used;
};

/* Compile for calls of a function. argument: which one "arg" is, from 1; 0: none. Returns null,
 * with *ret_node as an entry needs it; or what was expected at *ret_at of the text. */
const char *sonde__audit_when_compile(struct sonde__audit_when *to, const char *text,
                                      const char *function, uint32_t argument, uint16_t *ret_node,
                                      size_t *ret_at);

/* An argument's word as a keep (when.h). Returns false: it is not known of the function. */
bool sonde__audit_when_keep(const char *function, uint32_t argument, const char *word,
                            struct sonde__when_node *ret_keep);
/* Keep a text; *ret_at is where it is in the text. Returns false without room. */
bool sonde__audit_when_text(struct sonde__audit_when *to, const char *text, uint64_t *ret_at);

#endif
