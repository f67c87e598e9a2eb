// SPDX-License-Identifier: Apache-2.0
/* The files of one run in a spool folder, from its begin to its end. Both are locked while their
 * writer lives. Context: any thread, one at a time. */
#ifndef SONDE_SPOOL_SESSION_H
#define SONDE_SPOOL_SESSION_H

#include <sonde/status.h>

#include "spool_folder.h"
#include "spool_stream.h"

struct sonde__spool_session {
    int32_t folder;
    char run[SONDE__SPOOL_NAME];
    int32_t report_fd; /* the run's report, to be appended to */
    int32_t live_fd;   /* -1: there is no live file, and `live_error` says why */
    int live_error;    /* errno */
    struct sonde__spool_stream live;
};

/* Make the folder, if it is missing, and the files of a run of process `pid`.
 * Returns OK (also without a live file: the disk is full) | as sonde__host_folder_open().
 * Ownership: sonde__spool_end(). */
SONDE_NODISCARD enum sonde_status sonde__spool_begin(const char *path, int32_t pid,
                                                     struct sonde__spool_session *ret_session,
                                                     struct sonde_error *ret_error);

/* Close the files. Without `keep_report` both are removed: the run had nothing to report.
 * keep_live: the report could not be written, so the next start has to finish it. */
void sonde__spool_end(struct sonde__spool_session *session, bool keep_report, bool keep_live);

#endif
