// SPDX-License-Identifier: Apache-2.0
/* The reports in a spool folder, for an app that shows them to its user. */
#include <sonde/upload.h>

#include <errno.h>
#include <string.h>

#include "base_status.h"
#include "host_clock.h"
#include "host_folder.h"
#include "host_run.h"
#include "mem_heap.h"
#include "os.h"
#include "report_read.h"
#include "spool_counts.h"
#include "spool_finish.h"
#include "spool_folder.h"
#include "upload_folder.h"
#include "upload_sender.h"

#define NS_PER_S 1000000000u

static enum sonde_status status_of(int reason)
{
    return reason == ENOENT || reason == ESTALE                      ? SONDE_ABSENT
           : reason == EACCES || reason == EPERM || reason == EROFS  ? SONDE_DENIED
           : reason == EWOULDBLOCK                                   ? SONDE_BUSY
           : reason == ENOMEM                                        ? SONDE_MEMORY
           : reason == ENOSPC || reason == EDQUOT || reason == EFBIG ? SONDE_LIMIT
                                                                     : SONDE_OS;
}

static enum sonde_status fail(struct sonde_error *ret_error, const char *what, int reason)
{
    return sonde__base_fail(ret_error, status_of(reason), what, NULL, reason, 0);
}

static enum sonde_status open_folder(const char *path, bool make, int32_t *ret_folder,
                                     struct sonde_error *ret_error)
{
    if (path == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no folder", NULL, 0, 0);
    }
    return sonde__host_folder_open(path, make, ret_folder, ret_error);
}

/* --- list --- */

static bool fill_entry(int32_t folder, const char *run, const char *name,
                       const struct sonde__upload_state *state, struct sonde_upload_entry *entry)
{
    static const enum sonde_upload_state states[] = {
        [SONDE__UPLOAD_WAITING] = SONDE_UPLOAD_WAITS,
        [SONDE__UPLOAD_REFUSED_FOR_GOOD] = SONDE_UPLOAD_IS_REFUSED,
        [SONDE__UPLOAD_SENT] = SONDE_UPLOAD_IS_SENT,
    };
    struct sonde__host_folder_file file;
    int32_t fd;
    bool is_over = sonde__upload_take(folder, run, &fd);
    if (!is_over && sonde__host_folder_look(folder, name, &fd) != 0) {
        return false;
    }
    bool is_known = sonde__host_folder_stat(fd, &file) == 0;
    sonde__host_close(fd);
    int64_t now_s = (int64_t)(sonde__host_unix_ns() / NS_PER_S);
    *entry = (struct sonde_upload_entry){
        .struct_bytes = sizeof *entry,
        .name = name,
        .size_bytes = is_known ? file.size_bytes : 0,
        .state = is_over ? states[state->stage] : SONDE_UPLOAD_IS_UNFINISHED,
        .tries = state->tries,
        .http_status = state->status,
        .why = state->why,
        .wait_ns = sonde__upload_left_s(state, now_s) * (uint64_t)NS_PER_S,
    };
    return true;
}

enum sonde_status sonde_upload_list(const char *path,
                                    int32_t (*each)(void *ctx,
                                                    const struct sonde_upload_entry *entry),
                                    void *ctx, struct sonde_error *ret_error)
{
    struct sonde__spool_runs runs = {0};
    int32_t folder = -1;
    if (each == NULL) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no callback", NULL, 0, 0);
    }
    SONDE_TRY(open_folder(path, false, &folder, ret_error));
    enum sonde_status status = sonde__spool_find_runs(folder, SONDE__SPOOL_REPORT, &runs);
    for (size_t i = 0; status == SONDE_OK && i < runs.count; i++) {
        char name[SONDE__SPOOL_NAME], sidecar[SONDE__SPOOL_NAME];
        struct sonde__upload_state state;
        struct sonde_upload_entry entry;
        sonde__spool_file_name(runs.names[i], SONDE__SPOOL_REPORT, name);
        sonde__spool_file_name(runs.names[i], SONDE__UPLOAD_SIDECAR, sidecar);
        sonde__upload_load(folder, sidecar, &state);
        if (fill_entry(folder, runs.names[i], name, &state, &entry) && each(ctx, &entry) != 0) {
            break;
        }
    }
    sonde__mem_free(runs.names);
    sonde__host_close(folder);
    return status == SONDE_OK
               ? SONDE_OK
               : sonde__base_fail(ret_error, status, "the folder cannot be read", NULL, 0, 0);
}

/* --- read, delete --- */

static enum sonde_status pass_on(int32_t fd, sonde_write write, void *ctx,
                                 struct sonde_error *ret_error)
{
    void *bytes = NULL;
    size_t size = 0;
    int reason = sonde__host_folder_read(fd, SONDE__SPOOL_READ_MAX, &bytes, &size);
    if (reason != 0) {
        return fail(ret_error, "the report cannot be read", reason);
    }
    reason = write(ctx, bytes, size);
    sonde__mem_free(bytes);
    return reason == 0
               ? SONDE_OK
               : sonde__base_fail(ret_error, SONDE_OS, "the callback failed", NULL, reason, 0);
}

