// SPDX-License-Identifier: Apache-2.0
/* The requests for one report: for a collector the whole file; for Sentry one envelope for each
 * stall, because an envelope has one event. Ids of the parts depend on the report alone, so
 * repeated uploads have the same ids. Pure functions. */
#ifndef SONDE_UPLOAD_PARTS_H
#define SONDE_UPLOAD_PARTS_H

#include <stdbool.h>

#include "report_model.h"
#include "upload_address.h"

#define SONDE__UPLOAD_ID_TEXT 33u /* 32 hexadecimal digits */

/* Events sent to Sentry for one report: the longest stalls. More would add nothing. */
#define SONDE__UPLOAD_EVENTS_MAX 20u

struct sonde__upload_parts {
    enum sonde__upload_protocol protocol;
    const void *bytes; /* the file */
    size_t size;
    struct sonde__report *report; /* what could be read of it */
    char report_id[SONDE__UPLOAD_ID_TEXT];
    uint32_t count;
    uint32_t stalls[SONDE__UPLOAD_EVENTS_MAX]; /* for Sentry: the stalls to send */
};

/* The bytes must outlive the result. Returns OK | CORRUPT (not a report) | UNSUPPORTED (Sentry has
 * no event for this kind) | MEMORY. Ownership: sonde__upload_parts_done(). */
SONDE_NODISCARD enum sonde_status sonde__upload_parts_make(enum sonde__upload_protocol protocol,
                                                           const void *bytes, size_t size,
                                                           struct sonde__upload_parts *ret_parts);
void sonde__upload_parts_done(struct sonde__upload_parts *parts);

/* The body and id of part i. sent_unix_ns: the current time. Returns OK | MEMORY | LIMIT (the event
 * cannot be made small enough). Ownership: sonde__mem_free(*ret_made); null: the body is not a
 * copy. */
SONDE_NODISCARD enum sonde_status sonde__upload_part_body(const struct sonde__upload_parts *parts,
                                                          uint32_t i, uint64_t sent_unix_ns,
                                                          char ret_id[SONDE__UPLOAD_ID_TEXT],
                                                          const void **ret_body, size_t *ret_size,
                                                          void **ret_made);

/* Request headers as "Name: value" in `ret_lines`; `ret_text` has their texts. coding_name null:
 * identity. */
#define SONDE__UPLOAD_HEADERS_MAX  10u
#define SONDE__UPLOAD_HEADERS_TEXT 1024u
void sonde__upload_headers(const struct sonde__upload_address *address, const char *id,
                           const char *coding_name,
                           const char *ret_lines[SONDE__UPLOAD_HEADERS_MAX],
                           char ret_text[SONDE__UPLOAD_HEADERS_TEXT]);

#endif
