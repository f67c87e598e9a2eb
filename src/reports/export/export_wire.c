// SPDX-License-Identifier: Apache-2.0
#include "export_wire.h"

#include <string.h>

void sonde__export_wire_init(struct sonde__export_wire *wire, struct sonde__report_sink sink)
{
    wire->sink = sink;
    wire->message = (struct sonde__proto){0};
    wire->size = 0;
    wire->is_measuring = wire->stopped = wire->failed = false;
    wire->used = 0;
}

static void flush(struct sonde__export_wire *wire)
{
    if (wire->used != 0 && !wire->stopped) {
        wire->stopped = !wire->sink.write(wire->sink.ctx, wire->buffer, wire->used);
    }
    wire->used = 0;
}

bool sonde__export_wire_done(struct sonde__export_wire *wire)
{
    flush(wire);
    sonde__proto_done(&wire->message);
    return !wire->failed;
}

static void put_bytes(struct sonde__export_wire *wire, const uint8_t *bytes, size_t size)
{
    wire->size += size;
    while (!wire->is_measuring && size != 0 && !wire->stopped) {
        size_t part = sizeof wire->buffer - wire->used;
        part = part < size ? part : size;
        memcpy(wire->buffer + wire->used, bytes, part);
        wire->used += part;
        bytes += part;
        size -= part;
        if (wire->used == sizeof wire->buffer) {
            flush(wire);
        }
    }
}

static void put_head(struct sonde__export_wire *wire, uint32_t field, uint64_t size)
{
    uint8_t bytes[2 * SONDE__PROTO_VARINT_MAX];
    size_t used = sonde__proto_encode(bytes, (uint64_t)field << 3 | SONDE__PROTO_BYTES);
    put_bytes(wire, bytes, used + sonde__proto_encode(bytes + used, size));
}

void sonde__export_wire_put(struct sonde__export_wire *wire, uint32_t field)
{
    wire->failed |= wire->message.failed;
    if (!wire->failed) {
        if (field != 0) {
            put_head(wire, field, wire->message.size);
        }
        put_bytes(wire, wire->message.data, wire->message.size);
    }
    sonde__proto_reset(&wire->message);
}

void sonde__export_wire_long(struct sonde__export_wire *wire, uint32_t field,
                             void (*write)(struct sonde__export_wire *wire, const void *ctx),
                             const void *ctx)
{
    uint64_t before = wire->size;
    bool was_measuring = wire->is_measuring;
    wire->is_measuring = true;
    write(wire, ctx);
    uint64_t size = wire->size - before;
    wire->size = before;
    wire->is_measuring = was_measuring;
    put_head(wire, field, size);
    if (was_measuring) {
        wire->size += size;
    } else if (!wire->stopped && !wire->failed) {
        write(wire, ctx);
    }
}

static bool append(void *ctx, const char *bytes, size_t size)
{
    sonde__proto_raw(ctx, bytes, size);
    return true;
}

struct sonde__report_sink sonde__export_wire_sink(struct sonde__proto *to)
{
    return (struct sonde__report_sink){append, to};
}

void sonde__export_wire_begin(struct sonde__export_wire_text *text, struct sonde__proto *to,
                              uint32_t field)
{
    text->to = to;
    text->mark = sonde__proto_begin(to, field);
    sonde__report_out_init(&text->out, sonde__export_wire_sink(to), false);
}

void sonde__export_wire_end(struct sonde__export_wire_text *text)
{
    sonde__report_out_flush(&text->out);
    sonde__proto_end(text->to, text->mark);
}

void sonde__export_wire_string(struct sonde__proto *to, uint32_t field, const char *text)
{
    sonde__proto_element(to, field, text, strlen(text));
}
