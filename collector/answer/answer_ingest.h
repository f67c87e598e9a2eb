// SPDX-License-Identifier: Apache-2.0
/* What the routes that take reports share. For this folder only. */
#ifndef SONDE_COLLECTOR_ANSWER_INGEST_H
#define SONDE_COLLECTOR_ANSWER_INGEST_H

#include "answers.h"
#include "coding.h"

/* The coding of the body. False: one that is not accepted. */
bool ingest_coding(struct http_request *request, enum coding *ret_coding);
/* Decode the body. Returns 0, or the status that refuses, with a text. The bytes are this thread's
 * until the next call. */
unsigned ingest_unpack(struct http_request *request, enum coding coding, const void **ret_bytes,
                       size_t *ret_size, const char **ret_text);
/* Refuse it, and count that. Returns HTTP_NOW. */
enum http_when ingest_refuse(struct http_request *request, unsigned status, const char *text);
/* Put the body, with request->id and request->form, into the journal, unless the store has the id,
 * or too much is sent. The handler is called again. */
enum http_when ingest_put(struct http_request *request);
/* Answer a request that is_again. Returns HTTP_NOW. */
enum http_when ingest_again(struct http_request *request);

#endif