enum sonde_status sonde_upload_read(const char *path, const char *name, sonde_write write,
                                    void *ctx, struct sonde_error *ret_error)
{
    int32_t folder = -1, fd;
    if (name == NULL || write == NULL || !sonde__spool_is_run(name, SONDE__SPOOL_REPORT, NULL)) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no name of a report", NULL, 0, 0);
    }
    SONDE_TRY(open_folder(path, false, &folder, ret_error));
    int reason = sonde__host_folder_look(folder, name, &fd);
    enum sonde_status status = SONDE_OK;
    if (reason != 0) {
        status = fail(ret_error, "the report cannot be opened", reason);
    } else {
        status = pass_on(fd, write, ctx, ret_error);
        sonde__host_close(fd);
    }
    sonde__host_close(folder);
    return status;
}

static enum sonde_status delete_run(int32_t folder, const char *run, const char *name,
                                    struct sonde_error *ret_error)
{
    char sidecar[SONDE__SPOOL_NAME];
    int32_t fd;
    if (!sonde__upload_take(folder, run, &fd)) {
        int reason = sonde__host_folder_look(folder, name, &fd);
        if (reason == 0) {
            sonde__host_close(fd);
        }
        return fail(ret_error, "the report cannot be removed", reason != 0 ? reason : EWOULDBLOCK);
    }
    int reason = sonde__host_folder_remove(folder, name);
    sonde__spool_file_name(run, SONDE__UPLOAD_SIDECAR, sidecar);
    (void)sonde__host_folder_remove(folder, sidecar);
    sonde__host_close(fd);
    return reason == 0 ? SONDE_OK : fail(ret_error, "the report cannot be removed", reason);
}

enum sonde_status sonde_upload_delete(const char *path, const char *name,
                                      struct sonde_error *ret_error)
{
    char run[SONDE__SPOOL_NAME];
    int32_t folder = -1;
    if (name == NULL || !sonde__spool_is_run(name, SONDE__SPOOL_REPORT, run)) {
        return sonde__base_fail(ret_error, SONDE_USAGE, "no name of a report", NULL, 0, 0);
    }
    SONDE_TRY(open_folder(path, false, &folder, ret_error));
    enum sonde_status status = delete_run(folder, run, name, ret_error);
    sonde__host_close(folder);
    return status;
}

/* --- add --- */

/* Written under a temporary name, so that nobody reads half a report. */
static int write_part(int32_t folder, const char *run, const char *name, const void *bytes,
                      size_t size)
{
    char part[SONDE__SPOOL_NAME];
    int32_t fd;
    sonde__spool_file_name(run, SONDE__SPOOL_PART, part);
    int reason = sonde__host_folder_make(folder, part, &fd);
    if (reason != 0) {
        return reason;
    }
    reason = sonde__host_write_all(fd, bytes, size) ? 0 : errno;
    return sonde__host_folder_place(folder, fd, part, name, reason);
}

static int add_report(int32_t folder, const void *bytes, size_t size)
{
    char run[SONDE__SPOOL_NAME], name[SONDE__SPOOL_NAME];
    int32_t fd;
    int reason = EEXIST;
    /* an empty, locked file reserves the name until the report replaces it */
    for (unsigned n = 1; reason == EEXIST && n < 100; n++) {
        sonde__spool_run_name(sonde__host_unix_ns(), sonde__os_pid(), n, run);
        sonde__spool_file_name(run, SONDE__SPOOL_REPORT, name);
        reason = sonde__host_folder_make(folder, name, &fd);
    }
    if (reason != 0) {
        return reason;
    }
    reason = write_part(folder, run, name, bytes, size);
    if (reason != 0) {
        (void)sonde__host_folder_remove(folder, name);
    }
    sonde__host_close(fd);
    return reason;
}

enum sonde_status sonde_upload_add(const char *path, const void *bytes, size_t size_bytes,
                                   struct sonde_error *ret_error)
{
    const struct sonde__spool_caps caps = SONDE__SPOOL_CAPS;
    struct sonde__report *report;
    int32_t folder = -1;
    if (size_bytes > SONDE__SPOOL_READ_MAX) {
        return sonde__base_fail(ret_error, SONDE_LIMIT, "the report is larger than 64 MiB", NULL, 0,
                                0);
    }
    SONDE_TRY(sonde__report_read(bytes, size_bytes, &report, NULL, ret_error));
    sonde__report_destroy(report);
    SONDE_TRY(open_folder(path, true, &folder, ret_error));
    int reason = add_report(folder, bytes, size_bytes);
    /* failing to keep the folder's caps is no failure of this report */
    enum sonde_status trimmed =
        reason == 0 ? sonde__spool_trim(folder, &caps, sonde__host_unix_ns(), NULL) : SONDE_OK;
    (void)trimmed;
    sonde__host_close(folder);
    return reason == 0 ? SONDE_OK : fail(ret_error, "the report cannot be written", reason);
}
