// SPDX-License-Identifier: Apache-2.0
/* File names in a spool folder, and its place.
 *
 *     20261123T164012Z-4242.live    the stalls of a run that last now, in a mapping
 *     20261123T164012Z-4242.sonde   the report of the run; no .live: the run is over
 *     counts.sonde                  stalls of reports that were removed, by fingerprint
 *
 * The time is the start of the watch in UTC; the number is the pid. A second run with the same time
 * and pid has the suffix "-2". Sorted by bytes, names are sorted by time. Other files are not ours
 * and are ignored. Context: any thread. */
#ifndef SONDE_SPOOL_FOLDER_H
#define SONDE_SPOOL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

/* With suffix and NUL. */
#define SONDE__SPOOL_NAME 64u
#define SONDE__SPOOL_PATH 4096u

#define SONDE__SPOOL_REPORT ".sonde"
#define SONDE__SPOOL_LIVE   ".live"
#define SONDE__SPOOL_PART   ".part" /* of an unfinished report */
#define SONDE__SPOOL_COUNTS "counts.sonde"

/* The user's folder: $XDG_STATE_HOME/sonde/spool, else ~/.local/state/sonde/spool; on Apple's
 * systems sonde/spool in the app's caches, ~/Library/Caches. False: neither is known, or this
 * program is setuid or the like. */
bool sonde__spool_own_folder(char ret_path[SONDE__SPOOL_PATH]);

/* "20261123T164012Z-4242"; for n > 1 with "-N". */
void sonde__spool_run_name(uint64_t unix_ns, int32_t pid, unsigned n,
                           char ret_name[SONDE__SPOOL_NAME]);
/* Is it a run's name with this suffix? ret_run: the name without it; may be null. */
bool sonde__spool_is_run(const char *name, const char *suffix, char ret_run[SONDE__SPOOL_NAME]);
/* Compose RUN and a suffix. */
void sonde__spool_file_name(const char *run, const char *suffix, char ret_name[SONDE__SPOOL_NAME]);

/* The runs with a file of this suffix, oldest first. */
struct sonde__spool_runs {
    char (*names)[SONDE__SPOOL_NAME]; /* without the suffix */
    size_t count, capacity;
};
/* Returns OK | MEMORY | OS. Ownership: sonde__mem_free(ret_runs->names). */
SONDE_NODISCARD enum sonde_status sonde__spool_find_runs(int32_t folder, const char *suffix,
                                                         struct sonde__spool_runs *ret_runs);

#endif
