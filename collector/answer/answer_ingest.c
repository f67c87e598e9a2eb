// SPDX-License-Identifier: Apache-2.0
/* POST /api/reports: docs/protocol.md, version 1; and reports of other tools (foreign.h). A report
 * is answered with 2xx when it is on the disk: in the journal.
 *
 * The reports that a thread has received wait until it has looked at all requests that are ready
 * and finds no more; then they are written together, and synced once. While it waits for the disk
 * others arrive, so the slower the disk the more share a sync. No other thread takes part: a switch
 * of threads costs more than the rest of a request. */
#include "answer_ingest.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "foreign.h"
#include "report_read.h"
#include "say.h"

#define PROTOCOL "1"

/* Memory of a thread for decoded bodies: most are small. Freed when the thread ends. */
enum { KEPT_BYTES = 256 << 10 };
static _Thread_local struct coding_bytes decoded;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ends;

static void make_key(void)
{
    (void)pthread_key_create(&ends, free);
}

enum http_when ingest_refuse(struct http_request *request, unsigned status, const char *text)
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

bool ingest_coding(struct http_request *request, enum coding *ret_coding)
{
    static const struct {
        const char *name;
        enum coding coding;
    } codings[] = {{"identity", CODING_NONE},
                   {"zstd", CODING_ZSTD},
                   {"gzip", CODING_GZIP},
                   {"deflate", CODING_DEFLATE}};
    const char *name = http_header(request, "Content-Encoding");
    *ret_coding = CODING_NONE;
    for (size_t i = 0; name != NULL && i < sizeof codings / sizeof *codings; i++) {
        if (strcasecmp(name, codings[i].name) == 0) {
            *ret_coding = codings[i].coding;
            return true;
        }
    }
    return name == NULL;
}

