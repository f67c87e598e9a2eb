// SPDX-License-Identifier: Apache-2.0
#include "tape.h"

#include "base_bytes.h"
#include "base_text.h"
#include "mem_heap.h"

struct reader {
    struct sonde__bytes in;
    struct sonde__tape tape;
    uint32_t values_max;
    uint32_t open[SONDE__TAPE_DEPTH_MAX]; /* arrays and objects around */
    uint32_t depth;
    enum sonde_status status;
    const char *wrong;
};

static bool fail(struct reader *r, enum sonde_status status, const char *wrong)
{
    r->status = status;
    r->wrong = wrong;
    return false;
}

static bool has_next(const struct reader *r)
{
    return r->in.at < r->in.end;
}

static void skip_space(struct reader *r)
{
    while (has_next(r) &&
           (*r->in.at == ' ' || *r->in.at == '\t' || *r->in.at == '\n' || *r->in.at == '\r')) {
        r->in.at++;
    }
}

static uint32_t place(const struct reader *r)
{
    return (uint32_t)sonde__base_bytes_offset(&r->in);
}

static bool add(struct reader *r, enum sonde__tape_kind kind, uint32_t begin, uint32_t end)
{
    struct sonde__tape *tape = &r->tape;
    if (tape->count == r->values_max) {
        return fail(r, SONDE_LIMIT, "more values than are read");
    }
    const struct sonde__tape_value value = {begin, end, tape->count + 1, kind};
    return SONDE__MEM_ADD(tape->values, tape->count, tape->capacity, value) ||
           fail(r, SONDE_MEMORY, "no memory for its values");
}

/* --- values without values in them --- */

