// SPDX-License-Identifier: Apache-2.0
/* Stalls of one fingerprint as one, of one report or several. Context: any thread. */
#ifndef SONDE_REPORT_GROUP_H
#define SONDE_REPORT_GROUP_H

#include "report_fingerprint.h"

struct sonde__report_group {
    char id[SONDE__REPORT_FINGERPRINT_TEXT]; /* "": not known; such stalls are not grouped */
    uint64_t count, total_ns, longest_ns;
    uint64_t counted;           /* of them, in the report as a number only */
    uint64_t first_ns, last_ns; /* when the first and the last of them began */
    uint32_t longest;           /* index of the longest that is in a report; UINT32_MAX: none is */
    uint32_t source;            /* which of the reports that is in */
    uint32_t sources;           /* in how many of the reports there are some */
};

struct sonde__report_groups {
    struct sonde__report_group *list; /* in the order of their first stalls */
    uint32_t count;
};

/* With the stalls that the reports only count. The times of several reports count from the begin of
 * each. Returns OK | MEMORY. Ownership: sonde__report_groups_done(). */
SONDE_NODISCARD enum sonde_status
sonde__report_group_stalls(const struct sonde__report *const *reports, uint32_t count,
                           struct sonde__report_groups *ret);
void sonde__report_groups_done(struct sonde__report_groups *groups);

#endif
