// SPDX-License-Identifier: Apache-2.0
/* A stream of stdio over a function. Context: any thread. */
#ifndef SONDE_HOST_STREAM_H
#define SONDE_HOST_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Write all `size` bytes. Returns false with errno set if it failed. */
typedef bool sonde__host_stream_write(void *ctx, const char *bytes, size_t size);

/* Open a stream whose bytes go to `write`. fclose() flushes it; `ctx` stays the caller's. Returns
 * null without memory. */
FILE *sonde__host_stream_open(sonde__host_stream_write *write, void *ctx);

#endif
