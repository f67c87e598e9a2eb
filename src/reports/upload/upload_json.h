// SPDX-License-Identifier: Apache-2.0
/* Reads the JSON body of an answer: members of one object whose values are texts or arrays of
 * texts. Everything else is validated and skipped. Depth and time are bounded, because the input is
 * untrusted. */
#ifndef SONDE_UPLOAD_JSON_H
#define SONDE_UPLOAD_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Called for each text that is the value of a member of the outermost object, or an element of such
 * an array. Long texts are cut; the text is NUL-terminated and valid during the call. */
typedef void (*sonde__upload_json_text)(void *ctx, const char *key, const char *text);

/* False: not exactly one JSON object (RFC 8259). Some texts may have been passed on before. */
bool sonde__upload_json_read(const void *bytes, size_t size, sonde__upload_json_text each,
                             void *ctx);

#endif
