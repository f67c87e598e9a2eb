// SPDX-License-Identifier: Apache-2.0
/* Strings: a row of characters, or made of other strings. */
#include "base_bytes.h"
#include "base_mem.h"
#include "base_utf8.h"
#include "v8.h"

/* Bits of a string's type. */
enum {
    NOT_STRING = ~0x7f,
    FORM = 7,
    IS_ONE_BYTE = 8,
    HAS_NO_DATA = 16, /* an external string without a pointer to its characters */
};
enum form { ROW = 0, CONS = 1, EXTERNAL = 2, SLICED = 3, THIN = 5 };

bool sonde__v8_is_text(struct v8 *v8, uint64_t object)
{
    int32_t type = sonde__v8_type(v8, object);
    return type >= 0 && (type & NOT_STRING) == 0;
}

/* A part of a string: characters [skip, skip + count). */
struct part {
    uint64_t object;
    uint32_t skip, count;
};

static uint32_t length_of(struct v8 *v8, uint64_t object)
{
    const uint8_t *bytes =
        v8->at(v8->ctx, object - 1 + (uint64_t)v8->layout.of[V8_STRING_LENGTH], 4);
    return bytes != NULL ? sonde__base_le32(bytes) : 0;
}

/* Where the characters of a row or external string are. 0: unreadable. */
static uint64_t characters_of(struct v8 *v8, uint64_t object, int32_t type)
{
    const int32_t *of = v8->layout.of;
    if ((type & FORM) == ROW) {
        return object - 1 + (uint64_t)of[V8_STRING_BYTES];
    }
    return (type & HAS_NO_DATA) == 0 ? sonde__v8_raw_word(v8, object, of[V8_EXTERNAL_RESOURCE] + 8)
                                     : 0;
}

static bool put_characters(struct v8 *v8, const struct part *part, int32_t type, char *to,
                           size_t *size)
{
    uint32_t width = (type & IS_ONE_BYTE) != 0 ? 1 : 2;
    uint64_t at = characters_of(v8, part->object, type);
    const uint8_t *bytes =
        at != 0 ? v8->at(v8->ctx, at + (uint64_t)part->skip * width, part->count * width) : NULL;
    for (uint32_t i = 0; bytes != NULL && i < part->count; i++) {
        uint32_t c =
            width == 1 ? bytes[i] : bytes[(size_t)2 * i] | (uint32_t)bytes[(size_t)2 * i + 1] << 8;
        if (width == 2 && c >> 10 == 0x36 && i + 1 < part->count &&
            bytes[(size_t)2 * i + 3] >> 2 == 0x37) {
            uint32_t low = bytes[(size_t)2 * i + 2] | (uint32_t)bytes[(size_t)2 * i + 3] << 8;
            c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
            i++;
        }
        c = c == 0 || c >> 11 == 0x1b ? 0xfffd : c; /* half a pair */
        *size += sonde__base_put_utf8(to + *size, c);
    }
    return bytes != NULL;
}

/* Split a part: replace it by what it is made of. Returns the number of parts (0 to 2); -1: it is a
 * row of characters; -2: it is damaged. */
static int split(struct v8 *v8, const struct part *part, int32_t type, struct part *ret)
{
    const int32_t *of = v8->layout.of;
    uint64_t object = part->object, first = 0, offset = 0;
    uint32_t left = 0;
    switch (type & FORM) {
    case ROW:
    case EXTERNAL:
        return -1;
    case THIN:
        ret[0] = *part;
        ret[0].object = sonde__v8_word(v8, object, of[V8_THIN_ACTUAL]);
        return 1;
    case SLICED:
        offset = sonde__v8_word(v8, object, of[V8_SLICED_OFFSET]);
        ret[0] = *part;
        ret[0].object = sonde__v8_word(v8, object, of[V8_SLICED_PARENT]);
        ret[0].skip += (uint32_t)(offset >> 32);
        return v8_is_small(offset) ? 1 : -2;
    case CONS:
        first = sonde__v8_word(v8, object, of[V8_CONS_FIRST]);
        left = v8_is_object(first) ? length_of(v8, first) : 0;
        left = left > part->skip ? left - part->skip : 0;
        left = left < part->count ? left : part->count;
        ret[0] = (struct part){first, part->skip, left};
        ret[1] = (struct part){sonde__v8_word(v8, object, of[V8_CONS_SECOND]),
                               part->skip + left - length_of(v8, first), part->count - left};
        return 2;
    default:
        return -2;
    }
}

