// SPDX-License-Identifier: Apache-2.0
/* One report of a group: the events of its causes out of many reports, for exports.
 *
 * Its stalls follow each other: it is a profile, not a time line. Equal calls (the same stack, rule
 * and phase) are one with the sum of their counts; arguments that a rule kept are not in it. The
 * header is that of the first report. Memory is bounded by the model's limits. Context: any thread,
 * one at a time. */
#ifndef SONDE_COLLECTOR_MERGE_H
#define SONDE_COLLECTOR_MERGE_H

#include "digest.h"

struct merge;

/* Returns OK | MEMORY. Ownership: merge_end(). */
SONDE_NODISCARD enum sonde_status merge_begin(struct merge **ret_merge);
void merge_end(struct merge *merge);
/* A cause of the group; before the reports. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status merge_cause(struct merge *merge, const char *cause);
/* Add what a report has of the causes. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status merge_add(struct merge *merge,
                                            const struct sonde__report *report);
/* The number of events so far. */
uint64_t merge_count(const struct merge *merge);
/* The report, with a note of what it was made from. Once; merge_end() destroys it. */
struct sonde__report *merge_report(struct merge *merge, const char *note);

#endif
