// SPDX-License-Identifier: Apache-2.0
/* Punycode (RFC 3492, section 6.2) with Swift's changes: `_` as delimiter, A-J for the digits 0-9.
 */
#include "swift_node.h"

#include <string.h>

enum { POINTS_MAX = 256 };

enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 128 };

static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
    uint32_t k = 0;
    delta = first ? delta / DAMP : delta / 2;
    delta += delta / points;
    for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE) {
        delta /= BASE - T_MIN;
    }
    return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

/* One generalized variable-length integer; false: malformed. */
static bool read_delta(const char **in, const char *end, uint32_t bias, uint32_t *delta)
{
    uint32_t weight = 1;
    for (uint32_t k = BASE;; k += BASE) {
        if (*in == end) {
            return false;
        }
        char c = *(*in)++;
        uint32_t digit = c >= 'a' && c <= 'z'   ? (uint32_t)(c - 'a')
                         : c >= 'A' && c <= 'J' ? (uint32_t)(c - 'A' + 26)
                                                : BASE;
        uint32_t t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
        if (digit == BASE || digit > (0x7fffffff - *delta) / weight) {
            return false;
        }
        *delta += digit * weight;
        if (digit < t) {
            return true;
        }
        if (weight > 0x7fffffff / (BASE - t)) {
            return false;
        }
        weight *= BASE - t;
    }
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[0] = (char)((0xff00u >> (more + 1) & 0xff) | c >> 6 * more);
    for (size_t i = 1; i <= more; i++) {
        out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    }
    return more + 1;
}

/* Code points that Swift moved out of ASCII's way (symbols in identifiers) go back. False: no code
 * point. */
static bool put_points(const uint32_t *points, uint32_t count, char *out, size_t *ret_length)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = points[i] >= 0xd800 && points[i] < 0xd880 ? points[i] - 0xd800 : points[i];
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c < 0x20 || c == 0x7f) {
            return false;
        }
        used += put_utf8(out + used, c);
    }
    *ret_length = used;
    return true;
}

bool sonde__swift_punycode(const char *in, size_t length, char *out, size_t *ret_length)
{
    uint32_t points[POINTS_MAX], count = 0, c = FIRST, delta = 0, bias = BIAS;
    const char *end = in + length, *basic = end;
    while (basic > in && basic[-1] != '_') {
        basic--;
    }
    if (length > POINTS_MAX) {
        return false;
    }
    while (in + 1 < basic) {
        points[count++] = (unsigned char)*in++;
    }
    in = basic;
    while (in < end) {
        uint32_t before = delta;
        if (!read_delta(&in, end, bias, &delta)) {
            return false;
        }
        bias = adapt(delta - before, count + 1, before == 0 && c == FIRST);
        c += delta / (count + 1);
        delta %= count + 1;
        memmove(points + delta + 1, points + delta, (count - delta) * sizeof *points);
        points[delta++] = c;
        count++;
    }
    return put_points(points, count, out, ret_length);
}
