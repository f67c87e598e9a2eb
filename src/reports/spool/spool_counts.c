// SPDX-License-Identifier: Apache-2.0
#include "spool_counts.h"

#include <errno.h>
#include <string.h>

#include "host_folder.h"
#include "host_run.h"
#include "mem_heap.h"
#include "spool_finish.h"

#define COUNTS_RUN "counts"  /* file name without the suffix */
#define LAST_TAG   "last"    /* the run that was counted last */
#define ID_TAG     "last_id" /* the id of its report */
#define DAMAGED    "counts.damaged"

struct entry {
    char fingerprint[64];
    uint64_t count, total_ns, longest_ns;
    uint64_t first_unix_ns, last_unix_ns;
};

struct counts {
    struct entry *entries; /* [0]: stalls without a fingerprint */
    size_t entry_count, capacity;
    uint64_t turn_count, watched_ns, lost_records;
    char last[SONDE__SPOOL_NAME], last_id[64];
    bool failed; /* memory ran out */
};

static struct entry *find_entry(struct counts *counts, const char *fingerprint)
{
    for (size_t i = 1; i < counts->entry_count; i++) {
        if (strcmp(counts->entries[i].fingerprint, fingerprint) == 0) {
            return &counts->entries[i];
        }
    }
    if (fingerprint[0] == '\0' || strlen(fingerprint) >= sizeof counts->entries->fingerprint ||
        counts->entry_count > SONDE__SPOOL_COUNTS_MAX) {
        return &counts->entries[0];
    }
    if (!sonde__mem_grow(&counts->entries, counts->entry_count, &counts->capacity,
                         sizeof *counts->entries)) {
        counts->failed = true;
        return &counts->entries[0];
    }
    struct entry *entry = &counts->entries[counts->entry_count++];
    memset(entry, 0, sizeof *entry);
    memcpy(entry->fingerprint, fingerprint, strlen(fingerprint));
    return entry;
}

static void add(struct counts *counts, const struct sonde__report *report,
                const struct sonde__report_stall_count *count)
{
    struct entry *to = find_entry(counts, sonde__report_text(report, count->fingerprint));
    uint64_t begin_ns = sonde__report_header(report)->time_unix_ns;
    uint64_t first_ns = begin_ns + count->first_ns, last_ns = begin_ns + count->last_ns;
    to->first_unix_ns =
        to->count == 0 || first_ns < to->first_unix_ns ? first_ns : to->first_unix_ns;
    to->last_unix_ns = last_ns > to->last_unix_ns ? last_ns : to->last_unix_ns;
    to->longest_ns = count->longest_ns > to->longest_ns ? count->longest_ns : to->longest_ns;
    to->total_ns += count->total_ns;
    to->count += count->count;
}

/* Count all stalls of a report: in full, as numbers, and left out. */
static void add_report(struct counts *counts, const struct sonde__report *report)
{
    const struct sonde__report_end *end = sonde__report_end(report);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < sonde__report_stall_count(report); i++, seen++) {
        const struct sonde__report_stall *stall = sonde__report_stall(report, i);
        add(counts, report,
            &(struct sonde__report_stall_count){.fingerprint = stall->fingerprint,
                                                .count = 1,
                                                .total_ns = stall->duration_ns,
                                                .longest_ns = stall->duration_ns,
                                                .first_ns = stall->begin_ns,
                                                .last_ns = stall->begin_ns});
    }
    for (uint32_t i = 0; i < sonde__report_stall_count_count(report); i++) {
        const struct sonde__report_stall_count *count = sonde__report_stall_count_at(report, i);
        add(counts, report, count);
        seen += count->count;
    }
    if (end != NULL && end->stall_count > seen) {
        add(counts, report, &(struct sonde__report_stall_count){.count = end->stall_count - seen});
    }
    if (end != NULL) {
        counts->turn_count += end->turn_count;
        counts->watched_ns += end->watched_ns;
        counts->lost_records += end->lost_records;
    }
}

/* --- the file --- */

static void take_tag(const struct sonde__report_header *header, const char *key, char *ret_text,
                     size_t capacity)
{
    for (uint32_t i = 0; i < header->tag_count; i++) {
        size_t size = strlen(header->tags[i].value) + 1;
        if (strcmp(header->tags[i].key, key) == 0 && size <= capacity) {
            memcpy(ret_text, header->tags[i].value, size);
        }
    }
}

