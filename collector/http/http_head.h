// SPDX-License-Identifier: Apache-2.0
/* What is refused of a request whatever it asks for. For this folder only. */
#ifndef SONDE_COLLECTOR_HTTP_HEAD_H
#define SONDE_COLLECTOR_HTTP_HEAD_H

#include <stddef.h>

struct MHD_Connection;

/* Look at the headers of a request. Returns 0, or the status that refuses: 400 (two programs may
 * read it in two ways), 501 (a transfer coding other than chunked). Context: a thread for HTTP. */
unsigned http_look_at_head(void *connection);
/* Decode a path, a name or a value of a query in place, as libmicrohttpd's option asks for it.
 * Returns the length. */
size_t http_unescape(void *ctx, struct MHD_Connection *connection, char *text);

#endif
