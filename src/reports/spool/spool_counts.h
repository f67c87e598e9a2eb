// SPDX-License-Identifier: Apache-2.0
/* Limits a spool folder. The oldest reports are removed when there are too many, or they are too
 * large or too old; counts.sonde, a report of StallCount messages only, then counts their stalls by
 * fingerprint. No stall is counted twice or lost even if the process is killed: a report is removed
 * after the file has its counts and names it as the last one (tag "last").
 *
 * Ages are by the machine's clock, which may step; a report from the future counts as new. Context:
 * any thread. */
#ifndef SONDE_SPOOL_COUNTS_H
#define SONDE_SPOOL_COUNTS_H

#include <sonde/status.h>

#include "report_model.h"
#include "spool_folder.h"

struct sonde__spool_caps {
    uint32_t reports_max;
    uint64_t bytes_max; /* total size of the reports of finished runs */
    uint64_t age_max_ns;
};

/* Two weeks of a program that is started a few times a day; less than one large core file. */
#define SONDE__SPOOL_CAPS                                                                          \
    {                                                                                              \
        64, (uint64_t)32 << 20, (uint64_t)14 * 24 * 3600 * 1000000000u                             \
    }

/* Distinct fingerprints that are counted; further ones are counted together, without a
 * fingerprint. */
#define SONDE__SPOOL_COUNTS_MAX 4096u

/* Remove finished runs that exceed the caps. Does nothing if another process is doing it.
 * ret_removed: number of reports; may be null. Returns OK | MEMORY | OS | LIMIT (disk full: nothing
 * more was removed). */
SONDE_NODISCARD enum sonde_status sonde__spool_trim(int32_t folder,
                                                    const struct sonde__spool_caps *caps,
                                                    uint64_t now_unix_ns, uint32_t *ret_removed);

#endif
