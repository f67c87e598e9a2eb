// SPDX-License-Identifier: Apache-2.0
/* The few things that an answer's JSON body may say: members of one object whose values are texts,
 * or arrays of texts. Everything else is checked to be JSON, and skipped. Bounded in depth and
 * time; the input is a server's, or anybody's. */
#ifndef SONDE_UPLOAD_JSON_H
#define SONDE_UPLOAD_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Called for each text that is the value of a member of the outermost object, or an element of an
 * array that is; the text is cut at its end, NUL-terminated, and valid during the call. */
typedef void (*sonde__upload_json_text)(void *ctx, const char *key, const char *text);

/* False: it is not one whole JSON object (RFC 8259); some texts may have been passed on before. */
bool sonde__upload_json_read(const void *bytes, size_t size, sonde__upload_json_text each,
                             void *ctx);

#endif
