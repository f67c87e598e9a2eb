// SPDX-License-Identifier: Apache-2.0
#include "scrub.h"

#include "scrub_parts.h"

static const struct sonde__scrub_rules *used;

void sonde__scrub(const struct sonde__scrub_rules *rules, const char *text, size_t size,
                  struct sonde__text *ret_text)
{
    static scrub_match *const matches[] = {
        scrub_own_text, scrub_arguments, scrub_peer,  scrub_home,  scrub_user,
        scrub_login,    scrub_secret,    scrub_shape, scrub_query, scrub_ip};
    struct scrub_place place = {.rules = rules, .text = text, .size = size, .out = ret_text};
    for (size_t i = 0; i + 1 < size; i++) {
        place.is_method =
            place.is_method || ((text[i] == '-' || text[i] == '+') && text[i + 1] == '[');
    }
    while (place.at < size) {
        size_t taken = 0;
        for (size_t i = 0; i < sizeof matches / sizeof *matches && taken == 0; i++) {
            taken = matches[i](&place);
        }
        if (taken == 0) {
            sonde__base_text_char(ret_text, text[place.at]);
            taken = 1;
        }
        place.at += taken;
    }
}

void sonde__scrub_use(const struct sonde__scrub_rules *rules)
{
    used = rules;
}

const struct sonde__scrub_rules *sonde__scrub_used(void)
{
    static const struct sonde__scrub_rules defaults = {.on = SONDE__SCRUB_DEFAULT};
    return used != NULL ? used : &defaults;
}

const char *sonde__scrub_expand(const char *path, char *buffer, size_t capacity)
{
    struct sonde__text text;
    const char *home = sonde__scrub_used()->home;
    if (path[0] != '~' || path[1] != '/' || home[0] == '\0') {
        return path;
    }
    sonde__base_text_init(&text, buffer, capacity);
    sonde__base_text_str(&text, home);
    sonde__base_text_str(&text, path + 1);
    return text.cut ? path : buffer;
}
