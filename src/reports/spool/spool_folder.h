// SPDX-License-Identifier: Apache-2.0
/* The names in a spool folder, and where it is.
 *
 *     20261123T164012Z-4242.live    the stalls of a run that last now, in a mapping
 *     20261123T164012Z-4242.sonde   the report of the run; no .live: the run is over
 *     counts.sonde                  stalls of reports that were removed, by fingerprint
 *
 * The time is UTC, when the watch began; the number is the pid. A second run of that second and pid
 * has "-2" behind it. Names in the order of bytes are in the order of time. Other names are not
 * ours and are left alone. Context: any thread. */
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
#define SONDE__SPOOL_PART   ".part" /* of a report that is being made */
#define SONDE__SPOOL_COUNTS "counts.sonde"

/* The user's own: $XDG_STATE_HOME/sonde/spool, else ~/.local/state/sonde/spool. False: neither is
 * known, or this program has more rights than the user who started it. */
bool sonde__spool_own_folder(char ret_path[SONDE__SPOOL_PATH]);

/* "20261123T164012Z-4242", and "-N" for n > 1. */
void sonde__spool_run_name(uint64_t unix_ns, int32_t pid, unsigned n,
                           char ret_name[SONDE__SPOOL_NAME]);
/* Is it the name of a run with that suffix? ret_run: without it; may be null. */
bool sonde__spool_is_run(const char *name, const char *suffix, char ret_run[SONDE__SPOOL_NAME]);
/* RUN and a suffix. */
void sonde__spool_file_name(const char *run, const char *suffix, char ret_name[SONDE__SPOOL_NAME]);

/* The runs that have a file with that suffix, oldest first. */
struct sonde__spool_runs {
    char (*names)[SONDE__SPOOL_NAME]; /* without the suffix */
    size_t count, capacity;
};
/* Returns OK | MEMORY | OS. Ownership: sonde__mem_free(ret_runs->names). */
SONDE_NODISCARD enum sonde_status sonde__spool_find_runs(int32_t folder, const char *suffix,
                                                         struct sonde__spool_runs *ret_runs);

#endif
