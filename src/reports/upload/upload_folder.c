// SPDX-License-Identifier: Apache-2.0
#include "upload_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base_status.h"
#include "host_folder.h"
#include "host_run.h"
#include "mem_heap.h"
#include "report_read.h"
#include "spool_folder.h"
#include "upload_sender.h"

/* Written only by the sender that holds the lock. */
#define PART "upload.part"

enum sonde_status sonde__upload_lock(int32_t folder, int32_t *ret_fd, struct sonde_error *ret_error)
{
    int32_t fd = -1;
    int reason = sonde__host_folder_make(folder, SONDE__UPLOAD_LOCK, &fd);
    if (reason == EEXIST) {
        reason = sonde__host_folder_look(folder, SONDE__UPLOAD_LOCK, &fd);
        reason = reason == 0 ? sonde__host_folder_lock(folder, SONDE__UPLOAD_LOCK, fd) : reason;
    }
    if (reason == 0) {
        *ret_fd = fd;
        return SONDE_OK;
    }
    if (fd >= 0) {
        sonde__host_close(fd);
    }
    enum sonde_status status =
        reason == EWOULDBLOCK || reason == ENOENT || reason == ESTALE ? SONDE_BUSY
        : reason == EACCES || reason == EPERM || reason == EROFS      ? SONDE_DENIED
        : reason == ENOSPC || reason == EDQUOT                        ? SONDE_LIMIT
                                                                      : SONDE_OS;
    return sonde__base_fail(ret_error, status,
                            status == SONDE_BUSY ? "another sender is at work in the folder"
                                                 : SONDE__UPLOAD_LOCK " cannot be used",
                            NULL, status == SONDE_BUSY ? 0 : reason, 0);
}

void sonde__upload_load(int32_t folder, const char *name, struct sonde__upload_state *ret_state)
{
    void *bytes;
    size_t size;
    int32_t fd;
    *ret_state = (struct sonde__upload_state){0};
    if (sonde__host_folder_look(folder, name, &fd) != 0) {
        return;
    }
    if (sonde__host_folder_read(fd, SONDE__UPLOAD_STATE_TEXT, &bytes, &size) == 0) {
        (void)sonde__upload_state_read(bytes, size, ret_state);
        sonde__mem_free(bytes);
    }
    sonde__host_close(fd);
}

int sonde__upload_keep(int32_t folder, const char *name, const struct sonde__upload_state *state)
{
    char text[SONDE__UPLOAD_STATE_TEXT];
    int32_t fd;
    size_t size = sonde__upload_state_write(state, text);
    (void)sonde__host_folder_remove(folder, PART); /* left by a process that was killed here */
    int reason = sonde__host_folder_make(folder, PART, &fd);
    if (reason != 0) {
        return reason;
    }
    reason = sonde__host_write_all(fd, text, size) ? 0 : errno;
    return sonde__host_folder_place(folder, fd, PART, name, reason);
}

bool sonde__upload_take(int32_t folder, const char *run, int32_t *ret_fd)
{
    char name[SONDE__SPOOL_NAME], live[SONDE__SPOOL_NAME];
    int32_t live_fd;
    sonde__spool_file_name(run, SONDE__SPOOL_LIVE, live);
    sonde__spool_file_name(run, SONDE__SPOOL_REPORT, name);
    if (sonde__host_folder_look(folder, live, &live_fd) == 0) {
        sonde__host_close(live_fd);
        return false;
    }
    return sonde__host_folder_take(folder, name, ret_fd);
}

void sonde__upload_remove_orphans(int32_t folder)
{
    struct sonde__spool_runs runs = {0};
    if (sonde__spool_find_runs(folder, SONDE__UPLOAD_SIDECAR, &runs) != SONDE_OK) {
        return;
    }
    for (size_t i = 0; i < runs.count; i++) {
        char name[SONDE__SPOOL_NAME];
        int32_t fd;
        sonde__spool_file_name(runs.names[i], SONDE__SPOOL_REPORT, name);
        int reason = sonde__host_folder_look(folder, name, &fd);
        if (reason == 0) {
            sonde__host_close(fd);
        } else if (reason == ENOENT) {
            sonde__spool_file_name(runs.names[i], SONDE__UPLOAD_SIDECAR, name);
            (void)sonde__host_folder_remove(folder, name);
        }
    }
    sonde__mem_free(runs.names);
}

void sonde__upload_id_of(const void *bytes, size_t size, char *ret_id, size_t capacity)
{
    struct sonde__report *report;
    ret_id[0] = '\0';
    if (sonde__report_read(bytes, size, &report, NULL, NULL) == SONDE_OK) {
        snprintf(ret_id, capacity, "%s", sonde__report_header(report)->report_id);
        sonde__report_destroy(report);
    }
}
