// SPDX-License-Identifier: Apache-2.0
/* What a report becomes on the wire: for a collector the file as it is; for Sentry an envelope for
 * each stall, since an envelope has one event. Each part has an id that follows from the report
 * alone, so the same report gives the same ids, whoever sends it and how often. Pure functions. */
#ifndef SONDE_UPLOAD_PARTS_H
#define SONDE_UPLOAD_PARTS_H

#include <stdbool.h>

#include "report_model.h"
#include "upload_address.h"

#define SONDE__UPLOAD_ID_TEXT 33u /* 32 hexadecimal digits */

/* Of one report to Sentry: more are no news. The longest stalls are sent. */
#define SONDE__UPLOAD_EVENTS_MAX 20u

struct sonde__upload_parts {
    enum sonde__upload_protocol protocol;
    const void *bytes; /* the file */
    size_t size;
    struct sonde__report *report; /* as far as it can be read */
    char report_id[SONDE__UPLOAD_ID_TEXT];
    uint32_t count;
    uint32_t stalls[SONDE__UPLOAD_EVENTS_MAX]; /* Sentry: which */
};

/* The bytes stay the caller's and valid. Returns OK | CORRUPT (no report: nothing of it can be
 * read) | UNSUPPORTED (a kind of report that Sentry has no event for) | MEMORY. Ownership:
 * sonde__upload_parts_done(). */
SONDE_NODISCARD enum sonde_status sonde__upload_parts_make(enum sonde__upload_protocol protocol,
                                                           const void *bytes, size_t size,
                                                           struct sonde__upload_parts *ret_parts);
void sonde__upload_parts_done(struct sonde__upload_parts *parts);

/* The body of part i and its id. sent_unix_ns: when it is sent. Returns OK | MEMORY | LIMIT (an
 * event that cannot be made small enough). Ownership of *ret_made: sonde__mem_free(); null: the
 * body is not a copy. */
SONDE_NODISCARD enum sonde_status sonde__upload_part_body(const struct sonde__upload_parts *parts,
                                                          uint32_t i, uint64_t sent_unix_ns,
                                                          char ret_id[SONDE__UPLOAD_ID_TEXT],
                                                          const void **ret_body, size_t *ret_size,
                                                          void **ret_made);

/* The headers of a request as "Name: value" in `ret_lines`, whose texts are in `ret_text`.
 * coding_name: null: identity. */
#define SONDE__UPLOAD_HEADERS_MAX  10u
#define SONDE__UPLOAD_HEADERS_TEXT 1024u
void sonde__upload_headers(const struct sonde__upload_address *address, const char *id,
                           const char *coding_name,
                           const char *ret_lines[SONDE__UPLOAD_HEADERS_MAX],
                           char ret_text[SONDE__UPLOAD_HEADERS_TEXT]);

#endif
