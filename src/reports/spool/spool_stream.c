// SPDX-License-Identifier: Apache-2.0
#include "spool_stream.h"

#include <stdatomic.h>
#include <string.h>

int sonde__spool_stream_open(struct sonde__spool_stream *stream, int32_t fd)
{
    *stream = (struct sonde__spool_stream){.live = {.fd = fd}};
    return sonde__host_live_map(&stream->live, SONDE__SPOOL_STREAM_BYTES);
}

void sonde__spool_stream_close(struct sonde__spool_stream *stream)
{
    sonde__host_live_unmap(&stream->live);
}

/* The last byte stays zero. */
size_t sonde__spool_stream_left(const struct sonde__spool_stream *stream)
{
    return stream->live.bytes != NULL ? stream->live.size - stream->used - 1 : 0;
}

bool sonde__spool_stream_grow(struct sonde__spool_stream *stream)
{
    size_t size = stream->live.size * 2;
    return stream->live.bytes != NULL && size <= SONDE__SPOOL_STREAM_BYTES_MAX &&
           sonde__host_live_map(&stream->live, size) == 0;
}

enum sonde_status sonde__spool_stream_write(void *ctx, const void *bytes, size_t size)
{
    struct sonde__spool_stream *stream = ctx;
    if (size == 0) {
        return SONDE_OK;
    }
    while (size > sonde__spool_stream_left(stream)) {
        if (!sonde__spool_stream_grow(stream)) {
            return SONDE_LIMIT;
        }
    }
    uint8_t *to = stream->live.bytes + stream->used;
    memcpy(to + 1, (const uint8_t *)bytes + 1, size - 1);
    /* a process can be killed between any two instructions: only their order matters */
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint8_t *)to = *(const uint8_t *)bytes;
    stream->used += size;
    return SONDE_OK;
}

void sonde__spool_stream_reset(struct sonde__spool_stream *stream)
{
    if (stream->live.bytes != NULL) {
        *(volatile uint8_t *)stream->live.bytes = 0;
        atomic_signal_fence(memory_order_seq_cst);
        memset(stream->live.bytes, 0, stream->used);
    }
    stream->used = 0;
}
