// SPDX-License-Identifier: Apache-2.0
/* The matchers of this folder. Each tests one place of a text. On a match it appends the
 * replacement and returns the size of what it replaces; otherwise it returns 0. */
#ifndef SONDE_SCRUB_PARTS_H
#define SONDE_SCRUB_PARTS_H

#include "scrub.h"

struct scrub_place {
    const struct sonde__scrub_rules *rules;
    const char *text; /* the whole text, not terminated */
    size_t size, at;
    bool is_method; /* the text has "-[" or "+[": Objective-C selectors have colons before no
                     * value */
    struct sonde__text *out;
};

typedef size_t scrub_match(const struct scrub_place *place);

scrub_match scrub_own_text, scrub_home, scrub_user, scrub_login, scrub_secret, scrub_shape,
    scrub_query, scrub_ip, scrub_peer, scrub_arguments;

/* The byte at an offset from here; 0 outside the text. */
static inline char scrub_byte(const struct scrub_place *place, size_t offset)
{
    return place->at + offset < place->size ? place->text[place->at + offset] : '\0';
}

static inline char scrub_before(const struct scrub_place *place)
{
    return place->at > 0 ? place->text[place->at - 1] : '\0';
}

static inline bool scrub_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool scrub_is_word(char c)
{
    return scrub_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
}

/* Does the text continue with `what`? any_case: `what` is in lower case. */
bool scrub_follows(const struct scrub_place *place, size_t offset, const char *what, bool any_case);
/* Number of bytes from the offset up to a space or one of `ends`. */
size_t scrub_run(const struct scrub_place *place, size_t offset, const char *ends);

#endif
