// SPDX-License-Identifier: Apache-2.0
#include "base_text.h"

void sonde__base_text_init(struct sonde__text *text, char *data, size_t capacity)
{
    text->data = data;
    text->capacity = capacity;
    text->length = 0;
    text->cut = false;
    data[0] = '\0';
}

void sonde__base_text_char(struct sonde__text *text, char c)
{
    if (text->length + 1 >= text->capacity) {
        text->cut = true;
        return;
    }
    text->data[text->length++] = c;
    text->data[text->length] = '\0';
}

void sonde__base_text_str(struct sonde__text *text, const char *s)
{
    for (; *s != '\0'; s++) {
        sonde__base_text_char(text, *s);
    }
}

void sonde__base_text_bytes(struct sonde__text *text, const char *s, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        sonde__base_text_char(text, s[i]);
    }
}

void sonde__base_text_dec(struct sonde__text *text, uint64_t value)
{
    char digits[20];
    unsigned n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (n > 0) {
        sonde__base_text_char(text, digits[--n]);
    }
}

void sonde__base_text_hex(struct sonde__text *text, uint64_t value, unsigned digits_min)
{
    char digits[16];
    unsigned n = 0;
    do {
        digits[n++] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    while (n < digits_min && n < sizeof digits) {
        digits[n++] = '0';
    }
    while (n > 0) {
        sonde__base_text_char(text, digits[--n]);
    }
}

const char *sonde__base_file_name(const char *path)
{
    const char *name = path;
    while (*name != '\0') {
        name++;
    }
    while (name != path && name[-1] != '/') {
        name--;
    }
    return name;
}

void sonde__base_text_end_whole(struct sonde__text *text)
{
    enum { FOLLOWERS_MAX = 3 };
    size_t followers = 0, at = text->length;
    while (at > 0 && followers < FOLLOWERS_MAX && ((uint8_t)text->data[at - 1] & 0xc0) == 0x80) {
        at--;
        followers++;
    }
    uint8_t lead = at > 0 ? (uint8_t)text->data[at - 1] : 0;
    size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (followers < wanted) {
        text->length = at - 1;
        text->data[text->length] = '\0';
    }
}