/* A damaged file is renamed, and counting begins again. */
static enum sonde_status read_counts(int32_t folder, struct counts *counts)
{
    struct sonde__report *report;
    struct sonde__report_loss loss;
    int32_t fd;
    int reason = sonde__host_folder_look(folder, SONDE__SPOOL_COUNTS, &fd);
    if (reason != 0) {
        return reason == ENOENT ? SONDE_OK : SONDE_OS;
    }
    enum sonde_status status = sonde__spool_read(fd, &report, &loss, NULL);
    sonde__host_close(fd);
    if (status == SONDE_CORRUPT || (status == SONDE_OK && loss.damage != SONDE__REPORT_WHOLE)) {
        reason = sonde__host_folder_rename(folder, SONDE__SPOOL_COUNTS, DAMAGED);
    }
    if (status != SONDE_OK) {
        return status != SONDE_CORRUPT ? status : reason == 0 ? SONDE_OK : SONDE_OS;
    }
    const struct sonde__report_header *header = sonde__report_header(report);
    take_tag(header, LAST_TAG, counts->last, sizeof counts->last);
    take_tag(header, ID_TAG, counts->last_id, sizeof counts->last_id);
    add_report(counts, report);
    sonde__report_destroy(report);
    return reason == 0 ? SONDE_OK : SONDE_OS;
}

static void fill(const struct counts *counts, const struct sonde__report_header *like,
                 const char *run, struct sonde__report *report)
{
    uint64_t begin_ns = UINT64_MAX, total = 0;
    const struct sonde__report_tag tags[] = {{LAST_TAG, run}, {ID_TAG, like->report_id}};
    for (size_t i = 0; i < counts->entry_count; i++) {
        const struct entry *entry = &counts->entries[i];
        bool is_first = entry->count != 0 && entry->first_unix_ns < begin_ns;
        begin_ns = is_first ? entry->first_unix_ns : begin_ns;
    }
    const struct sonde__report_header header = {
        .kind = SONDE__REPORT_WATCH,
        .tool = like->tool,
        .executable = "",
        .os = like->os,
        .arch = like->arch,
        .source = like->source,
        .time_unix_ns = begin_ns != UINT64_MAX ? begin_ns : like->time_unix_ns,
        .threshold_ns = like->threshold_ns,
        .tags = tags,
        .tag_count = 2,
    };
    sonde__report_set_header(report, &header);
    sonde__report_add_note(report, "the stalls of reports that were removed, because the folder "
                                   "had too many or too old ones");
    for (size_t i = 0; i < counts->entry_count; i++) {
        const struct entry *entry = &counts->entries[i];
        total += entry->count;
        if (entry->count != 0) {
            sonde__report_add_stall_count(
                report, &(struct sonde__report_stall_count){
                            .fingerprint = sonde__report_string(report, entry->fingerprint),
                            .count = entry->count,
                            .total_ns = entry->total_ns,
                            .longest_ns = entry->longest_ns,
                            .first_ns = entry->first_unix_ns - begin_ns,
                            .last_ns = entry->last_unix_ns - begin_ns,
                        });
        }
    }
    sonde__report_set_end(report,
                          &(struct sonde__report_end){.stall_count = total,
                                                      .turn_count = counts->turn_count,
                                                      .watched_ns = counts->watched_ns,
                                                      .lost_records = counts->lost_records});
}

static enum sonde_status write_counts(int32_t folder, const struct counts *counts,
                                      const struct sonde__report_header *like, const char *run)
{
    struct sonde__report *report;
    if (counts->failed || sonde__report_create(&report) != SONDE_OK) {
        return SONDE_MEMORY;
    }
    fill(counts, like, run, report);
    int reason = sonde__spool_replace(folder, COUNTS_RUN, SONDE__SPOOL_COUNTS, report);
    sonde__report_destroy(report);
    return reason == 0                            ? SONDE_OK
           : reason == ENOSPC || reason == EDQUOT ? SONDE_LIMIT
           : reason == ENOMEM                     ? SONDE_MEMORY
                                                  : SONDE_OS;
}

static bool begin_counts(struct counts *counts)
{
    if (!sonde__mem_grow(&counts->entries, 0, &counts->capacity, sizeof *counts->entries)) {
        return false;
    }
    memset(&counts->entries[0], 0, sizeof counts->entries[0]);
    counts->entry_count = 1;
    return true;
}

/* Count a report's stalls, then remove it. A file that is no report has none. */
static enum sonde_status remove_report(int32_t folder, const char *run, const char *name,
                                       int32_t fd)
{
    struct counts counts = {0};
    struct sonde__report *report = NULL;
    enum sonde_status status = sonde__spool_read(fd, &report, NULL, NULL);
    if (status != SONDE_OK && status != SONDE_CORRUPT) {
        return status;
    }
    status = begin_counts(&counts) ? read_counts(folder, &counts) : SONDE_MEMORY;
    if (status == SONDE_OK && report != NULL &&
        (strcmp(counts.last, run) != 0 ||
         strcmp(counts.last_id, sonde__report_header(report)->report_id) != 0)) {
        add_report(&counts, report);
        status = write_counts(folder, &counts, sonde__report_header(report), run);
    }
    sonde__report_destroy(report);
    sonde__mem_free(counts.entries);
    if (status != SONDE_OK) {
        return status;
    }
    return sonde__host_folder_remove(folder, name) == 0 ? SONDE_OK : SONDE_OS;
}

