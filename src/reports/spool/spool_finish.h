// SPDX-License-Identifier: Apache-2.0
/* Finishes killed runs: adds the stalls of a live file to the run's report and removes the live
 * file. A stall that had not ended is marked: fatal if its program has ended, else open. A live
 * file of recorded calls is itself the report, unless that was finished.
 *
 * A run whose lock is held has a writer and is skipped, so several processes may finish at once. If
 * one is killed here, the files are unchanged, or the finished report and a live file that adds
 * nothing. Context: any thread. */
#ifndef SONDE_SPOOL_FINISH_H
#define SONDE_SPOOL_FINISH_H

#include <sonde/status.h>

#include "report_model.h"
#include "report_read.h"
#include "spool_folder.h"

/* A run that was finished. */
struct sonde__spool_finished {
    const char *run;
    const struct sonde__report *report;
    uint32_t recovered; /* stalls that only the live file had; they are the report's last ones */
    bool has_calls;     /* recorded calls come from the live file */
};

struct sonde__spool_finishing {
    /* Look up names in the report; may be null. The result is ignored. */
    enum sonde_status (*name)(void *ctx, struct sonde__report *report);
    /* Called for each run with stalls; may be null. */
    void (*each)(void *ctx, const struct sonde__spool_finished *finished);
    /* Called with RUN.live and the reason if a run could not be finished. May be null. */
    void (*failed)(void *ctx, const char *name, const char *why);
    void *ctx;
};

/* Finish all runs of the folder. Returns OK (also if some could not be finished) | MEMORY | OS. */
SONDE_NODISCARD enum sonde_status
sonde__spool_finish(int32_t folder, const struct sonde__spool_finishing *finishing);

/* Read the report in a file of at most SONDE__SPOOL_READ_MAX bytes. Returns OK | ABSENT | DENIED |
 * CORRUPT (no report) | MEMORY | OS. Ownership: sonde__report_destroy(). */
#define SONDE__SPOOL_READ_MAX ((size_t)64 << 20)
SONDE_NODISCARD enum sonde_status sonde__spool_read(int32_t fd, struct sonde__report **ret_report,
                                                    struct sonde__report_loss *ret_loss,
                                                    struct sonde_error *ret_error);

/* Write a report to an open file. ends: with its end. Returns 0 or an errno. */
int sonde__spool_write(int32_t fd, const struct sonde__report *report, bool ends);
/* Write a report to a new file, locked. ends: with its end. Returns 0 or an errno; then there is no
 * such file. */
int sonde__spool_make_part(int32_t folder, const char *name, const struct sonde__report *report,
                           bool ends, int32_t *ret_fd);
/* Write a report to a temporary file and rename it. Returns 0 or an errno. */
int sonde__spool_replace(int32_t folder, const char *run_name, const char *name,
                         const struct sonde__report *report);

#endif
