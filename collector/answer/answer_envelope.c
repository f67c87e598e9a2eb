// SPDX-License-Identifier: Apache-2.0
/* POST /api/PROJECT/envelope/: what Sentry's SDKs send. An envelope with an event is answered with
 * 2xx when it is in the journal; what else it has (sessions, transactions, counts) is not kept.
 * Only the places of its items are looked at here; the worker reads the event. */
#include <string.h>

#include "answer_ingest.h"
#include "collector.h"
#include "envelope.h"

/* An envelope without an event: there is nothing to keep. */
static enum http_when accept_nothing(struct http_request *request)
{
    char *body = strdup("{}\n");
    request->collector->eventless++;
    return http_give(request, 200, "application/json", body, body != NULL ? 3 : 0);
}

enum http_when answer_envelope(struct http_request *request)
{
    enum coding coding;
    struct envelope envelope;
    struct sonde_error error;
    const char *text = NULL;
    const void *bytes;
    size_t size;
    if (request->is_again) {
        return ingest_again(request);
    }
    if (!ingest_coding(request, &coding)) {
        http_add_header(request, "Accept-Encoding", "zstd, gzip, deflate");
        return ingest_refuse(request, 415,
                             "this content coding is not accepted: zstd, gzip, deflate or none");
    }
    unsigned status = ingest_unpack(request, coding, &bytes, &size, &text);
    if (status != 0) {
        return ingest_refuse(request, status, text);
    }
    if (!envelope_read(bytes, size, &envelope, &error)) {
        return ingest_refuse(request, 400, error.what);
    }
    if (envelope.event == NULL) {
        return accept_nothing(request);
    }
    request->id = envelope.id;
    request->form = JOURNAL_ENVELOPE + (uint32_t)coding;
    return ingest_put(request);
}
