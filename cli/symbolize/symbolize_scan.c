// SPDX-License-Identifier: Apache-2.0
/* Forms:
 *
 *     image+0x12                          alone, or in any text
 *     #1 0x7f12 (/lib/x.so+0x12) (BuildId: 0a1b)     sanitizers: moved before the call already
 *     /lib/x.so(+0x12) [0x7f12]            backtrace_symbols: return addresses
 *     ./prog(main+0x12) [0x7f12]           the same, from a function
 *     #1  function+0x1   image+0x12       sonde: return addresses behind frame 0
 *         function+0x1   image+0x12  [tail call, inferred]    sonde: the place of the jump */
#include "symbolize_scan.h"

#include <string.h>

enum { ADDRESS_DIGITS_MIN = 6 };

/* Distance searched around a place: a long line may have many places. */
enum { REACH = SYMBOLIZE_NAME_BYTES };

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

/* Parse digits at `at`. Returns their end; `at`: none, or more than 16. */
static size_t read_hex(const char *line, size_t size, size_t at, uint64_t *ret_value)
{
    size_t end = at;
    uint64_t value = 0;
    while (end < size && is_hex(line[end])) {
        char c = line[end++];
        unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
        value = value << 4 | digit;
    }
    if (end - at > 16) {
        return at;
    }
    *ret_value = value;
    return end;
}

static void copy(char *to, size_t capacity, const char *from, size_t size)
{
    size = size < capacity ? size : 0; /* a cut name would be a different one */
    memcpy(to, from, size);
    to[size] = '\0';
}

/* "(BuildId: 0a1b)" anywhere after the place. */
static void find_build_id(const char *line, size_t size, size_t from, struct symbolize_place *place)
{
    static const char mark[] = "BuildId: ";
    size_t at = from;
    size = size - from < REACH ? size : from + REACH;
    while (at + sizeof mark - 1 <= size && memcmp(line + at, mark, sizeof mark - 1) != 0) {
        at++;
    }
    at += sizeof mark - 1;
    size_t end = at;
    while (end < size && is_hex(line[end])) {
        end++;
    }
    if (at < size && end - at < sizeof place->build_id) {
        for (size_t i = at; i < end; i++) {
            char c = line[i];
            place->build_id[i - at] = (char)(c >= 'A' && c <= 'F' ? c | 0x20 : c);
        }
        place->build_id[end - at] = '\0';
    }
}

int symbolize_frame_number(const char *line, size_t size)
{
    size_t at = 0;
    int number = 0;
    while (at < size && (line[at] == ' ' || line[at] == '\t')) {
        at++;
    }
    if (at + 1 >= size || line[at] != '#' || line[at + 1] < '0' || line[at + 1] > '9') {
        return -1;
    }
    for (at++; at < size && line[at] >= '0' && line[at] <= '9' && number < 100000000; at++) {
        number = number * 10 + (line[at] - '0');
    }
    return number;
}

/* Is it a line of sonde's for a tail call, which has no number? */
static bool is_tail_call(const char *line, size_t size)
{
    static const char mark[] = "[tail call, inferred]";
    return memmem(line, size, mark, sizeof mark - 1) != NULL;
}

/* Is there another "+0x"? A frame's last one belongs to the image, earlier ones to functions. */
static bool has_more(const char *line, size_t size, size_t from)
{
    size = size - from < REACH ? size : from + REACH;
    for (size_t at = from; at + 2 < size; at++) {
        if (line[at] == '+' && line[at + 1] == '0' && line[at + 2] == 'x') {
            return true;
        }
    }
    return false;
}

/* The image before the "+0x" at `plus`. False: none. */
static bool read_before(const char *line, size_t size, size_t plus, struct symbolize_place *place)
{
    size_t begin = plus;
    size_t least = plus < REACH ? 0 : plus - REACH;
    while (begin > least && !is_space(line[begin - 1]) && line[begin - 1] != '(' &&
           line[begin - 1] != '[' && line[begin - 1] != '"' && line[begin - 1] != '\'') {
        begin--;
    }
    bool parenthesis = begin > 0 && line[begin - 1] == '(';
    if (parenthesis && begin > 1 && !is_space(line[begin - 2])) { /* path(function+0x12) */
        size_t path = begin - 1;
        while (path > least && !is_space(line[path - 1])) {
            path--;
        }
        copy(place->image, sizeof place->image, line + path, begin - 1 - path);
        copy(place->symbol, sizeof place->symbol, line + begin, plus - begin);
        place->returns = true;
        return place->image[0] != '\0';
    }
    if (parenthesis) { /* (path with spaces+0x12) */
        copy(place->image, sizeof place->image, line + begin, plus - begin);
        return place->image[0] != '\0';
    }
    for (size_t i = plus; i > least && line[i - 1] != ')'; i--) {
        if (line[i - 1] == '(' && i < plus && line[i] == '/' && (i == 1 || is_space(line[i - 2]))) {
            copy(place->image, sizeof place->image, line + i, plus - i);
            return place->image[0] != '\0';
        }
    }
    int number = symbolize_frame_number(line, size);
    if ((number >= 0 || is_tail_call(line, size)) && has_more(line, size, plus + 3)) {
        return false;
    }
    copy(place->image, sizeof place->image, line + begin, plus - begin);
    place->returns = number > 0;
    return place->image[0] != '\0';
}

bool symbolize_scan(const char *line, size_t size, size_t from, bool addresses,
                    struct symbolize_place *ret_place)
{
    for (size_t at = from; at + 2 < size; at++) {
        struct symbolize_place *place = ret_place;
        bool plus = line[at] == '+' && line[at + 1] == '0' && line[at + 2] == 'x';
        bool plain = addresses && line[at] == '0' && line[at + 1] == 'x' &&
                     (at == from || (line[at - 1] != '+' && !is_hex(line[at - 1])));
        size_t digits = at + (plus ? 3 : 2);
        size_t end;
        if (!plus && !plain) {
            continue;
        }
        end = read_hex(line, size, digits, &place->offset);
        if (end == digits || (plain && end - digits < ADDRESS_DIGITS_MIN)) {
            continue;
        }
        place->image[0] = place->symbol[0] = place->build_id[0] = '\0';
        place->returns = false;
        if (plus && !read_before(line, size, at, place)) {
            continue;
        }
        place->end = end < size && line[end] == ')' ? end + 1 : end;
        if (plus) {
            find_build_id(line, size, end, place);
        }
        return true;
    }
    return false;
}

bool symbolize_scan_address(const char *text, size_t size, struct symbolize_place *ret_place)
{
    size_t begin = size > 2 && text[0] == '0' && text[1] == 'x' ? 2 : 0;
    struct symbolize_place *place = ret_place;
    if (size == begin || read_hex(text, size, begin, &place->offset) != size) {
        return false;
    }
    place->image[0] = place->symbol[0] = place->build_id[0] = '\0';
    place->returns = false;
    place->end = size;
    return true;
}
