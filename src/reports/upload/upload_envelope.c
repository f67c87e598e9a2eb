// SPDX-License-Identifier: Apache-2.0
/* Source: https://develop.sentry.dev/sdk/foundations/transport/envelopes/: a JSON line for the
 * envelope, one for the item with its size, and the payload. */
#include "upload_envelope.h"

#include <stdio.h>
#include <string.h>

#include "mem_heap.h"
#include "upload_event.h"

struct buffer {
    char *bytes;
    size_t size, capacity;
    bool failed;
};

/* Events are below 1 MiB; a larger one is discarded anyway. */
static bool append(void *ctx, const char *bytes, size_t size)
{
    struct buffer *buffer = ctx;
    if (buffer->size + size > 4 * (size_t)SONDE__UPLOAD_EVENT_MAX) {
        return false;
    }
    while (!buffer->failed && buffer->size + size > buffer->capacity) {
        size_t capacity = buffer->capacity != 0 ? buffer->capacity * 2 : 65536;
        char *larger = sonde__mem_resize_array(buffer->bytes, capacity, 1);
        buffer->failed = larger == NULL;
        buffer->bytes = larger != NULL ? larger : buffer->bytes;
        buffer->capacity = larger != NULL ? capacity : buffer->capacity;
    }
    if (!buffer->failed) {
        memcpy(buffer->bytes + buffer->size, bytes, size);
        buffer->size += size;
    }
    return !buffer->failed;
}

static enum sonde_status make_event(const struct sonde__upload_event *event,
                                    const struct sonde__upload_extent *extent,
                                    struct buffer *buffer)
{
    struct sonde__report_out out;
    buffer->size = 0;
    sonde__report_out_init(&out, (struct sonde__report_sink){append, buffer}, false);
    bool is_made = sonde__upload_put_event(&out, event, extent);
    sonde__report_out_flush(&out);
    return !is_made || buffer->failed                              ? SONDE_MEMORY
           : out.stopped || buffer->size > SONDE__UPLOAD_EVENT_MAX ? SONDE_LIMIT
                                                                   : SONDE_OK;
}

static void put_headers(struct sonde__report_out *out, const struct sonde__upload_event *event,
                        size_t size)
{
    struct sonde__json json;
    sonde__json_init_compact(&json, out);
    sonde__json_object(&json, NULL);
    sonde__json_string(&json, "event_id", event->event_id);
    sonde__json_time(&json, "sent_at", event->sent_unix_ns);
    sonde__json_object(&json, "sdk");
    sonde__json_string(&json, "name", "sonde");
    sonde__json_string(&json, "version", SONDE_VERSION);
    sonde__json_close(&json);
    sonde__json_close(&json);
    sonde__report_out_str(out, "\n");
    sonde__json_init_compact(&json, out);
    sonde__json_object(&json, NULL);
    sonde__json_string(&json, "type", "event");
    sonde__json_uint(&json, "length", size);
    sonde__json_string(&json, "content_type", "application/json");
    sonde__json_close(&json);
    sonde__report_out_str(out, "\n");
}

enum sonde_status sonde__upload_envelope(const struct sonde__upload_event *event, void **ret_bytes,
                                         size_t *ret_size)
{
    static const struct sonde__upload_extent extents[] = {{250, 128}, {250, 8}, {100, 0}, {20, 0}};
    struct buffer body = {0}, whole = {0};
    struct sonde__report_out out;
    enum sonde_status status = SONDE_LIMIT;
    for (size_t i = 0; status == SONDE_LIMIT && i < sizeof extents / sizeof extents[0]; i++) {
        status = make_event(event, &extents[i], &body);
    }
    if (status == SONDE_OK) {
        sonde__report_out_init(&out, (struct sonde__report_sink){append, &whole}, false);
        put_headers(&out, event, body.size);
        sonde__report_out_bytes(&out, body.bytes, body.size);
        sonde__report_out_str(&out, "\n");
        sonde__report_out_flush(&out);
        status = whole.failed ? SONDE_MEMORY : SONDE_OK;
    }
    sonde__mem_free(body.bytes);
    if (status != SONDE_OK) {
        sonde__mem_free(whole.bytes);
        return status;
    }
    *ret_bytes = whole.bytes;
    *ret_size = whole.size;
    return SONDE_OK;
}
