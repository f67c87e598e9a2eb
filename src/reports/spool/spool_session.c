// SPDX-License-Identifier: Apache-2.0
#include "spool_session.h"

#include <errno.h>

#include "base_status.h"
#include "host_clock.h"
#include "host_folder.h"
#include "host_run.h"
#include "spool_finish.h"

/* Limit of runs with one pid in one second. */
#define TRIES 1000u

/* Returns 0 or an errno. */
static int make_files(struct sonde__spool_session *session, int32_t pid, bool streams)
{
    uint64_t now_ns = sonde__host_unix_ns();
    char name[SONDE__SPOOL_NAME];
    int reason = EEXIST;
    for (unsigned n = 1; n <= TRIES && reason == EEXIST; n++) {
        sonde__spool_run_name(now_ns, pid, n, session->run);
        sonde__spool_file_name(session->run, SONDE__SPOOL_REPORT, name);
        reason = sonde__host_folder_make(session->folder, name, &session->report_fd);
    }
    if (reason != 0) {
        return reason;
    }
    sonde__spool_file_name(session->run, SONDE__SPOOL_LIVE, name);
    reason = sonde__host_folder_make(session->folder, name, &session->live_fd);
    if (reason == 0 && streams) {
        reason = sonde__spool_stream_open(&session->live, session->live_fd);
        if (reason != 0) {
            (void)sonde__host_folder_remove(session->folder, name);
            sonde__host_close(session->live_fd);
        }
    }
    session->live_error = reason;
    session->live_fd = reason == 0 ? session->live_fd : -1;
    return 0;
}

enum sonde_status sonde__spool_begin(const char *path, int32_t pid, bool streams,
                                     struct sonde__spool_session *ret_session,
                                     struct sonde_error *ret_error)
{
    struct sonde__spool_session session = {.live_fd = -1};
    SONDE_TRY(sonde__host_folder_open(path, true, &session.folder, ret_error));
    int reason = make_files(&session, pid, streams);
    if (reason != 0) {
        sonde__host_close(session.folder);
        enum sonde_status status = reason == EACCES || reason == EROFS    ? SONDE_DENIED
                                   : reason == ENOSPC || reason == EDQUOT ? SONDE_LIMIT
                                                                          : SONDE_OS;
        return sonde__base_fail(ret_error, status, "no file can be made in the folder", NULL,
                                reason, 0);
    }
    *ret_session = session;
    return SONDE_OK;
}

int sonde__spool_rewrite(struct sonde__spool_session *session, const struct sonde__report *report)
{
    char name[SONDE__SPOOL_NAME], part[SONDE__SPOOL_NAME];
    int32_t fd;
    sonde__spool_file_name(session->run, SONDE__SPOOL_LIVE, name);
    sonde__spool_file_name(session->run, SONDE__SPOOL_PART, part);
    int reason = sonde__spool_make_part(session->folder, part, report, false, &fd);
    if (reason != 0) {
        return reason;
    }
    reason = sonde__host_folder_rename(session->folder, part, name);
    if (reason != 0) {
        (void)sonde__host_folder_remove(session->folder, part);
        sonde__host_close(fd);
        return reason;
    }
    if (session->live_fd >= 0) {
        sonde__host_close(session->live_fd);
    }
    session->live_fd = fd; /* its lock shows that the run has a writer */
    return 0;
}

void sonde__spool_end(struct sonde__spool_session *session, bool keep_report, bool keep_live)
{
    char name[SONDE__SPOOL_NAME];
    if (session->live_fd >= 0) {
        if (session->live.live.bytes != NULL) {
            sonde__spool_stream_close(&session->live);
        }
        sonde__spool_file_name(session->run, SONDE__SPOOL_LIVE, name);
        if (!keep_live) {
            (void)sonde__host_folder_remove(session->folder, name);
        }
        sonde__host_close(session->live_fd);
    }
    sonde__spool_file_name(session->run, SONDE__SPOOL_REPORT, name);
    if (!keep_report && !keep_live) {
        (void)sonde__host_folder_remove(session->folder, name);
    }
    sonde__host_close(session->report_fd);
    sonde__host_close(session->folder);
}
