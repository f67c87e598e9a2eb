// SPDX-License-Identifier: Apache-2.0
#include "spool_list.h"

#include "host_folder.h"
#include "host_run.h"
#include "mem_heap.h"
#include "spool_finish.h"

/* Read the report in a file; null: unreadable. *ret_is_written: its writer is alive. False: no such
 * file. */
static bool read_file(int32_t folder, const char *name, struct sonde__report **ret_report,
                      bool *ret_is_written, uint64_t *ret_bytes)
{
    struct sonde__host_folder_file file;
    int32_t fd;
    *ret_report = NULL;
    if (sonde__host_folder_look(folder, name, &fd) != 0) {
        return false;
    }
    *ret_is_written = sonde__host_folder_lock(folder, name, fd) != 0;
    if (sonde__host_folder_stat(fd, &file) == 0) {
        *ret_bytes += file.size_bytes;
    }
    if (sonde__spool_read(fd, ret_report, NULL, NULL) != SONDE_OK) {
        *ret_report = NULL;
    }
    sonde__host_close(fd);
    return true;
}

static int list_one(int32_t folder, const char *run,
                    int (*each)(void *ctx, const struct sonde__spool_entry *entry), void *ctx)
{
    char name[SONDE__SPOOL_NAME], live_name[SONDE__SPOOL_NAME];
    struct sonde__report *report = NULL, *live = NULL;
    struct sonde__spool_entry entry = {.name = name};
    bool is_written = false, is_live_written = false;
    sonde__spool_file_name(run, SONDE__SPOOL_REPORT, name);
    sonde__spool_file_name(run, SONDE__SPOOL_LIVE, live_name);
    bool has_report = read_file(folder, name, &report, &is_written, &entry.size_bytes);
    bool has_live = read_file(folder, live_name, &live, &is_live_written, &entry.size_bytes);
    int stop = 0;
    entry.report = report;
    entry.live = live;
    entry.state = is_written || is_live_written    ? SONDE__SPOOL_RUNNING
                  : report == NULL && live == NULL ? SONDE__SPOOL_DAMAGED
                  : has_live                       ? SONDE__SPOOL_KILLED
                                                   : SONDE__SPOOL_OVER;
    if (has_report || has_live) { /* else the run was removed meanwhile */
        stop = each(ctx, &entry);
    }
    sonde__report_destroy(report);
    sonde__report_destroy(live);
    return stop;
}

enum sonde_status sonde__spool_list(int32_t folder,
                                    int (*each)(void *ctx, const struct sonde__spool_entry *entry),
                                    void *ctx)
{
    struct sonde__spool_runs runs = {0};
    enum sonde_status status = sonde__spool_find_runs(folder, SONDE__SPOOL_REPORT, &runs);
    int stop = 0;
    for (size_t i = 0; status == SONDE_OK && stop == 0 && i < runs.count; i++) {
        stop = list_one(folder, runs.names[i], each, ctx);
    }
    sonde__mem_free(runs.names);
    if (status == SONDE_OK && stop == 0) {
        (void)list_one(folder, "counts", each, ctx);
    }
    return status;
}
