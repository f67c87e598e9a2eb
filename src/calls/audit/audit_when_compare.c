// SPDX-License-Identifier: Apache-2.0
#include "audit_when_compare.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "audit_words.h"
#include "base_path.h"
#include "host_self.h"

enum { PATTERN_MAX = 1000 };

static size_t word_size(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789";
    return text[0] >= '0' && text[0] <= '9' ? 0 : strspn(text, letters);
}

static bool read_atom(struct audit_when_parser *p, uint64_t *ret_value)
{
    audit_when_skip_blanks(p);
    size_t size = word_size(p->at);
    if (size > 0 && sonde__audit_constant(p->at, size, ret_value)) {
        p->at += size;
        return true;
    }
    bool is_negative = p->at[0] == '-';
    const char *digits = p->at + is_negative;
    char *end;
    if (*digits < '0' || *digits > '9') {
        return audit_when_fail(
            p, p->at, "expected a number, or a constant that is known (O_RDONLY, AF_INET)");
    }
    errno = 0;
    uint64_t value = strtoull(digits, &end, 0);
    if (errno == ERANGE || (is_negative && value > (uint64_t)INT64_MAX + 1)) {
        return audit_when_fail(p, p->at, "expected a number of at most 64 bits");
    }
    if (word_size(end) != 0 || (*end >= '0' && *end <= '9')) {
        return audit_when_fail(p, p->at, "expected a number");
    }
    *ret_value = is_negative ? 0 - value : value;
    p->at = end;
    return true;
}

/* "O_WRONLY | O_CREAT", not "||" */
static bool read_value(struct audit_when_parser *p, uint64_t *ret_value)
{
    uint64_t value = 0, atom = 0;
    do {
        if (!read_atom(p, &atom)) {
            return false;
        }
        value |= atom;
        audit_when_skip_blanks(p);
    } while (p->at[0] == '|' && p->at[1] != '|' && audit_when_take(p, "|"));
    *ret_value = value;
    return true;
}

static bool add_test(struct audit_when_parser *p, struct sonde__when_node test, uint16_t *ret_index)
{
    return audit_when_add(p, (struct audit_when_branch){.kind = AUDIT_WHEN_TEST, .test = test},
                          ret_index);
}

static bool add_equal(struct audit_when_parser *p, struct sonde__when_node test, uint64_t value,
                      uint16_t *ret_index)
{
    test.test = SONDE__WHEN_EQUAL;
    test.value = value & (test.mask > UINT32_MAX ? UINT64_MAX : UINT32_MAX);
    return add_test(p, test, ret_index);
}

/* <, or <= as < of the next number. */
static bool add_less(struct audit_when_parser *p, struct sonde__when_node test, bool is_masked,
                     bool or_equal, uint16_t *ret_index)
{
    audit_when_skip_blanks(p);
    const char *at = p->at;
    uint64_t value;
    if (!read_value(p, &value)) {
        return false;
    }
    if (or_equal && value == (is_masked ? UINT64_MAX : INT64_MAX)) {
        return audit_when_fail(p, at, "expected a smaller number");
    }
    test.test = is_masked ? SONDE__WHEN_BELOW : SONDE__WHEN_LESS;
    test.value = value + or_equal;
    return add_test(p, test, ret_index);
}

/* "(1, 2)": one of the tests must hold. */
static bool parse_list(struct audit_when_parser *p, struct sonde__when_node test,
                       bool (*parse_one)(struct audit_when_parser *p, struct sonde__when_node test,
                                         uint16_t *ret_index),
                       uint16_t *ret_index)
{
    uint16_t one = 0, all = UINT16_MAX;
    if (!audit_when_take(p, "(")) {
        return audit_when_fail(p, p->at, "expected (");
    }
    do {
        if (!parse_one(p, test, &one) ||
            (all != UINT16_MAX &&
             !audit_when_add(
                 p, (struct audit_when_branch){.kind = AUDIT_WHEN_OR, .left = all, .right = one},
                 &one))) {
            return false;
        }
        all = one;
    } while (audit_when_take(p, ","));
    *ret_index = all;
    return audit_when_take(p, ")") || audit_when_fail(p, p->at, "expected a comma or )");
}

static bool parse_equal(struct audit_when_parser *p, struct sonde__when_node test,
                        uint16_t *ret_index)
{
    uint64_t value;
    return read_value(p, &value) && add_equal(p, test, value, ret_index);
}

/* Keep bytes for the evaluation; a NUL follows them. */
static bool keep_bytes(struct sonde__audit_when *to, const void *bytes, size_t size,
                       uint64_t *ret_at)
{
    uint32_t used = to->text_used;
    if (used + size + 1 > SONDE__WHEN_TEXT) {
        return false;
    }
    memcpy(to->when->text + used, bytes, size);
    to->when->text[used + size] = '\0';
    *ret_at = used;
    to->text_used += (uint32_t)size + 1;
    return true;
}

