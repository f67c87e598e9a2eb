// SPDX-License-Identifier: Apache-2.0
/* Reports of other tools as reports of sonde, which everything behind the journal takes: one reader
 * for each format. What a format does not say is not made up: a hang without a length has none, a
 * frame without an address has a name only. A pure function of the bytes; bounded time and memory
 * for any bytes. Context: one thread at a time. */
#ifndef SONDE_COLLECTOR_IMPORT_H
#define SONDE_COLLECTOR_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "journal.h"

/* The numbers are those of the journal's forms (journal.h). */
enum import_form {
    IMPORT_ENVELOPE = JOURNAL_ENVELOPE, /* Sentry: import_event.c */
    IMPORT_IPS = JOURNAL_IPS,           /* Apple's crash logs: import_ips.c, import_crash.c */
    IMPORT_CRASH = JOURNAL_CRASH,
    IMPORT_METRICS = JOURNAL_METRICS, /* Apple's MetricKit: import_metrics.c */
};

/* Make a report of it. id: 32 hexadecimal digits. Returns OK | CORRUPT | LIMIT (ret_error says what
 * is wrong) | MEMORY. Ownership: sonde__mem_free() of *ret_bytes. */
SONDE_NODISCARD enum sonde_status import_read(enum import_form form, const void *bytes, size_t size,
                                              const char *id, void **ret_bytes, size_t *ret_size,
                                              struct sonde_error *ret_error);

#endif
