// SPDX-License-Identifier: Apache-2.0
/* Groups stalls by fingerprint, over one report or several. Context: any thread. */
#ifndef SONDE_REPORT_GROUP_H
#define SONDE_REPORT_GROUP_H

#include "report_fingerprint.h"

struct sonde__report_group {
    char id[SONDE__REPORT_FINGERPRINT_TEXT]; /* "": unknown; such stalls are not grouped */
    uint64_t count, total_ns, longest_ns;
    uint64_t counted;           /* how many of them are in a report as a number only */
    uint64_t first_ns, last_ns; /* when the first and the last of them began */
    uint32_t longest;           /* index of the longest in a report; UINT32_MAX: none */
    uint32_t source;            /* the report with that stall */
    uint32_t sources;           /* number of reports with such stalls */
};

struct sonde__report_groups {
    struct sonde__report_group *list; /* ordered by first stall */
    uint32_t count;
};

/* Includes stalls that the reports only count. Times count from the start of each report. Returns
 * OK | MEMORY. Ownership: sonde__report_groups_done(). */
SONDE_NODISCARD enum sonde_status
sonde__report_group_stalls(const struct sonde__report *const *reports, uint32_t count,
                           struct sonde__report_groups *ret);
void sonde__report_groups_done(struct sonde__report_groups *groups);

#endif
