// SPDX-License-Identifier: Apache-2.0
/* Simulates libz.1.dylib: uncompress() of zlib.h. Sources: RFC 1950 (zlib), RFC 1951 (deflate). */
#include <stdint.h>
#include <string.h>

enum { OK = 0, DATA_ERROR = -3, ROOM_ERROR = -5 };
enum { LENGTH_MAX = 15, SYMBOLS_MAX = 288 };

struct stream {
    const uint8_t *from;
    unsigned long left;
    uint8_t *to;
    unsigned long done, room;
    uint32_t bits;
    unsigned bit_count;
    int failed; /* or OK */
};

/* Canonical: how many codes have each length, and their symbols in order. */
struct code {
    uint16_t counts[LENGTH_MAX + 1];
    uint16_t symbols[SYMBOLS_MAX];
};

static int fail(struct stream *s, int error)
{
    s->failed = s->failed != OK ? s->failed : error;
    return 0;
}

static uint32_t take(struct stream *s, unsigned count)
{
    while (s->bit_count < count) {
        if (s->left == 0) {
            return (uint32_t)fail(s, DATA_ERROR);
        }
        s->bits |= (uint32_t)*s->from++ << s->bit_count;
        s->left--;
        s->bit_count += 8;
    }
    uint32_t value = s->bits & ((1u << count) - 1);
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

static void put(struct stream *s, uint8_t byte)
{
    if (s->done == s->room) {
        fail(s, ROOM_ERROR);
    } else {
        s->to[s->done++] = byte;
    }
}

static void make_code(struct code *code, const uint8_t *lengths, unsigned count)
{
    uint16_t next[LENGTH_MAX + 2] = {0};
    memset(code, 0, sizeof *code);
    for (unsigned i = 0; i < count; i++) {
        code->counts[lengths[i]]++;
    }
    code->counts[0] = 0;
    for (unsigned i = 1; i <= LENGTH_MAX; i++) {
        next[i + 1] = (uint16_t)(next[i] + code->counts[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        if (lengths[i] != 0) {
            code->symbols[next[lengths[i]]++] = (uint16_t)i;
        }
    }
}

static unsigned symbol(struct stream *s, const struct code *code)
{
    unsigned value = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= LENGTH_MAX && s->failed == OK; length++) {
        value |= take(s, 1);
        if (value - first < code->counts[length]) {
            return code->symbols[index + value - first];
        }
        index += code->counts[length];
        first = (first + code->counts[length]) << 1;
        value <<= 1;
    }
    return (unsigned)fail(s, DATA_ERROR);
}

static void copy(struct stream *s, unsigned length, unsigned distance)
{
    if (distance > s->done) {
        fail(s, DATA_ERROR);
    }
    for (unsigned i = 0; i < length && s->failed == OK; i++) {
        put(s, s->to[s->done - distance]);
    }
}

static void codes(struct stream *s, const struct code *literals, const struct code *distances)
{
    while (s->failed == OK) {
        unsigned what = symbol(s, literals);
        if (what < 256 && s->failed == OK) {
            put(s, (uint8_t)what);
        } else if (what <= 256) {
            return;
        } else {
            unsigned n = what - 257, extra = n < 8 || n == 28 ? 0 : n / 4 - 1;
            unsigned length = n < 8 ? n + 3 : n == 28 ? 258 : ((4 + n % 4) << extra) + 3;
            length += take(s, extra);
            unsigned d = symbol(s, distances), more = d < 4 ? 0 : d / 2 - 1;
            copy(s, length, (d < 4 ? d : (2 + d % 2) << more) + take(s, more) + 1);
        }
    }
}

static void stored(struct stream *s)
{
    s->bits = s->bit_count = 0;
    unsigned length = take(s, 16);
    for (take(s, 16); length > 0 && s->failed == OK; length--) {
        put(s, (uint8_t)take(s, 8));
    }
}

static void fixed(struct stream *s)
{
    struct code literals, distances;
    uint8_t lengths[SYMBOLS_MAX];
    for (unsigned i = 0; i < SYMBOLS_MAX; i++) {
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    }
    make_code(&literals, lengths, SYMBOLS_MAX);
    memset(lengths, 5, 30);
    make_code(&distances, lengths, 30);
    codes(s, &literals, &distances);
}

static void dynamic(struct stream *s)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
    struct code code, distances;
    uint8_t lengths[SYMBOLS_MAX + 32 + 138] = {0};
    unsigned literal_count = take(s, 5) + 257, distance_count = take(s, 5) + 1,
             count = take(s, 4) + 4;
    for (unsigned i = 0; i < count; i++) {
        lengths[order[i]] = (uint8_t)take(s, 3);
    }
    make_code(&code, lengths, 19);
    for (unsigned i = 0; i < literal_count + distance_count && s->failed == OK;) {
        unsigned what = symbol(s, &code), again = 1;
        uint8_t length = (uint8_t)what;
        if (what >= 16) {
            length = what == 16 && i > 0 ? lengths[i - 1] : 0;
            again = what == 16 ? 3 + take(s, 2) : what == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
        }
        for (; again > 0; again--) {
            lengths[i++] = length;
        }
    }
    make_code(&code, lengths, literal_count);
    make_code(&distances, lengths + literal_count, distance_count);
    codes(s, &code, &distances);
}

int uncompress(uint8_t *to, unsigned long *size, const uint8_t *from, unsigned long from_size);
int uncompress(uint8_t *to, unsigned long *size, const uint8_t *from, unsigned long from_size)
{
    struct stream s = {.from = from, .left = from_size, .to = to, .room = *size};
    uint32_t is_last = 0, a = 1, b = 0, sum = 0;
    take(&s, 16);
    while (is_last == 0 && s.failed == OK) {
        is_last = take(&s, 1);
        switch (take(&s, 2)) {
        case 0:
            stored(&s);
            break;
        case 1:
            fixed(&s);
            break;
        case 2:
            dynamic(&s);
            break;
        default:
            fail(&s, DATA_ERROR);
        }
    }
    *size = s.done;
    s.bit_count -= s.bit_count % 8; /* the sum begins at a byte */
    for (unsigned i = 0; i < 4; i++) {
        sum = sum << 8 | take(&s, 8);
    }
    for (unsigned long i = 0; i < s.done; i++) {
        a = (a + to[i]) % 65521;
        b = (b + a) % 65521;
    }
    return s.failed != OK ? s.failed : sum == (b << 16 | a) ? OK : DATA_ERROR;
}
