// SPDX-License-Identifier: Apache-2.0
#include "watch_spooled.h"

#include "base_status.h"
#include "base_text.h"
#include "drain_names.h"
#include "host_clock.h"
#include "host_folder.h"
#include "host_run.h"
#include "spool_counts.h"
#include "spool_finish.h"

#define MS 1000000u

/* Equal stalls are only counted (entry_equal.h). A larger report would take the room of other
 * runs. */
const struct sonde__report_writer_options sonde__watch_spool_caps = {.bytes_max = (uint64_t)8
                                                                                  << 20};

struct finishing {
    const char *path;
    const struct sonde__symfile_options *symbols;
    struct sonde__report_lines lines;
};

static enum sonde_status find_names(void *ctx, struct sonde__report *report)
{
    const struct finishing *finishing = ctx;
    struct sonde__symfile_cache *symbols;
    if (finishing->symbols == NULL) {
        return SONDE_OK;
    }
    SONDE_TRY(sonde__symfile_cache_create(finishing->symbols, &symbols));
    enum sonde_status status = sonde__drain_rename(report, symbols);
    sonde__symfile_cache_destroy(symbols);
    return status;
}

static void print_calls(const struct finishing *finishing,
                        const struct sonde__spool_finished *finished)
{
    const struct sonde__report *report = finished->report;
    const struct sonde__report_header *header = sonde__report_header(report);
    uint64_t calls = 0;
    for (uint32_t i = 0; i < sonde__report_call_count(report); i++) {
        calls += sonde__report_call(report, i)->count;
    }
    sonde__report_line(finishing->lines,
                       "%.80s (process %d): its recording was killed after %llu call%s: sonde show "
                       "%s/%s%s",
                       sonde__base_file_name(header->executable), (int)header->pid,
                       (unsigned long long)calls, sonde__base_plural(calls), finishing->path,
                       finished->run, SONDE__SPOOL_REPORT);
}

/* The recovered stalls are the last ones of the report. */
static void print_finished(void *ctx, const struct sonde__spool_finished *finished)
{
    const struct finishing *finishing = ctx;
    const struct sonde__report *report = finished->report;
    const struct sonde__report_header *header = sonde__report_header(report);
    uint32_t count = sonde__report_stall_count(report);
    if (finished->has_calls) {
        print_calls(finishing, finished);
    }
    for (uint32_t i = count - finished->recovered; i < count; i++) {
        const struct sonde__report_stall *stall = sonde__report_stall(report, i);
        sonde__report_line(finishing->lines, "%.80s (process %d) %s %llu ms: sonde show %s/%s%s",
                           sonde__base_file_name(header->executable), (int)header->pid,
                           stall->fatal  ? "ended, as its watch was killed in a stall of"
                           : stall->open ? "was in a stall when its watch was killed, after"
                                         : "had a stall before its watch was killed, of",
                           (unsigned long long)(stall->duration_ns / MS), finishing->path,
                           finished->run, SONDE__SPOOL_REPORT);
    }
}

static void print_failed(void *ctx, const char *name, const char *why)
{
    const struct finishing *finishing = ctx;
    sonde__report_line(finishing->lines, "%s/%s could not be finished: %s", finishing->path, name,
                       why);
}

static enum sonde_status tidy(const char *path, bool make,
                              const struct sonde__symfile_options *symbols,
                              struct sonde__report_lines lines, struct sonde_error *ret_error)
{
    struct finishing finishing = {path, symbols, lines};
    const struct sonde__spool_finishing how = {
        .name = find_names, .each = print_finished, .failed = print_failed, .ctx = &finishing};
    const struct sonde__spool_caps caps = SONDE__SPOOL_CAPS;
    uint32_t removed = 0;
    int32_t folder;
    SONDE_TRY(sonde__host_folder_open(path, make, &folder, ret_error));
    enum sonde_status status = sonde__spool_finish(folder, &how);
    if (status == SONDE_OK) {
        status = sonde__spool_trim(folder, &caps, sonde__host_unix_ns(), &removed);
    }
    sonde__host_close(folder);
    if (removed > 0) {
        sonde__report_line(lines, "%s: %u old reports were removed and counted in %s", path,
                           (unsigned)removed, SONDE__SPOOL_COUNTS);
    }
    return status == SONDE_OK
               ? SONDE_OK
               : sonde__base_fail(ret_error, status, "the folder could not be tidied", NULL, 0, 0);
}

void sonde__watch_spool_tidy(const struct sonde__watch_options *options,
                             struct sonde__report_lines lines)
{
    struct sonde_error error = {0};
    if (tidy(options->spool, true, options->symbols, lines, &error) != SONDE_OK) {
        sonde__report_line(lines, "%s: %s", options->spool, error.what);
    }
}

enum sonde_status sonde__watch_spool_finish(const char *path,
                                            const struct sonde__symfile_options *symbols,
                                            struct sonde__report_lines lines,
                                            struct sonde_error *ret_error)
{
    return tidy(path, false, symbols, lines, ret_error);
}