static bool keep(struct audit_when_parser *p, const void *bytes, size_t size, uint64_t *ret_at)
{
    return keep_bytes(p->to, bytes, size, ret_at) ||
           audit_when_fail(p, p->at, "expected fewer patterns: there is no room for more");
}

bool sonde__audit_when_text(struct sonde__audit_when *to, const char *text, uint64_t *ret_at)
{
    return keep_bytes(to, text, strlen(text), ret_at);
}

/* Of a path that is absolute: has a pattern parts that such a path never has? */
static bool has_odd_parts(const char *pattern)
{
    size_t size = strlen(pattern);
    return strstr(pattern, "//") != NULL || strstr(pattern, "/./") != NULL ||
           strstr(pattern, "/../") != NULL || (size > 1 && pattern[size - 1] == '/') ||
           (size > 2 && strcmp(pattern + size - 3, "/..") == 0) ||
           (size > 1 && strcmp(pattern + size - 2, "/.") == 0);
}

static bool check_path(struct audit_when_parser *p, char *pattern, size_t capacity)
{
    if (pattern[0] == '~' && pattern[1] == '/') {
        const char *home = sonde__host_environment("HOME");
        char rest[PATTERN_MAX + 1];
        size_t size = 0;
        memcpy(rest, pattern + 1, strlen(pattern + 1) + 1);
        if (home == NULL || home[0] != '/' ||
            !sonde__base_path_add(pattern, &size, capacity, home) ||
            size + strlen(rest) >= capacity) {
            return audit_when_fail(p, p->at, "expected the variable HOME to be a folder, for ~/");
        }
        memcpy(pattern + (size > 1 ? size : 0), rest, strlen(rest) + 1);
    }
    if (pattern[0] != '/' && strncmp(pattern, "**", 2) != 0) {
        return audit_when_fail(p, p->at,
                               "expected a path's pattern, which begins with /, ~/ or **");
    }
    return !has_odd_parts(pattern) ||
           audit_when_fail(p, p->at,
                           "expected a path's pattern without //, /./, /../ and a / at its end");
}

static bool parse_pattern(struct audit_when_parser *p, struct sonde__when_node test,
                          uint16_t *ret_index)
{
    char pattern[2 * PATTERN_MAX];
    audit_when_skip_blanks(p);
    size_t size = strcspn(p->at, " \t\n)");
    if (size == 0 || size > PATTERN_MAX) {
        return audit_when_fail(p, p->at, "expected a pattern of at most 1000 characters");
    }
    memcpy(pattern, p->at, size);
    pattern[size] = '\0';
    if ((test.test == SONDE__WHEN_PATH && !check_path(p, pattern, sizeof pattern)) ||
        !keep(p, pattern, strlen(pattern), &test.value)) {
        return false;
    }
    p->at += size;
    return add_test(p, test, ret_index);
}

/* A word of a text or path, and what follows it. */
static bool parse_text(struct audit_when_parser *p, struct sonde__when_node test,
                       uint16_t *ret_index)
{
    bool is_not = audit_when_take(p, "!~");
    if (!is_not && !audit_when_take(p, "~")) {
        return audit_when_fail(p, p->at, "expected ~ or !~ and a pattern");
    }
    return parse_pattern(p, test, ret_index) && audit_when_negate(p, is_not, ret_index);
}

/* Are all bits behind the first `bits` 0? */
static bool is_net(const uint8_t *bytes, unsigned bits)
{
    for (unsigned i = bits; i < 128; i++) {
        if ((bytes[i / 8] >> (7 - i % 8) & 1) != 0) {
            return false;
        }
    }
    return true;
}

/* "192.0.2.0/24", "::1" */
static bool parse_net(struct audit_when_parser *p, struct sonde__when_node test,
                      uint16_t *ret_index)
{
    static const char wrong[] =
        "expected an address or a network: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32";
    uint8_t net[SONDE__WHEN_NET_BYTES] = {[11] = 0xff, [12] = 0xff};
    char text[64];
    audit_when_skip_blanks(p);
    size_t size = strspn(p->at, "0123456789abcdefABCDEF.:"), slash = size;
    unsigned long bits;
    char *end = NULL;
    if (size == 0 || size >= sizeof text) {
        return audit_when_fail(p, p->at, wrong);
    }
    memcpy(text, p->at, size);
    text[size] = '\0';
    bool is_ip4 = inet_pton(AF_INET, text, net + 13) == 1;
    if (!is_ip4 && inet_pton(AF_INET6, text, net + 1) != 1) {
        return audit_when_fail(p, p->at, wrong);
    }
    unsigned most = is_ip4 ? 32 : 128;
    bits = most;
    if (p->at[slash] == '/') {
        const char *digits = p->at + slash + 1;
        bits = *digits >= '0' && *digits <= '9' ? strtoul(digits, &end, 10) : most + 1;
        size = end != NULL ? (size_t)(end - p->at) : size;
    }
    if (bits > most) {
        return audit_when_fail(p, p->at + slash + 1,
                               is_ip4 ? "expected 0 to 32 bits" : "expected 0 to 128 bits");
    }
    bits += 128 - most;
    if (!is_net(net + 1, (unsigned)bits)) {
        return audit_when_fail(p, p->at, "expected a network whose other bits are 0");
    }
    net[0] = (uint8_t)bits;
    test.test = SONDE__WHEN_NET;
    if (!keep(p, net, sizeof net, &test.value)) {
        return false;
    }
    p->at += size;
    return add_test(p, test, ret_index);
}

