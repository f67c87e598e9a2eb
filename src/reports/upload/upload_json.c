// SPDX-License-Identifier: Apache-2.0
#include "upload_json.h"

#include <string.h>

#include "base_bytes.h"
#include "base_text.h"

enum { DEPTH_MAX = 64, KEY_BYTES = 64, TEXT_BYTES = 256 };

struct reader {
    struct sonde__bytes in;
    unsigned depth;
    sonde__upload_json_text each;
    void *ctx;
    char key[KEY_BYTES]; /* of the outermost object */
};

static char peek(const struct reader *reader)
{
    return sonde__base_bytes_left(&reader->in) > 0 ? (char)*reader->in.at : '\0';
}

static void skip_space(struct reader *reader)
{
    while (sonde__base_bytes_left(&reader->in) > 0 && strchr(" \t\r\n", peek(reader)) != NULL &&
           peek(reader) != '\0') {
        reader->in.at++;
    }
}

static bool take(struct reader *reader, char wanted)
{
    skip_space(reader);
    if (sonde__base_bytes_left(&reader->in) == 0 || peek(reader) != wanted) {
        return false;
    }
    reader->in.at++;
    return true;
}

/* Decode an escape; the backslash was read. A character outside ASCII becomes '?', because no value
 * that is used here has one. */
static bool take_escape(struct reader *reader, struct sonde__text *text)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = (char)sonde__base_bytes_u8(&reader->in);
    const char *found = c != '\0' ? strchr(from, c) : NULL;
    unsigned value = 0;
    if (found != NULL) {
        sonde__base_text_char(text, to[found - from]);
        return true;
    }
    for (unsigned i = 0; c == 'u' && i < 4; i++) {
        char digit = (char)sonde__base_bytes_u8(&reader->in);
        bool is_decimal = digit >= '0' && digit <= '9';
        char lower = (char)(digit | 0x20);
        if (!is_decimal && (lower < 'a' || lower > 'f')) {
            return false;
        }
        value = value * 16 + (unsigned)(is_decimal ? digit - '0' : lower - 'a' + 10);
    }
    sonde__base_text_char(text, value >= ' ' && value < 0x7f ? (char)value : '?');
    return c == 'u';
}

static bool take_string(struct reader *reader, char *ret_text, size_t capacity)
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_text, capacity);
    if (!take(reader, '"')) {
        return false;
    }
    while (!reader->in.failed) {
        unsigned char c = sonde__base_bytes_u8(&reader->in);
        if (c == '"') {
            return !reader->in.failed;
        }
        if (c < ' ' || (c == '\\' && !take_escape(reader, &text))) {
            return false;
        }
        if (c != '\\') {
            sonde__base_text_char(&text, (char)c);
        }
    }
    return false;
}

/* Skip a number, true, false or null. */
static bool skip_word(struct reader *reader)
{
    static const char *const words[] = {"true", "false", "null"};
    size_t left = sonde__base_bytes_left(&reader->in);
    for (size_t i = 0; i < 3; i++) {
        size_t size = strlen(words[i]);
        if (size <= left && memcmp(reader->in.at, words[i], size) == 0) {
            reader->in.at += size;
            return true;
        }
    }
    const uint8_t *begin = reader->in.at;
    while (peek(reader) != '\0' && strchr("+-.0123456789eE", peek(reader)) != NULL) {
        reader->in.at++;
    }
    return reader->in.at > begin;
}

/* is_asked: a text here is a value of reader->key. The recursion is bounded by the depth limit. */
static bool take_value(struct reader *reader, bool is_asked)
{
    char text[TEXT_BYTES];
    skip_space(reader);
    char first = peek(reader);
    if (first == '"') {
        if (!take_string(reader, text, sizeof text)) {
            return false;
        }
        if (is_asked) {
            reader->each(reader->ctx, reader->key, text);
        }
        return true;
    }
    if (first != '{' && first != '[') {
        return skip_word(reader);
    }
    if (++reader->depth > DEPTH_MAX) {
        return false;
    }
    char close = first == '{' ? '}' : ']';
    bool is_outermost = reader->depth == 1;
    bool elements_asked = is_asked && first == '[' && reader->depth == 2;
    reader->in.at++;
    for (bool is_first = true; !take(reader, close); is_first = false) {
        if (!is_first && !take(reader, ',')) {
            return false;
        }
        if (first == '{' && (!take_string(reader, is_outermost ? reader->key : text,
                                          is_outermost ? sizeof reader->key : sizeof text) ||
                             !take(reader, ':'))) {
            return false;
        }
        if (!take_value(reader, is_outermost || elements_asked)) {
            return false;
        }
    }
    reader->depth--;
    return true;
}

bool sonde__upload_json_read(const void *bytes, size_t size, sonde__upload_json_text each,
                             void *ctx)
{
    struct reader reader = {.each = each, .ctx = ctx};
    sonde__base_bytes_init(&reader.in, bytes, size);
    skip_space(&reader);
    if (peek(&reader) != '{' || !take_value(&reader, false)) {
        return false;
    }
    skip_space(&reader);
    return sonde__base_bytes_left(&reader.in) == 0;
}
