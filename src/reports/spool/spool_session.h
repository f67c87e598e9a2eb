// SPDX-License-Identifier: Apache-2.0
/* The files of one run in a spool folder. The writer holds locks on both. Context: any thread, one
 * at a time. */
#ifndef SONDE_SPOOL_SESSION_H
#define SONDE_SPOOL_SESSION_H

#include <sonde/status.h>

#include "report_model.h"
#include "spool_folder.h"
#include "spool_stream.h"

struct sonde__spool_session {
    int32_t folder;
    char run[SONDE__SPOOL_NAME];
    int32_t report_fd; /* the run's report, for appending */
    int32_t live_fd;   /* -1: no live file, because of `live_error` */
    int live_error;    /* errno */
    struct sonde__spool_stream live;
};

/* Make the folder, if it is missing, and the files for a run of process `pid`. streams: the live
 * file is written through `live`; else by sonde__spool_rewrite().
 * Returns OK (also without a live file, e.g. on a full disk) | as sonde__host_folder_open().
 * Ownership: sonde__spool_end(). */
SONDE_NODISCARD enum sonde_status sonde__spool_begin(const char *path, int32_t pid, bool streams,
                                                     struct sonde__spool_session *ret_session,
                                                     struct sonde_error *ret_error);

/* Replace the live file by a report without an end. A process that is killed here leaves the old
 * one or the new one, whole. Returns 0 or an errno; then the old one stays. */
int sonde__spool_rewrite(struct sonde__spool_session *session, const struct sonde__report *report);

/* Close the files. Without `keep_report` both are removed, because the run had nothing to report.
 * keep_live: the report could not be written, so the next start must finish it. */
void sonde__spool_end(struct sonde__spool_session *session, bool keep_report, bool keep_live);

#endif