/* Write at most V8_TEXT_MAX characters. False: damaged. */
static bool put_text(struct v8 *v8, uint64_t object, char *to)
{
    enum { PARTS = 64, STEPS = 1024 };
    struct part parts[PARTS + 2];
    uint32_t length = length_of(v8, object);
    unsigned count = 1;
    size_t size = 0;
    parts[0] = (struct part){object, 0, length < V8_TEXT_MAX ? length : V8_TEXT_MAX};
    for (unsigned steps = 0; count > 0; steps++) {
        struct part part = parts[--count], made[2];
        int32_t type = part.count != 0 ? sonde__v8_type(v8, part.object) : 0;
        if (part.count == 0) {
            continue;
        }
        if (steps == STEPS || count > PARTS || type < 0 || (type & NOT_STRING) != 0 ||
            part.skip > length_of(v8, part.object) ||
            part.count > length_of(v8, part.object) - part.skip) {
            return false;
        }
        int n = split(v8, &part, type, made);
        if (n == -2 || (n == -1 && !put_characters(v8, &part, type, to, &size))) {
            return false;
        }
        for (int i = n; i > 0; i--) { /* the first one last, so it is next */
            parts[count++] = made[i - 1];
        }
    }
    sonde__base_mem_copy(to + size, length > V8_TEXT_MAX ? "..." : "",
                         length > V8_TEXT_MAX ? 4 : 1);
    return true;
}

const char *sonde__v8_text(struct v8 *v8, uint64_t object)
{
    struct v8_known *known = v8->known != NULL ? &v8->known[object >> 3 & (V8_KNOWN - 1)] : NULL;
    if (known != NULL && known->look == v8->look && known->object == object) {
        return known->text;
    }
    char *to = v8->texts + v8->used;
    if (v8->used + V8_TEXT_ROOM > v8->room || !sonde__v8_is_text(v8, object) ||
        !put_text(v8, object, to)) {
        return NULL;
    }
    while (v8->texts[v8->used] != '\0') {
        v8->used++;
    }
    v8->used++;
    if (known != NULL) {
        *known = (struct v8_known){v8->look, object, to};
    }
    return to;
}

bool sonde__v8_flat_text(struct v8 *v8, uint64_t object, uint64_t *ret_address,
                         uint32_t *ret_length, bool *ret_is_wide)
{
    enum { STEPS = 8 };
    const int32_t *of = v8->layout.of;
    for (unsigned step = 0; step < STEPS && sonde__v8_is_text(v8, object); step++) {
        int32_t type = sonde__v8_type(v8, object);
        if ((type & FORM) == ROW || (type & FORM) == EXTERNAL) {
            *ret_address = characters_of(v8, object, type);
            *ret_length = length_of(v8, object);
            *ret_is_wide = (type & IS_ONE_BYTE) == 0;
            return *ret_address != 0;
        }
        if ((type & FORM) == THIN) {
            object = sonde__v8_word(v8, object, of[V8_THIN_ACTUAL]);
        } else if ((type & FORM) == CONS) { /* flat, if all is in its first part */
            uint64_t first = sonde__v8_word(v8, object, of[V8_CONS_FIRST]);
            if (!v8_is_object(first) || length_of(v8, first) != length_of(v8, object)) {
                return false;
            }
            object = first;
        } else {
            return false;
        }
    }
    return false;
}
