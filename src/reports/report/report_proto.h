// SPDX-License-Identifier: Apache-2.0
/* A writer of the protobuf wire format (https://protobuf.dev/programming-guides/encoding/).
 *
 * It appends to a growing buffer. A failure to grow is sticky, so callers check once per message.
 * Fields with their default value are left out, as proto3 does. A nested message is written between
 * begin and end, which sets its length. */
#ifndef SONDE_REPORT_PROTO_H
#define SONDE_REPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__proto_wire {
    SONDE__PROTO_VARINT = 0,
    SONDE__PROTO_FIXED64 = 1,
    SONDE__PROTO_BYTES = 2,
    SONDE__PROTO_FIXED32 = 5,
};

#define SONDE__PROTO_VARINT_MAX 10u /* bytes */

/* All zero is an empty buffer. */
struct sonde__proto {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed; /* out of memory; later output is lost */
};

void sonde__proto_done(struct sonde__proto *p);
/* Empty the buffer and clear a failure; the memory is kept. */
void sonde__proto_reset(struct sonde__proto *p);

void sonde__proto_uint(struct sonde__proto *p, uint32_t field, uint64_t value);
/* int32 and int64: negative numbers take ten bytes. */
void sonde__proto_int(struct sonde__proto *p, uint32_t field, int64_t value);
void sonde__proto_fixed32(struct sonde__proto *p, uint32_t field, uint32_t value);
void sonde__proto_fixed64(struct sonde__proto *p, uint32_t field, uint64_t value);
/* Encode a varint; returns its size. */
size_t sonde__proto_encode(uint8_t to[SONDE__PROTO_VARINT_MAX], uint64_t value);
/* A number without a tag: an element of a packed field, between begin and end. */
void sonde__proto_varint(struct sonde__proto *p, uint64_t value);
/* string and bytes; left out when empty */
void sonde__proto_bytes(struct sonde__proto *p, uint32_t field, const void *bytes, size_t size);
/* Written even when empty: an element of a repeated field. */
void sonde__proto_element(struct sonde__proto *p, uint32_t field, const void *bytes, size_t size);
void sonde__proto_raw(struct sonde__proto *p, const void *bytes, size_t size);

/* A nested message; written even when empty. */
size_t sonde__proto_begin(struct sonde__proto *p, uint32_t field);
void sonde__proto_end(struct sonde__proto *p, size_t mark);

#endif
