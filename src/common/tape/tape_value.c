// SPDX-License-Identifier: Apache-2.0
#include "tape.h"

#include <string.h>

static const struct sonde__tape_value none = {0, 0, 0, SONDE__TAPE_NULL};

static const struct sonde__tape_value *value_at(const struct sonde__tape *tape, uint32_t at)
{
    return at < tape->count ? &tape->values[at] : &none;
}

enum sonde__tape_kind sonde__tape_kind(const struct sonde__tape *tape, uint32_t at)
{
    return (enum sonde__tape_kind)value_at(tape, at)->kind;
}

/* --- walking --- */

static bool is_text(const struct sonde__tape *tape, uint32_t at, const char *text, size_t size)
{
    const struct sonde__tape_value *value = value_at(tape, at);
    return value->kind == SONDE__TAPE_STRING && value->end - value->begin == size &&
           memcmp(tape->text + value->begin, text, size) == 0;
}

static uint32_t member(const struct sonde__tape *tape, uint32_t object, const char *name,
                       size_t size)
{
    const struct sonde__tape_value *value = value_at(tape, object);
    if (value->kind != SONDE__TAPE_OBJECT) {
        return SONDE__TAPE_NONE;
    }
    for (uint32_t key = object + 1; key < value->next; key = tape->values[key + 1].next) {
        if (is_text(tape, key, name, size)) {
            return key + 1;
        }
    }
    return SONDE__TAPE_NONE;
}

uint32_t sonde__tape_get(const struct sonde__tape *tape, uint32_t object, const char *path)
{
    for (;;) {
        size_t size = strcspn(path, ".");
        object = member(tape, object, path, size);
        if (object == SONDE__TAPE_NONE || path[size] == '\0') {
            return object;
        }
        path += size + 1;
    }
}

uint32_t sonde__tape_first(const struct sonde__tape *tape, uint32_t in)
{
    const struct sonde__tape_value *value = value_at(tape, in);
    bool is_object = value->kind == SONDE__TAPE_OBJECT;
    bool has_any = (is_object || value->kind == SONDE__TAPE_ARRAY) && value->next > in + 1;
    return has_any ? in + 1 + is_object : SONDE__TAPE_NONE;
}

uint32_t sonde__tape_next(const struct sonde__tape *tape, uint32_t in, uint32_t at)
{
    const struct sonde__tape_value *value = value_at(tape, in);
    uint32_t next = value_at(tape, at)->next;
    return next != 0 && next < value->next ? next + (value->kind == SONDE__TAPE_OBJECT)
                                           : SONDE__TAPE_NONE;
}

uint32_t sonde__tape_count(const struct sonde__tape *tape, uint32_t in)
{
    uint32_t count = 0;
    SONDE__TAPE_EACH(at, tape, in)
    {
        count++;
    }
    return count;
}

uint32_t sonde__tape_key(uint32_t at)
{
    return at != SONDE__TAPE_NONE ? at - 1 : at;
}

/* --- strings --- */

static unsigned hex4(const char *at)
{
    unsigned value = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned c = (unsigned char)at[i];
        value = value << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

/* Decode "\u1234", or a pair of them; *at is behind the backslash, and moves behind it all. */
static uint32_t read_code(const char **at, const char *end)
{
    uint32_t code = hex4(*at + 1);
    *at += 5;
    bool is_high = code >= 0xd800 && code < 0xdc00;
    if (is_high && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        uint32_t low = hex4(*at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            *at += 6;
            return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
}

static size_t put_code(uint32_t code, char to[4])
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(code | (0xf00u >> size & 0xffu));
    return size;
}

/* The next character of a string, decoded; returns its size. */
static size_t next_character(const char **at, const char *end, char to[4])
{
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    if (**at != '\\') {
        to[0] = *(*at)++;
        return 1;
    }
    (*at)++;
    if (**at == 'u') {
        return put_code(read_code(at, end), to);
    }
    const char *letter = strchr(letters, **at);
    to[0] = letter != NULL ? meanings[letter - letters] : **at;
    (*at)++;
    return 1;
}

bool sonde__tape_string(const struct sonde__tape *tape, uint32_t at, char *ret_text, size_t size)
{
    const struct sonde__tape_value *value = value_at(tape, at);
    if (value->kind != SONDE__TAPE_STRING) {
        return false;
    }
    const char *next = tape->text + value->begin, *end = tape->text + value->end;
    size_t used = 0;
    char character[4];
    while (next < end) {
        size_t length = next_character(&next, end, character);
        if (used + length >= size || character[0] == '\0') {
            break;
        }
        memcpy(ret_text + used, character, length);
        used += length;
    }
    ret_text[used] = '\0';
    return true;
}

bool sonde__tape_is(const struct sonde__tape *tape, uint32_t at, const char *text)
{
    return is_text(tape, at, text, strlen(text));
}

/* --- numbers --- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : 16;
}

/* All of it, and nothing else. */
static bool parse_uint(const char *at, const char *end, unsigned base, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (at == end) {
        return false;
    }
    for (; at < end; at++) {
        unsigned digit = (unsigned)digit_of(*at);
        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *ret_value = value;
    return true;
}

bool sonde__tape_uint(const struct sonde__tape *tape, uint32_t at, uint64_t *ret_value)
{
    const struct sonde__tape_value *value = value_at(tape, at);
    if (value->kind != SONDE__TAPE_NUMBER && value->kind != SONDE__TAPE_STRING) {
        return false;
    }
    const char *begin = tape->text + value->begin, *end = tape->text + value->end;
    bool is_hex = value->kind == SONDE__TAPE_STRING && end - begin > 2 && begin[0] == '0' &&
                  (begin[1] | 0x20) == 'x';
    return parse_uint(begin + (is_hex ? 2 : 0), end, is_hex ? 16 : 10, ret_value);
}

/* What comes behind the point, times scale. */
static uint64_t fraction(const char *at, const char *end, uint64_t scale)
{
    uint64_t value = 0;
    for (; at < end && *at >= '0' && *at <= '9' && scale >= 10; at++) {
        scale /= 10;
        value += (uint64_t)(*at - '0') * scale;
    }
    return value;
}

/* Exponents are only in numbers that are no times: refused. */
bool sonde__tape_scaled(const struct sonde__tape *tape, uint32_t at, uint64_t scale,
                        uint64_t *ret_value)
{
    const struct sonde__tape_value *value = value_at(tape, at);
    uint64_t whole;
    if (value->kind != SONDE__TAPE_NUMBER) {
        return false;
    }
    const char *begin = tape->text + value->begin, *end = tape->text + value->end;
    const char *point = memchr(begin, '.', (size_t)(end - begin));
    const char *whole_end = point != NULL ? point : end;
    if (!parse_uint(begin, whole_end, 10, &whole) || whole > UINT64_MAX / scale - 1) {
        return false;
    }
    for (const char *c = begin; c < end; c++) {
        if (*c == 'e' || *c == 'E') {
            return false;
        }
    }
    *ret_value = whole * scale + (point != NULL ? fraction(point + 1, end, scale) : 0);
    return true;
}

bool sonde__tape_true(const struct sonde__tape *tape, uint32_t at)
{
    return value_at(tape, at)->kind == SONDE__TAPE_TRUE;
}
