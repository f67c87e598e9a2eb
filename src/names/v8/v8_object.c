// SPDX-License-Identifier: Apache-2.0
/* Words and types of objects. */
#include "base_bytes.h"
#include "v8.h"

static const uint8_t *bytes_of(struct v8 *v8, uint64_t object, int32_t member, uint32_t size)
{
    const uint8_t *bytes =
        v8_is_object(object) ? v8->at(v8->ctx, object - 1 + (uint64_t)member, size) : NULL;
    v8->is_unclear |= bytes == NULL && v8_is_object(object);
    return bytes;
}

uint64_t sonde__v8_raw_word(struct v8 *v8, uint64_t object, int32_t member)
{
    const uint8_t *bytes = bytes_of(v8, object, member, 8);
    return bytes != NULL ? sonde__base_le64(bytes) : 0;
}

uint64_t sonde__v8_moved(struct v8 *v8, uint64_t object)
{
    uint64_t map = sonde__v8_raw_word(v8, object, v8->layout.of[V8_MAP]);
    return map != 0 && (map & 3) == 0 ? map + 1 : object;
}

uint64_t sonde__v8_word(struct v8 *v8, uint64_t object, int32_t member)
{
    uint64_t word = sonde__v8_raw_word(v8, object, member);
    return v8_is_object(word) ? sonde__v8_moved(v8, word) : word;
}

int32_t sonde__v8_type(struct v8 *v8, uint64_t object)
{
    uint64_t map = sonde__v8_raw_word(v8, object, v8->layout.of[V8_MAP]);
    const uint8_t *bytes = bytes_of(v8, map, v8->layout.of[V8_MAP_TYPE], 2);
    v8->is_unclear |= bytes == NULL && v8_is_object(object);
    return bytes != NULL ? bytes[0] | bytes[1] << 8 : -1;
}
