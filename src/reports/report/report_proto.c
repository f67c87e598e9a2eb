// SPDX-License-Identifier: Apache-2.0
#include "report_proto.h"

#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"

#define FIRST_CAPACITY 4096u

void sonde__proto_done(struct sonde__proto *p)
{
    sonde__mem_free(p->data);
    *p = (struct sonde__proto){0};
}

void sonde__proto_reset(struct sonde__proto *p)
{
    p->size = 0;
    p->failed = false;
}

static bool reserve(struct sonde__proto *p, size_t more)
{
    if (p->failed || more > SIZE_MAX / 4 - p->size) {
        p->failed = true;
        return false;
    }
    if (more <= p->capacity - p->size) {
        return true;
    }
    size_t capacity = p->capacity == 0 ? FIRST_CAPACITY : p->capacity;
    while (capacity - p->size < more) {
        capacity *= 2;
    }
    uint8_t *data = sonde__mem_resize_array(p->data, capacity, 1);
    if (data == NULL) {
        p->failed = true;
        return false;
    }
    p->data = data;
    p->capacity = capacity;
    return true;
}

size_t sonde__proto_encode(uint8_t to[SONDE__PROTO_VARINT_MAX], uint64_t value)
{
    size_t size = 0;
    while (value >= 0x80) {
        to[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[size++] = (uint8_t)value;
    return size;
}

static void put_varint(struct sonde__proto *p, uint64_t value)
{
    if (reserve(p, SONDE__PROTO_VARINT_MAX)) {
        p->size += sonde__proto_encode(p->data + p->size, value);
    }
}

static void put_tag(struct sonde__proto *p, uint32_t field, enum sonde__proto_wire wire)
{
    put_varint(p, (uint64_t)field << 3 | wire);
}

static void put_fixed(struct sonde__proto *p, uint64_t value, unsigned size)
{
    if (reserve(p, size)) {
        sonde__base_put_le(p->data + p->size, value, size);
        p->size += size;
    }
}

void sonde__proto_varint(struct sonde__proto *p, uint64_t value)
{
    put_varint(p, value);
}

void sonde__proto_uint(struct sonde__proto *p, uint32_t field, uint64_t value)
{
    if (value != 0) {
        put_tag(p, field, SONDE__PROTO_VARINT);
        put_varint(p, value);
    }
}

void sonde__proto_int(struct sonde__proto *p, uint32_t field, int64_t value)
{
    sonde__proto_uint(p, field, (uint64_t)value);
}

void sonde__proto_fixed32(struct sonde__proto *p, uint32_t field, uint32_t value)
{
    put_tag(p, field, SONDE__PROTO_FIXED32);
    put_fixed(p, value, 4);
}

void sonde__proto_fixed64(struct sonde__proto *p, uint32_t field, uint64_t value)
{
    if (value != 0) {
        put_tag(p, field, SONDE__PROTO_FIXED64);
        put_fixed(p, value, 8);
    }
}

void sonde__proto_raw(struct sonde__proto *p, const void *bytes, size_t size)
{
    if (size != 0 && reserve(p, size)) {
        memcpy(p->data + p->size, bytes, size);
        p->size += size;
    }
}

void sonde__proto_element(struct sonde__proto *p, uint32_t field, const void *bytes, size_t size)
{
    put_tag(p, field, SONDE__PROTO_BYTES);
    put_varint(p, size);
    sonde__proto_raw(p, bytes, size);
}

void sonde__proto_bytes(struct sonde__proto *p, uint32_t field, const void *bytes, size_t size)
{
    if (size != 0) {
        sonde__proto_element(p, field, bytes, size);
    }
}

size_t sonde__proto_begin(struct sonde__proto *p, uint32_t field)
{
    put_tag(p, field, SONDE__PROTO_BYTES);
    put_varint(p, 0); /* the length: most messages need one byte for it */
    return p->size;
}

void sonde__proto_end(struct sonde__proto *p, size_t mark)
{
    uint8_t length[SONDE__PROTO_VARINT_MAX];
    if (p->failed) {
        return;
    }
    size_t more = sonde__proto_encode(length, p->size - mark) - 1;
    if (more == 0) {
        p->data[mark - 1] = length[0];
    } else if (reserve(p, more)) {
        memmove(p->data + mark + more, p->data + mark, p->size - mark);
        memcpy(p->data + mark - 1, length, more + 1);
        p->size += more;
    }
}
