// SPDX-License-Identifier: Apache-2.0
/* How much a spool folder keeps. The oldest reports are removed when there are too many, when they
 * are too large, or too old. Their stalls are then counted, by fingerprint, in counts.sonde: a
 * report with StallCount messages only. No stall is counted twice or lost, even if a process is
 * killed here: a report is removed after its counts are in the file, which names it as the last one
 * (tag "last").
 *
 * Ages are by the clock of the machine, which may step: a report of the future is new. Context: any
 * thread. */
#ifndef SONDE_SPOOL_COUNTS_H
#define SONDE_SPOOL_COUNTS_H

#include <sonde/status.h>

#include "report_model.h"
#include "spool_folder.h"

struct sonde__spool_caps {
    uint32_t reports_max;
    uint64_t bytes_max; /* of all reports of runs that are over */
    uint64_t age_max_ns;
};

/* Two weeks of a program that is started some times a day; less than one large core. */
#define SONDE__SPOOL_CAPS                                                                          \
    {                                                                                              \
        64, (uint64_t)32 << 20, (uint64_t)14 * 24 * 3600 * 1000000000u                             \
    }

/* Different fingerprints that are counted. Further ones are counted together, under none. */
#define SONDE__SPOOL_COUNTS_MAX 4096u

/* Remove what exceeds the caps, of runs that are over. Does nothing while another process does it.
 * ret_removed: reports; may be null. Returns OK | MEMORY | OS | LIMIT (the disk is full: nothing
 * more was removed). */
SONDE_NODISCARD enum sonde_status sonde__spool_trim(int32_t folder,
                                                    const struct sonde__spool_caps *caps,
                                                    uint64_t now_unix_ns, uint32_t *ret_removed);

#endif
