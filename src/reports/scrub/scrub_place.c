// SPDX-License-Identifier: Apache-2.0
#include "scrub_parts.h"

bool scrub_follows(const struct scrub_place *place, size_t offset, const char *what, bool any_case)
{
    for (size_t i = 0; what[i] != '\0'; i++) {
        char c = scrub_byte(place, offset + i);
        c = any_case && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        if (c != what[i]) {
            return false;
        }
    }
    return true;
}

static bool is_one_of(char c, const char *list)
{
    while (*list != '\0' && *list != c) {
        list++;
    }
    return *list != '\0';
}

size_t scrub_run(const struct scrub_place *place, size_t offset, const char *ends)
{
    size_t size = 0;
    while (place->at + offset + size < place->size) {
        char c = place->text[place->at + offset + size];
        if ((unsigned char)c <= ' ' || is_one_of(c, ends)) {
            break;
        }
        size++;
    }
    return size;
}
