// SPDX-License-Identifier: Apache-2.0
/* Matchers, for the files of this folder. Each looks at one place of a text and, where it matches,
 * appends what replaces the match and returns how many bytes of the text that is; else 0. */
#ifndef SONDE_SCRUB_PARTS_H
#define SONDE_SCRUB_PARTS_H

#include "scrub.h"

struct scrub_place {
    const struct sonde__scrub_rules *rules;
    const char *text; /* the whole; not terminated */
    size_t size, at;
    bool is_method; /* has "-[" or "+[": colons of Objective-C's selectors are no values */
    struct sonde__text *out;
};

typedef size_t scrub_match(const struct scrub_place *place);

scrub_match scrub_own_text, scrub_home, scrub_user, scrub_login, scrub_secret, scrub_shape,
    scrub_query, scrub_ip, scrub_peer, scrub_arguments;

/* The byte so many places from here; 0 outside of the text. */
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

/* Does the text go on with `what`? Letters of any case, where what is in lower case. */
bool scrub_follows(const struct scrub_place *place, size_t offset, const char *what, bool any_case);
/* Bytes from offset on that are none of `ends` and no space. */
size_t scrub_run(const struct scrub_place *place, size_t offset, const char *ends);

#endif
