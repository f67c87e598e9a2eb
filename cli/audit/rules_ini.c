// SPDX-License-Identifier: Apache-2.0
#include "rules_ini.h"

#include <string.h>

static char peek(const struct sonde__ini *ini)
{
    return ini->at < ini->size ? ini->text[ini->at] : '\n';
}

static bool is_end(const struct sonde__ini *ini)
{
    return ini->at >= ini->size || ini->text[ini->at] == '\n' ||
           (ini->text[ini->at] == '\r' &&
            (ini->at + 1 >= ini->size || ini->text[ini->at + 1] == '\n'));
}

static void skip_blanks(struct sonde__ini *ini)
{
    while (!is_end(ini) && (peek(ini) == ' ' || peek(ini) == '\t')) {
        ini->at++;
    }
}

static void skip_line(struct sonde__ini *ini)
{
    while (ini->at < ini->size && ini->text[ini->at] != '\n') {
        ini->at++;
    }
    ini->at += ini->at < ini->size;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool wrong(struct sonde__ini *ini, struct sonde__ini_item *item, const char *expected)
{
    item->kind = SONDE__INI_WRONG;
    item->expected = expected;
    item->offset = ini->at;
    return false;
}

/* A section or key. False: none, or a long one, which is wrong. */
static bool read_word(struct sonde__ini *ini, struct sonde__ini_item *item, const char *expected)
{
    size_t size = 0;
    uint32_t begin = ini->at;
    for (char c = peek(ini); is_letter(c) || (size > 0 && (c == '-' || (c >= '0' && c <= '9')));
         c = peek(ini)) {
        if (size == SONDE__INI_WORD_MAX) {
            return wrong(ini, item, "expected a shorter word (at most 64 letters)");
        }
        item->word[size++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        ini->at++;
    }
    item->word[size] = '\0';
    item->offset = begin;
    return size > 0 || wrong(ini, item, expected);
}

static bool put(struct sonde__ini *ini, struct sonde__ini_item *item, char c, uint32_t from)
{
    if (item->size == SONDE__INI_VALUE_MAX) {
        return wrong(ini, item, "expected a shorter value (at most 4096 bytes)");
    }
    item->at[item->size] = from;
    item->value[item->size++] = c;
    return true;
}

static void end_value(const struct sonde__ini *ini, struct sonde__ini_item *item, uint32_t size)
{
    if (size == item->size) { /* else blanks follow it */
        item->at[size] = ini->at;
    }
    item->size = size;
    item->value[size] = '\0';
}

/* What follows a backslash. */
static bool read_escape(struct sonde__ini *ini, struct sonde__ini_item *item)
{
    static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
    uint32_t begin = ini->at++;
    if (is_end(ini) && ini->at < ini->size) { /* the value goes on in the next line */
        skip_line(ini);
        return true;
    }
    const char *known = is_end(ini) ? NULL : strchr(from, peek(ini));
    if (known == NULL || *known == '\0') {
        return wrong(ini, item, "expected \\\", \\\\, \\n, \\t, or \\ at the end of the line");
    }
    ini->at++;
    return put(ini, item, to[known - from], begin);
}

static bool read_value(struct sonde__ini *ini, struct sonde__ini_item *item)
{
    bool is_quoted = false;
    uint32_t kept = 0; /* bytes, without blanks at the end */
    item->size = 0;
    while (!is_end(ini) && (is_quoted || (peek(ini) != ';' && peek(ini) != '#'))) {
        char c = peek(ini);
        if ((unsigned char)c < ' ' && c != '\t') {
            return wrong(ini, item, "expected text, not a control character");
        }
        bool is_blank = !is_quoted && (c == ' ' || c == '\t');
        if (c == '\\') {
            if (!read_escape(ini, item)) {
                return false;
            }
        } else if (c == '"') {
            is_quoted = !is_quoted;
            ini->at++;
        } else if (!is_blank || item->size > 0) {
            if (!put(ini, item, c, ini->at)) {
                return false;
            }
            ini->at++;
        } else {
            ini->at++;
        }
        kept = is_blank ? kept : item->size;
    }
    if (is_quoted) {
        return wrong(ini, item, "expected a \" at the end of the quoted text");
    }
    end_value(ini, item, kept);
    return true;
}

/* The name of a section, from its quote on. */
static bool read_name(struct sonde__ini *ini, struct sonde__ini_item *item)
{
    ini->at++;
    while (peek(ini) != '"') {
        char c = peek(ini);
        if (is_end(ini) || (unsigned char)c < ' ') {
            return wrong(ini, item, "expected a \" at the end of the name");
        }
        uint32_t from = ini->at;
        if (c == '\\') {
            ini->at++;
            c = peek(ini);
            if (c != '"' && c != '\\') {
                return wrong(ini, item, "expected \\\" or \\\\");
            }
        }
        if (!put(ini, item, c, from)) {
            return false;
        }
        ini->at++;
    }
    end_value(ini, item, item->size);
    ini->at++;
    return true;
}

static bool read_section(struct sonde__ini *ini, struct sonde__ini_item *item)
{
    uint32_t begin = ini->at++;
    item->kind = SONDE__INI_SECTION;
    item->size = 0;
    end_value(ini, item, 0);
    skip_blanks(ini);
    if (!read_word(ini, item, "expected the name of a section")) {
        return false;
    }
    skip_blanks(ini);
    if (peek(ini) == '"' && !read_name(ini, item)) {
        return false;
    }
    skip_blanks(ini);
    if (is_end(ini) || peek(ini) != ']') {
        return wrong(ini, item, "expected a name in quotes, or ]");
    }
    ini->at++;
    skip_blanks(ini);
    if (!is_end(ini) && peek(ini) != ';' && peek(ini) != '#') {
        return wrong(ini, item, "expected the end of the line");
    }
    item->offset = begin;
    return true;
}

static bool read_key(struct sonde__ini *ini, struct sonde__ini_item *item)
{
    item->kind = SONDE__INI_KEY;
    if (!read_word(ini, item, "expected a section in brackets, or a key")) {
        return false;
    }
    skip_blanks(ini);
    if (is_end(ini) || peek(ini) != '=') {
        return wrong(ini, item, "expected = after the key");
    }
    ini->at++;
    return read_value(ini, item);
}

bool sonde__ini_next(struct sonde__ini *ini, struct sonde__ini_item *ret_item)
{
    if (ini->at == 0 && ini->size >= 3 && memcmp(ini->text, "\xef\xbb\xbf", 3) == 0) {
        ini->at = 3; /* a byte order mark */
    }
    while (ini->at < ini->size) {
        skip_blanks(ini);
        if (is_end(ini) || peek(ini) == ';' || peek(ini) == '#') {
            skip_line(ini);
            continue;
        }
        ret_item->is_section = peek(ini) == '[';
        (void)(ret_item->is_section ? read_section(ini, ret_item) : read_key(ini, ret_item));
        skip_line(ini);
        return true;
    }
    return false;
}

struct sonde__ini_place sonde__ini_place(struct sonde__ini *ini, uint32_t offset)
{
    struct sonde__ini_place place = {0};
    if (offset >= ini->last.offset) {
        place = ini->last;
    }
    for (; place.offset < offset && place.offset < ini->size; place.offset++) {
        char c = ini->text[place.offset];
        place.column = c == '\n' ? 0 : place.column + (((unsigned char)c & 0xc0) != 0x80);
        place.line += c == '\n';
    }
    ini->last = place;
    return place;
}
