// SPDX-License-Identifier: Apache-2.0
#include "host_stream.h"

#include <stdlib.h>
#include <sys/types.h>

struct stream {
    sonde__host_stream_write *write;
    void *ctx;
};

/* fopencookie(3): 0 is a failure. */
static ssize_t write_cookie(void *cookie, const char *bytes, size_t size)
{
    const struct stream *stream = cookie;
    return stream->write(stream->ctx, bytes, size) ? (ssize_t)size : 0;
}

static int close_cookie(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *sonde__host_stream_open(sonde__host_stream_write *write, void *ctx)
{
    const cookie_io_functions_t functions = {.write = write_cookie, .close = close_cookie};
    struct stream *stream = malloc(sizeof *stream);
    FILE *file = NULL;
    if (stream != NULL) {
        *stream = (struct stream){write, ctx};
        file = fopencookie(stream, "w", functions);
    }
    if (file == NULL) {
        free(stream);
    }
    return file;
}