/* --- choosing reports --- */

struct kept {
    struct sonde__host_folder_file file;
    int32_t fd; /* -1: not finished, or not our file */
};

static bool open_finished(int32_t folder, const char *run, struct kept *ret_kept)
{
    char name[SONDE__SPOOL_NAME], live[SONDE__SPOOL_NAME];
    int32_t live_fd;
    sonde__spool_file_name(run, SONDE__SPOOL_REPORT, name);
    sonde__spool_file_name(run, SONDE__SPOOL_LIVE, live);
    ret_kept->fd = -1;
    if (sonde__host_folder_look(folder, live, &live_fd) == 0) {
        sonde__host_close(live_fd);
        return false;
    }
    if (sonde__host_folder_look(folder, name, &ret_kept->fd) != 0) {
        ret_kept->fd = -1;
        return false;
    }
    return sonde__host_folder_lock(folder, name, ret_kept->fd) == 0 &&
           sonde__host_folder_stat(ret_kept->fd, &ret_kept->file) == 0;
}

static bool is_too_old(const struct kept *kept, uint64_t now_unix_ns, uint64_t age_max_ns)
{
    return kept->file.modified_ns < now_unix_ns &&
           now_unix_ns - kept->file.modified_ns > age_max_ns;
}

/* Remove a report that was counted by a process that was killed before it removed it. */
static enum sonde_status remove_counted(int32_t folder)
{
    struct counts counts = {0};
    struct kept kept = {.fd = -1};
    char name[SONDE__SPOOL_NAME];
    enum sonde_status status = begin_counts(&counts) ? read_counts(folder, &counts) : SONDE_MEMORY;
    if (status == SONDE_OK && sonde__spool_is_run(counts.last, "", NULL) &&
        open_finished(folder, counts.last, &kept)) {
        struct sonde__report *report;
        bool is_it = sonde__spool_read(kept.fd, &report, NULL, NULL) == SONDE_OK;
        if (is_it) {
            is_it = strcmp(counts.last_id, sonde__report_header(report)->report_id) == 0;
            sonde__report_destroy(report);
        }
        sonde__spool_file_name(counts.last, SONDE__SPOOL_REPORT, name);
        if (is_it) {
            status = sonde__host_folder_remove(folder, name) == 0 ? SONDE_OK : SONDE_OS;
        }
    }
    if (kept.fd >= 0) {
        sonde__host_close(kept.fd);
    }
    sonde__mem_free(counts.entries);
    return status;
}

static enum sonde_status trim(int32_t folder, const struct sonde__spool_caps *caps,
                              uint64_t now_unix_ns, const struct sonde__spool_runs *runs,
                              uint32_t *ret_removed)
{
    enum sonde_status status = SONDE_OK;
    uint64_t bytes = 0, reports = 0;
    /* newest first: a report is removed if it exceeds a cap together with these */
    for (size_t i = runs->count; i > 0 && status == SONDE_OK; i--) {
        const char *run = runs->names[i - 1];
        struct kept kept;
        if (open_finished(folder, run, &kept)) {
            reports++;
            bytes += kept.file.size_bytes;
            if (reports > caps->reports_max || bytes > caps->bytes_max ||
                is_too_old(&kept, now_unix_ns, caps->age_max_ns)) {
                char name[SONDE__SPOOL_NAME];
                sonde__spool_file_name(run, SONDE__SPOOL_REPORT, name);
                status = remove_report(folder, run, name, kept.fd);
                *ret_removed += status == SONDE_OK;
            }
        }
        if (kept.fd >= 0) {
            sonde__host_close(kept.fd);
        }
    }
    return status;
}

enum sonde_status sonde__spool_trim(int32_t folder, const struct sonde__spool_caps *caps,
                                    uint64_t now_unix_ns, uint32_t *ret_removed)
{
    struct sonde__spool_runs runs = {0};
    uint32_t removed = 0;
    if (!sonde__host_folder_claim(folder)) {
        return SONDE_OK;
    }
    enum sonde_status status = remove_counted(folder);
    if (status == SONDE_OK) {
        status = sonde__spool_find_runs(folder, SONDE__SPOOL_REPORT, &runs);
    }
    if (status == SONDE_OK) {
        status = trim(folder, caps, now_unix_ns, &runs, &removed);
    }
    sonde__mem_free(runs.names);
    sonde__host_folder_release(folder);
    if (ret_removed != NULL) {
        *ret_removed = removed;
    }
    return status;
}
