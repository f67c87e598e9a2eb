// SPDX-License-Identifier: Apache-2.0
/* Copies of a data folder, for backup and restore. */
#ifndef SONDE_COLLECTOR_COPY_H
#define SONDE_COLLECTOR_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

/* Copy a data folder, which a collector may use meanwhile, to a folder that is empty or not there.
 * What was acknowledged before the call is in the copy, which is on the disk at the end. can_link:
 * files of reports, which never change, become hard links where the file system can. Returns OK |
 * ABSENT (no data in `from`) | USAGE (`to` is not empty) | OS | CORRUPT (the database). */
SONDE_NODISCARD enum sonde_status copy_data(const char *from, const char *to, bool can_link,
                                            struct sonde_error *ret_error);

struct copy_counts {
    uint64_t reports, files; /* files: of reports, each compared with its name */
};
/* Check a data folder: the database, and the file of each report. Returns OK | ABSENT | CORRUPT
 * (ret_error says what is damaged). */
SONDE_NODISCARD enum sonde_status copy_check(const char *folder, struct copy_counts *ret_counts,
                                             struct sonde_error *ret_error);
/* Give up in the copy `to` the files that retention removed from `from` before they were copied.
 * Returns OK | CORRUPT (a database does not answer). */
SONDE_NODISCARD enum sonde_status copy_removed(const char *from, const char *to,
                                               struct sonde_error *ret_error);

#endif