static bool is_hex(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* What follows a backslash. */
static bool skip_escape(struct reader *r)
{
    static const char letters[] = "\"\\/bfnrt";
    uint8_t c = sonde__base_bytes_u8(&r->in);
    for (unsigned i = 0; i < sizeof letters - 1; i++) {
        if (c == (uint8_t)letters[i]) {
            return true;
        }
    }
    for (unsigned i = 0; c == 'u' && i < 4; i++) {
        if (!is_hex(sonde__base_bytes_u8(&r->in))) {
            return false;
        }
    }
    return c == 'u';
}

static bool read_string(struct reader *r)
{
    uint32_t begin = place(r) + 1;
    r->in.at++;
    while (has_next(r) && *r->in.at != '"') {
        uint8_t c = *r->in.at++;
        if (c < ' ') {
            return fail(r, SONDE_CORRUPT, "a control character in a string");
        }
        if (c == '\\' && !skip_escape(r)) {
            return fail(r, SONDE_CORRUPT, "an unknown escape in a string");
        }
    }
    if (!has_next(r)) {
        return fail(r, SONDE_CORRUPT, "it ends in a string");
    }
    r->in.at++;
    return add(r, SONDE__TAPE_STRING, begin, place(r) - 1);
}

static unsigned skip_digits(struct reader *r)
{
    unsigned count = 0;
    for (; has_next(r) && *r->in.at >= '0' && *r->in.at <= '9'; count++) {
        r->in.at++;
    }
    return count;
}

static bool skip_byte(struct reader *r, uint8_t one, uint8_t other)
{
    bool is_there = has_next(r) && (*r->in.at == one || *r->in.at == other);
    r->in.at += is_there;
    return is_there;
}

static bool read_number(struct reader *r)
{
    uint32_t begin = place(r);
    (void)skip_byte(r, '-', '-');
    bool is_zero = has_next(r) && *r->in.at == '0';
    unsigned digits = skip_digits(r);
    bool is_right = digits != 0 && !(is_zero && digits > 1);
    if (skip_byte(r, '.', '.')) {
        is_right = skip_digits(r) != 0 && is_right;
    }
    if (skip_byte(r, 'e', 'E')) {
        (void)skip_byte(r, '+', '-');
        is_right = skip_digits(r) != 0 && is_right;
    }
    return is_right ? add(r, SONDE__TAPE_NUMBER, begin, place(r))
                    : fail(r, SONDE_CORRUPT, "a value is expected");
}

static bool read_word(struct reader *r, const char *word, enum sonde__tape_kind kind)
{
    uint32_t begin = place(r);
    for (; *word != '\0'; word++) {
        if (!skip_byte(r, (uint8_t)*word, (uint8_t)*word)) {
            return fail(r, SONDE_CORRUPT, "a value is expected");
        }
    }
    return add(r, kind, begin, place(r));
}

/* --- arrays and objects --- */

static bool open_one(struct reader *r, enum sonde__tape_kind kind)
{
    if (r->depth == SONDE__TAPE_DEPTH_MAX) {
        return fail(r, SONDE_LIMIT, "more levels than are read");
    }
    r->open[r->depth++] = r->tape.count;
    r->in.at++;
    return add(r, kind, place(r) - 1, 0);
}

static struct sonde__tape_value *innermost(struct reader *r)
{
    return r->depth != 0 ? &r->tape.values[r->open[r->depth - 1]] : NULL;
}

static bool is_empty(const struct reader *r)
{
    return r->tape.count == r->open[r->depth - 1] + 1;
}

/* The bracket that ends the innermost one, if it is next. */
static bool close_one(struct reader *r)
{
    struct sonde__tape_value *value = innermost(r);
    uint8_t end = value->kind == SONDE__TAPE_ARRAY ? ']' : '}';
    if (!skip_byte(r, end, end)) {
        return false;
    }
    value->end = place(r);
    value->next = r->tape.count;
    r->depth--;
    return true;
}

static bool read_key(struct reader *r)
{
    skip_space(r);
    if (!has_next(r) || *r->in.at != '"') {
        return fail(r, SONDE_CORRUPT, "the name of a member is expected");
    }
    if (!read_string(r)) {
        return false;
    }
    skip_space(r);
    return skip_byte(r, ':', ':') || fail(r, SONDE_CORRUPT, "a colon is expected");
}

static bool read_value(struct reader *r)
{
    skip_space(r);
    switch (has_next(r) ? *r->in.at : '\0') {
    case '{':
        return open_one(r, SONDE__TAPE_OBJECT);
    case '[':
        return open_one(r, SONDE__TAPE_ARRAY);
    case '"':
        return read_string(r);
    case 't':
        return read_word(r, "true", SONDE__TAPE_TRUE);
    case 'f':
        return read_word(r, "false", SONDE__TAPE_FALSE);
    case 'n':
        return read_word(r, "null", SONDE__TAPE_NULL);
    default:
        return read_number(r);
    }
}

/* Go to where the next value begins, over commas, names and what ends. False: all has ended, or it
 * is wrong. */
static bool find_next(struct reader *r)
{
    while (r->depth != 0) {
        skip_space(r);
        if (close_one(r)) {
            continue;
        }
        if (!is_empty(r) && !skip_byte(r, ',', ',')) {
            return fail(r, SONDE_CORRUPT, "a comma, or an end, is expected");
        }
        return innermost(r)->kind == SONDE__TAPE_ARRAY || read_key(r);
    }
    return false;
}

static void read_all(struct reader *r)
{
    do {
        if (!read_value(r)) {
            return;
        }
    } while (find_next(r));
}

enum sonde_status sonde__tape_read(const char *text, size_t size, uint32_t values_max,
                                   struct sonde__tape *ret_tape, size_t *ret_used,
                                   struct sonde_error *ret_error)
{
    struct reader r = {.values_max = values_max, .tape = {.text = text}};
    if (size >= UINT32_MAX) {
        (void)fail(&r, SONDE_LIMIT, "4 GiB and more are not read");
    } else {
        sonde__base_bytes_init(&r.in, text, size);
        read_all(&r);
    }
    if (r.status == SONDE_OK && ret_used == NULL) {
        skip_space(&r);
        if (has_next(&r)) {
            (void)fail(&r, SONDE_CORRUPT, "something follows the value");
        }
    }
    if (r.status != SONDE_OK) {
        sonde__mem_free(r.tape.values);
        if (ret_error != NULL) {
            struct sonde__text what;
            *ret_error = (struct sonde_error){.status = r.status, .at = place(&r)};
            sonde__base_text_init(&what, ret_error->what, sizeof ret_error->what);
            sonde__base_text_str(&what, "JSON: ");
            sonde__base_text_str(&what, r.wrong);
            sonde__base_text_str(&what, ", at byte ");
            sonde__base_text_dec(&what, ret_error->at);
        }
        return r.status;
    }
    if (ret_used != NULL) {
        *ret_used = place(&r);
    }
    *ret_tape = r.tape;
    return SONDE_OK;
}

void sonde__tape_done(struct sonde__tape *tape)
{
    sonde__mem_free(tape->values);
    *tape = (struct sonde__tape){0};
}
