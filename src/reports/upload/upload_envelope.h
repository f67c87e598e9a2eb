// SPDX-License-Identifier: Apache-2.0
/* A Sentry envelope with one event: a stall, or the stacks of a process. Pure functions.
 * docs/protocol.md describes the content and names its sources. */
#ifndef SONDE_UPLOAD_ENVELOPE_H
#define SONDE_UPLOAD_ENVELOPE_H

#include "report_model.h"

/* Sentry refuses events over 1 MiB. Parts are left out to stay below, other threads first. */
#define SONDE__UPLOAD_EVENT_MAX 1000000u

struct sonde__upload_event {
    const struct sonde__report *report;
    const struct sonde__report_stall *stall; /* null: the report's threads */
    const char *event_id;                    /* 32 hexadecimal digits */
    uint64_t sent_unix_ns;
};

/* Returns OK | MEMORY | LIMIT (too large even without all optional parts). Ownership:
 * sonde__mem_free(). */
SONDE_NODISCARD enum sonde_status sonde__upload_envelope(const struct sonde__upload_event *event,
                                                         void **ret_bytes, size_t *ret_size);

#endif
