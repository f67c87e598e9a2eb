// SPDX-License-Identifier: Apache-2.0
/* POST /api/reports: docs/protocol.md, version 1. A report is answered with 2xx when it is on the
 * disk: in the journal. */
#include "answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coding.h"
#include "collector.h"
#include "report_read.h"
#include "say.h"

#define PROTOCOL "1"

/* Memory of a thread for decoded bodies: most are small. */
enum { KEPT_BYTES = 256 << 10 };
static _Thread_local struct coding_bytes decoded;

static enum http_when refuse(struct http_request *request, unsigned status, const char *text)
{
    request->collector->refused++;
    return http_refuse(request, status, "%s", text);
}

/* Does the sender speak version 1? A sender without the header is no sender of ours, but may speak
 * it (curl). */
static bool speaks_it(struct http_request *request)
{
    const char *version = http_header(request, "Sonde-Protocol");
    return version == NULL || strtoul(version, NULL, 10) >= 1;
}

static bool form_of(struct http_request *request, enum coding *ret_coding, uint32_t *ret_form)
{
    const char *coding = http_header(request, "Content-Encoding");
    if (coding == NULL || strcasecmp(coding, "identity") == 0) {
        *ret_coding = CODING_NONE;
        *ret_form = JOURNAL_REPORT;
    } else if (strcasecmp(coding, "zstd") == 0) {
        *ret_coding = CODING_ZSTD;
        *ret_form = JOURNAL_REPORT_ZSTD;
    } else if (strcasecmp(coding, "gzip") == 0) {
        *ret_coding = CODING_GZIP;
        *ret_form = JOURNAL_REPORT_GZIP;
    } else {
        return false;
    }
    return true;
}

/* The id in quotes, or without; else a hash of the content, as senders make it without an id. */
static bool find_id(struct http_request *request, const void *bytes, size_t size)
{
    const char *key = http_header(request, "Idempotency-Key");
    if (key == NULL) {
        struct hash hash = ids_hash(bytes, size);
        memcpy(request->id.bytes, hash.bytes, sizeof request->id.bytes);
        return true;
    }
    size_t length = strlen(key);
    if (length >= 2 && key[0] == '"' && key[length - 1] == '"') {
        key++;
        length -= 2;
    }
    return ids_parse_report(key, length, &request->id);
}

/* Returns 0, or the status that refuses, with a text. */
static unsigned look_at_body(struct http_request *request, enum coding coding,
                             const char **ret_text)
{
    const void *bytes = request->body;
    size_t size = request->size;
    if (coding != CODING_NONE) {
        int os_error = coding_unpack(coding, bytes, size, &decoded);
        *ret_text = os_error == EFBIG    ? "the report is too large: at most 64 MiB"
                    : os_error == ENOMEM ? "no memory for it"
                                         : "the body is damaged, or cut";
        if (os_error != 0) {
            return os_error == EFBIG ? 413 : os_error == ENOMEM ? 503 : 400;
        }
        bytes = decoded.bytes;
        size = decoded.size;
    }
    *ret_text = "this is no sonde report";
    if (size == 0 || !sonde__report_begins(bytes, size < SONDE__REPORT_BEGIN_BYTES
                                                      ? size
                                                      : SONDE__REPORT_BEGIN_BYTES)) {
        return 422;
    }
    *ret_text = "Idempotency-Key: 32 hexadecimal digits are expected";
    return find_id(request, bytes, size) ? 0 : 400;
}

static enum http_when accept_it(struct http_request *request, bool is_known)
{
    char id[IDS_REPORT_TEXT];
    char *body = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&body, &size);
    ids_report_text(&request->id, id);
    if (out != NULL) {
        fprintf(out, "{\"id\": \"%s\", \"stored\": \"%s\", \"need_symbols\": []}\n", id,
                is_known ? "known" : "new");
        fclose(out);
    }
    request->collector->accepted++;
    return http_give(request, is_known ? 200 : 201, "application/json", body, size);
}

static void on_disk(void *ctx, int os_error)
{
    struct http_request *request = ctx;
    request->os_error = os_error;
    http_resume(request);
}

static enum http_when after_journal(struct http_request *request)
{
    if (request->os_error == 0) {
        return accept_it(request, false);
    }
    say_error("a report cannot be written to the journal: %s", strerror(request->os_error));
    http_add_header(request, "Retry-After", "60");
    bool is_full = request->os_error == ENOSPC || request->os_error == EDQUOT;
    return refuse(request, is_full ? 507 : 503, "the collector's disk does not take it");
}

static enum http_when put_into_journal(struct http_request *request, uint32_t form)
{
    struct collector *c = request->collector;
    if (journal_behind(c->journal, worker_place(c->worker)) > c->behind_max) {
        http_add_header(request, "Retry-After", "30");
        return refuse(request, 503, "too many reports wait: come back");
    }
    const struct journal_entry entry = {.id = request->id,
                                        .project = request->project,
                                        .form = form,
                                        .received_ns = collector_now_ns(),
                                        .bytes = request->body,
                                        .size = (uint32_t)request->size};
    http_suspend(request);
    journal_add(c->journal, &entry, on_disk, request);
    return HTTP_LATER;
}

enum http_when answer_ingest(struct http_request *request)
{
    enum coding coding;
    uint32_t form;
    const char *text;
    if (request->is_resumed) {
        return after_journal(request);
    }
    http_add_header(request, "Sonde-Protocol", PROTOCOL);
    if (!speaks_it(request)) {
        return refuse(request, 426, "this collector speaks version 1 of the protocol");
    }
    if (!form_of(request, &coding, &form)) {
        http_add_header(request, "Accept-Encoding", "zstd, gzip");
        return refuse(request, 415, "this content coding is not accepted: zstd, gzip or none");
    }
    unsigned status = look_at_body(request, coding, &text);
    if (decoded.capacity > KEPT_BYTES) {
        free(decoded.bytes);
        decoded = (struct coding_bytes){0};
    }
    if (status != 0) {
        return refuse(request, status, text);
    }
    enum store_status known =
        store_knows(request->collector->store, request->project, &request->id);
    if (known == STORE_FAILED) {
        http_add_header(request, "Retry-After", "30");
        return refuse(request, 503, "the database does not answer");
    }
    return known == STORE_KNOWN ? accept_it(request, true) : put_into_journal(request, form);
}
