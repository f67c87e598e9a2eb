// SPDX-License-Identifier: Apache-2.0
#include "host_stream.h"

#include <stdlib.h>

struct stream {
    sonde__host_stream_write *write;
    void *ctx;
};

/* funopen(3): -1 is a failure. */
static int write_cookie(void *cookie, const char *bytes, int size)
{
    const struct stream *stream = cookie;
    return stream->write(stream->ctx, bytes, (size_t)size) ? size : -1;
}

static int close_cookie(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *sonde__host_stream_open(sonde__host_stream_write *write, void *ctx)
{
    struct stream *stream = malloc(sizeof *stream);
    FILE *file = NULL;
    if (stream != NULL) {
        *stream = (struct stream){write, ctx};
        file = funopen(stream, NULL, write_cookie, NULL, close_cookie);
    }
    if (file == NULL) {
        free(stream);
    }
    return file;
}
