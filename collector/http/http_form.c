// SPDX-License-Identifier: Apache-2.0
/* Forms: "name=value&name=value", with "+" for a space and %XX (the URL standard, 5.1). */
#include <string.h>

#include "http.h"

/* -1: not a digit. */
static int digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)((at - digits) % 16) : -1;
}

/* Decode a part; a zero byte in it is refused. */
static bool decode(const char *text, size_t size, char *to, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i] == '+' ? ' ' : text[i];
        int high = c == '%' && i + 2 < size ? digit(text[i + 1]) : -1;
        int low = high >= 0 ? digit(text[i + 2]) : -1;
        if (low >= 0) {
            c = (char)((unsigned)high << 4 | (unsigned)low);
            i += 2;
        }
        if (c == '\0' || used + 1 >= room) {
            return false;
        }
        to[used++] = c;
    }
    to[used] = '\0';
    return true;
}

enum http_field http_field(const struct http_request *request, const char *name, char *ret_text,
                           size_t size)
{
    const char *at = request->body, *end = at != NULL ? at + request->size : NULL;
    char found[64];
    while (at != NULL && at < end) {
        const char *next = memchr(at, '&', (size_t)(end - at));
        const char *stop = next != NULL ? next : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        if (equals != NULL && decode(at, (size_t)(equals - at), found, sizeof found) &&
            strcmp(found, name) == 0) {
            return decode(equals + 1, (size_t)(stop - equals - 1), ret_text, size)
                       ? HTTP_FIELD_TEXT
                       : HTTP_FIELD_UNFIT;
        }
        at = stop + 1;
    }
    return HTTP_FIELD_NONE;
}