/* Of a report, which has three codings. */
static bool form_of(struct http_request *request, enum coding *ret_coding)
{
    bool is_known = ingest_coding(request, ret_coding) && *ret_coding != CODING_DEFLATE;
    request->form = *ret_coding == CODING_ZSTD   ? JOURNAL_REPORT_ZSTD
                    : *ret_coding == CODING_GZIP ? JOURNAL_REPORT_GZIP
                                                 : JOURNAL_REPORT;
    return is_known;
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

unsigned ingest_unpack(struct http_request *request, enum coding coding, const void **ret_bytes,
                       size_t *ret_size, const char **ret_text)
{
    if (decoded.capacity > KEPT_BYTES) {
        free(decoded.bytes);
        decoded = (struct coding_bytes){0};
        (void)pthread_setspecific(ends, NULL);
    }
    *ret_bytes = request->body;
    *ret_size = request->size;
    if (coding == CODING_NONE) {
        return 0;
    }
    int os_error = coding_unpack(coding, request->body, request->size, &decoded);
    pthread_once(&once, make_key);
    (void)pthread_setspecific(ends, decoded.bytes);
    *ret_text = os_error == EFBIG    ? "the report is too large: at most 64 MiB"
                : os_error == ENOMEM ? "no memory for it"
                                     : "the body is damaged, or cut";
    *ret_bytes = decoded.bytes;
    *ret_size = decoded.size;
    return os_error == 0 ? 0 : os_error == EFBIG ? 413 : os_error == ENOMEM ? 503 : 400;
}

/* Returns 0, or the status that refuses, with a text. */
static unsigned look_at_body(struct http_request *request, enum coding coding,
                             const char **ret_text)
{
    const void *bytes;
    size_t size;
    unsigned status = ingest_unpack(request, coding, &bytes, &size, ret_text);
    if (status != 0) {
        return status;
    }
    *ret_text = "this is no report that is read here";
    size_t begin = size < SONDE__REPORT_BEGIN_BYTES ? size : SONDE__REPORT_BEGIN_BYTES;
    if (size == 0 || !sonde__report_begins(bytes, begin)) {
        uint32_t form = foreign_form(bytes, size);
        if (form == 0) {
            return 422;
        }
        request->form = form + (uint32_t)coding;
    }
    *ret_text = "Idempotency-Key: 32 hexadecimal digits are expected";
    return find_id(request, bytes, size) ? 0 : 400;
}

static enum http_when accept_it(struct http_request *request, bool is_known)
{
    enum { TEXT = 128 };
    char id[IDS_REPORT_TEXT];
    char *body = malloc(TEXT);
    int size = 0;
    ids_report_text(&request->id, id);
    if (body != NULL) {
        size = snprintf(body, TEXT, "{\"id\": \"%s\", \"stored\": \"%s\", \"need_symbols\": []}\n",
                        id, is_known ? "known" : "new");
    }
    request->collector->accepted++;
    return http_give(request, is_known ? 200 : 201, "application/json", body, (size_t)size);
}

/* --- the reports of one batch --- */

/* Requests of this thread whose reports are not on the disk yet. */
static _Thread_local struct {
    struct http_request *requests[JOURNAL_BATCH_MAX];
    unsigned count;
    unsigned seen; /* how many there were when the first was looked at again last */
} batch;

/* How much waits for the worker, and whether that is too much: counted anew when something was
 * written, and while it is too much. */
static bool is_behind(struct collector *c)
{
    if (c->behind_bytes > c->behind_max) {
        c->behind_bytes = journal_behind(c->journal, worker_place(c->worker));
    }
    return c->behind_bytes > c->behind_max;
}

static void write_batch(struct collector *c)
{
    struct journal_entry entries[JOURNAL_BATCH_MAX];
    uint64_t now_ns = collector_now_ns();
    for (unsigned i = 0; i < batch.count; i++) {
        struct http_request *request = batch.requests[i];
        entries[i] = (struct journal_entry){.id = request->id,
                                            .project = request->project,
                                            .form = request->form,
                                            .received_ns = now_ns,
                                            .bytes = request->body,
                                            .size = (uint32_t)request->size};
    }
    int os_error = journal_write(c->journal, entries, batch.count);
    for (unsigned i = 0; i < batch.count; i++) {
        batch.requests[i]->os_error = os_error;
        batch.requests[i]->forget = NULL;
    }
    batch.count = batch.seen = 0;
    c->behind_bytes = journal_behind(c->journal, worker_place(c->worker));
}

/* The sender went away. */
static void forget(struct http_request *request)
{
    for (unsigned i = 0; i < batch.count; i++) {
        if (batch.requests[i] == request) {
            batch.requests[i] = batch.requests[--batch.count];
            return;
        }
    }
}

/* Has the thread all that it may write now? It has looked at all requests that are ready since the
 * last sync ended, of this thread or another, and found no more. */
static bool is_batch_whole(const struct http_request *request)
{
    if (request != batch.requests[0]) { /* once in a round */
        return false;
    }
    if (batch.seen == batch.count) {
        return true;
    }
    if (batch.seen == 0) {
        journal_let_write(request->collector->journal);
    }
    batch.seen = batch.count;
    return false;
}

enum http_when ingest_again(struct http_request *request)
{
    if (request->forget != NULL) {
        if (!is_batch_whole(request)) {
            return HTTP_AGAIN;
        }
        write_batch(request->collector);
    }
    if (request->os_error == 0) {
        return accept_it(request, false);
    }
    say_error("a report cannot be written to the journal: %s", strerror(request->os_error));
    http_add_header(request, "Retry-After", "60");
    bool is_full = request->os_error == ENOSPC || request->os_error == EDQUOT;
    return ingest_refuse(request, is_full ? 507 : 503, "the collector's disk does not take it");
}

static enum http_when put_into_batch(struct http_request *request)
{
    if (is_behind(request->collector)) {
        http_add_header(request, "Retry-After", "30");
        return ingest_refuse(request, 503, "too many reports wait: come back");
    }
    uint32_t wait = limits_take(request->collector->limits, request->project, &request->key.limit,
                                collector_now_ns());
    if (wait != 0) {
        request->collector->limited++;
        http_add_header(request, "Retry-After", "%u", wait);
        return ingest_refuse(request, 429,
                             "the project has sent as much as it may: come back later");
    }
    if (batch.count == JOURNAL_BATCH_MAX) {
        write_batch(request->collector);
    }
    batch.requests[batch.count++] = request;
    request->forget = forget;
    return HTTP_AGAIN;
}

enum http_when ingest_put(struct http_request *request)
{
    enum store_status known =
        store_knows(request->collector->store, request->project, &request->id);
    if (known == STORE_FAILED) {
        http_add_header(request, "Retry-After", "30");
        return ingest_refuse(request, 503, "the database does not answer");
    }
    return known == STORE_KNOWN ? accept_it(request, true) : put_into_batch(request);
}

enum http_when answer_ingest(struct http_request *request)
{
    enum coding coding;
    const char *text;
    if (request->is_again) {
        return ingest_again(request);
    }
    http_add_header(request, "Sonde-Protocol", PROTOCOL);
    if (!speaks_it(request)) {
        return ingest_refuse(request, 426, "this collector speaks version 1 of the protocol");
    }
    if (!form_of(request, &coding)) {
        http_add_header(request, "Accept-Encoding", "zstd, gzip");
        return ingest_refuse(request, 415,
                             "this content coding is not accepted: zstd, gzip or none");
    }
    unsigned status = look_at_body(request, coding, &text);
    return status != 0 ? ingest_refuse(request, status, text) : ingest_put(request);
}