/* What follows an address' word. */
static bool parse_address(struct audit_when_parser *p, struct sonde__when_node test,
                          uint16_t *ret_index)
{
    bool is_not = audit_when_take(p, "!=");
    if (is_not || audit_when_take(p, "==")) {
        return parse_net(p, test, ret_index) && audit_when_negate(p, is_not, ret_index);
    }
    if (audit_when_take(p, "in")) {
        return parse_list(p, test, parse_net, ret_index);
    }
    return audit_when_fail(p, p->at, "expected ==, != or in, and addresses");
}

/* What follows a number's word. */
static bool parse_comparison(struct audit_when_parser *p, struct sonde__when_node test,
                             bool is_masked, uint16_t *ret_index)
{
    uint64_t value;
    bool is_not = false;
    if (audit_when_take(p, "==") || (is_not = audit_when_take(p, "!="))) {
        return read_value(p, &value) && add_equal(p, test, value, ret_index) &&
               audit_when_negate(p, is_not, ret_index);
    }
    if (audit_when_take(p, "<=") || (is_not = audit_when_take(p, ">"))) {
        bool or_equal = !is_not || !audit_when_take(p, "=");
        return add_less(p, test, is_masked, or_equal, ret_index) &&
               audit_when_negate(p, is_not, ret_index);
    }
    if (audit_when_take(p, "<")) {
        return add_less(p, test, is_masked, false, ret_index);
    }
    if (audit_when_take(p, "in")) {
        return parse_list(p, test, parse_equal, ret_index);
    }
    return add_equal(p, test, 0, ret_index) && audit_when_negate(p, true, ret_index);
}

static struct sonde__when_node node_of(const struct sonde__audit_argument *argument)
{
    unsigned flags = argument->type == SONDE__AUDIT_FAMILY ? SONDE__WHEN_FAMILY
                     : argument->type == SONDE__AUDIT_PORT ? SONDE__WHEN_PORT
                                                           : 0;
    return (struct sonde__when_node){
        .test = argument->type == SONDE__AUDIT_PATH ? SONDE__WHEN_PATH : SONDE__WHEN_GLOB,
        .argument = (uint8_t)argument->index,
        .flags = (uint8_t)(flags | (argument->is_message ? SONDE__WHEN_MESSAGE : 0)),
        .other = (uint8_t)argument->other,
        .mask = argument->type == SONDE__AUDIT_LONG ? UINT64_MAX : UINT32_MAX};
}

bool sonde__audit_when_keep(const char *function, uint32_t argument, const char *word,
                            struct sonde__when_node *ret_keep)
{
    struct sonde__audit_argument known;
    if (!sonde__audit_word(function, argument, word, strlen(word), &known)) {
        return false;
    }
    *ret_keep = node_of(&known);
    if (known.type == SONDE__AUDIT_ADDRESS) {
        ret_keep->test = SONDE__WHEN_NET;
    } else if (known.type != SONDE__AUDIT_TEXT && known.type != SONDE__AUDIT_PATH) {
        ret_keep->test = SONDE__WHEN_EQUAL;
    }
    return true;
}

bool audit_when_parse_test(struct audit_when_parser *p, uint16_t *ret_index)
{
    struct sonde__audit_argument argument;
    audit_when_skip_blanks(p);
    const char *word = p->at;
    size_t size = word_size(word);
    if (size == 0) {
        return audit_when_fail(p, word,
                               "expected the name of an argument (arg1 to arg6, flags), ! or (");
    }
    if (!sonde__audit_word(p->function, p->argument, word, size, &argument)) {
        return audit_when_fail(
            p, word,
            "expected an argument that is known of this function (or arg1 to arg6, "
            "arg1.long, arg1.text, arg1.path; arg after NAME:N)");
    }
    p->at += size;
    struct sonde__when_node test = node_of(&argument);
    if (argument.type == SONDE__AUDIT_TEXT || argument.type == SONDE__AUDIT_PATH) {
        return parse_text(p, test, ret_index);
    }
    if (argument.type == SONDE__AUDIT_ADDRESS) {
        return parse_address(p, test, ret_index);
    }
    audit_when_skip_blanks(p);
    bool is_masked = p->at[0] == '&' && p->at[1] != '&' && audit_when_take(p, "&");
    uint64_t mask = UINT64_MAX;
    if (is_masked && !read_value(p, &mask)) {
        return false;
    }
    test.mask &= mask;
    return parse_comparison(p, test, is_masked, ret_index);
}
