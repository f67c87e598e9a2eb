// SPDX-License-Identifier: Apache-2.0
/* Kept arguments of recorded calls (record_kept.h) for a report. The program's data is not trusted.
 * Context: any thread. */
#ifndef SONDE_AUDIT_KEEP_H
#define SONDE_AUDIT_KEEP_H

#include <sonde/status.h>

#include "audit_ruling.h"
#include "record_kept.h"
#include "report_model.h"

/* What a table has, in the order of numbers. Zeroed: nothing. */
struct sonde__audit_keep {
    const struct sonde__kept *kept;
    struct sonde__audit_kept_at {
        uint32_t number, slot;
    } * list;
    uint32_t count;
};

/* kept: the program may be writing it; it must live as long. Returns OK | MEMORY. Release:
 * sonde__audit_keep_close(). */
SONDE_NODISCARD enum sonde_status sonde__audit_keep_open(const struct sonde__kept *kept,
                                                         struct sonde__audit_keep *ret_keep);
void sonde__audit_keep_close(struct sonde__audit_keep *keep);

/* Calls of one stack, by one or two numbers (two: those over the limit, too); NO_NUMBER: none. */
struct sonde__audit_kept_calls {
    uint32_t label;
    uint32_t numbers[2];
    uint64_t count;
};

/* The arguments of such calls: the most frequent values first, then the calls with others. Values
 * are texts of the report, without what its rules of privacy remove. Returns how many. */
uint32_t sonde__audit_keep_arguments(
    const struct sonde__audit_keep *keep, const struct sonde__audit_ruling *ruling,
    const struct sonde__audit_kept_calls *calls, struct sonde__report *report,
    struct sonde__report_argument ret_arguments[SONDE__REPORT_ARGUMENTS_MAX]);

#endif
