// SPDX-License-Identifier: Apache-2.0
#include "spool_finish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base_math.h"
#include "base_status.h"
#include "host_folder.h"
#include "host_process.h"
#include "host_run.h"
#include "mem_heap.h"
#include "report_copy.h"
#include "report_fingerprint.h"
#include "report_phase.h"
#include "report_write.h"
#include "spool_blame.h"

enum sonde_status sonde__spool_read(int32_t fd, struct sonde__report **ret_report,
                                    struct sonde__report_loss *ret_loss,
                                    struct sonde_error *ret_error)
{
    void *bytes = NULL;
    size_t size = 0;
    int reason = sonde__host_folder_read(fd, SONDE__SPOOL_READ_MAX, &bytes, &size);
    if (reason != 0) {
        return sonde__base_fail(ret_error, reason == ENOMEM ? SONDE_MEMORY : SONDE_OS,
                                "the file cannot be read", NULL, reason, 0);
    }
    enum sonde_status status = sonde__report_read(bytes, size, ret_report, ret_loss, ret_error);
    sonde__mem_free(bytes);
    return status;
}

#define MS 1000000u

/* --- the new report --- */

static enum sonde_status write_bytes(void *ctx, const void *bytes, size_t size)
{
    return sonde__host_write_all(*(const int32_t *)ctx, bytes, size) ? SONDE_OK : SONDE_OS;
}

int sonde__spool_write(int32_t fd, const struct sonde__report *report, bool ends)
{
    struct sonde__report_writer *writer;
    errno = ENOMEM;
    if (sonde__report_writer_create(NULL, write_bytes, &fd, &writer) != SONDE_OK) {
        return ENOMEM;
    }
    enum sonde_status status = ends ? sonde__report_writer_finish(writer, report)
                                    : sonde__report_writer_flush(writer, report);
    int reason = status != SONDE_OK ? errno : 0;
    sonde__report_writer_destroy(writer);
    return reason;
}

int sonde__spool_make_part(int32_t folder, const char *name, const struct sonde__report *report,
                           bool ends, int32_t *ret_fd)
{
    (void)sonde__host_folder_remove(folder, name); /* left by a process that was killed here */
    int reason = sonde__host_folder_make(folder, name, ret_fd);
    if (reason != 0) {
        return reason;
    }
    reason = sonde__spool_write(*ret_fd, report, ends);
    if (reason != 0) {
        (void)sonde__host_folder_remove(folder, name);
        sonde__host_close(*ret_fd);
    }
    return reason;
}

int sonde__spool_replace(int32_t folder, const char *run, const char *name,
                         const struct sonde__report *report)
{
    char part[SONDE__SPOOL_NAME];
    int32_t fd;
    sonde__spool_file_name(run, SONDE__SPOOL_PART, part);
    int reason = sonde__spool_make_part(folder, part, report, true, &fd);
    return reason != 0 ? reason : sonde__host_folder_place(folder, fd, part, name, 0);
}

/* --- one run --- */

struct run {
    const char *name; /* without suffix */
    char report_name[SONDE__SPOOL_NAME], live_name[SONDE__SPOOL_NAME];
    int32_t report_fd, live_fd; /* -1: none */
    struct sonde__report *report, *live;
    uint32_t recovered;
    bool has_calls;     /* the report is what the live file was */
    bool is_gone;       /* the program has ended */
    bool is_unreadable; /* the report is not empty, but unreadable */
};

/* Does the report's program still run? Its pid may belong to another process now. */
static bool is_running(const struct sonde__report *report)
{
    const struct sonde__report_process *process = sonde__report_process(report, 1);
    return process->pid > 0 && process->start_ticks != 0 &&
           sonde__host_process_lives(process->pid, process->start_ticks);
}

static bool has_stall(const struct sonde__report *report, const struct sonde__report_stall *stall)
{
    for (uint32_t i = 0; i < sonde__report_stall_count(report); i++) {
        const struct sonde__report_stall *other = sonde__report_stall(report, i);
        if (other->tid == stall->tid && other->begin_ns == stall->begin_ns) {
            return true;
        }
    }
    /* a finished stall may be in the report as a number only */
    for (uint32_t i = 0; !stall->open && i < sonde__report_stall_count_count(report); i++) {
        if (sonde__report_stall_count_at(report, i)->last_ns == stall->begin_ns) {
            return true;
        }
    }
    return false;
}

/* The program has ended in this stall: because of it? */
static void blame(struct run *run, struct sonde__report_stall *stall, uint32_t index)
{
    char note[256];
    const char *other = sonde__spool_other_cause(run->live, sonde__report_stall(run->live, index));
    stall->fatal = other == NULL;
    if (other != NULL) {
        snprintf(note, sizeof note,
                 "the program ended in the stall after %llu ms, which is not known to be the "
                 "reason: %s",
                 (unsigned long long)(stall->begin_ns / MS), other);
        sonde__report_add_note(run->report, note);
    }
}

static enum sonde_status copy_stalls(struct run *run)
{
    struct sonde__report_copy *copy;
    enum sonde_status status = SONDE_OK;
    SONDE_TRY(sonde__report_copy_create(run->live, run->report, &copy));
    for (uint32_t i = 0; status == SONDE_OK && i < sonde__report_stall_count(run->live); i++) {
        struct sonde__report_stall stall;
        if (has_stall(run->report, sonde__report_stall(run->live, i))) {
            continue;
        }
        if (!sonde__report_copy_stall(copy, i, &stall)) {
            status = SONDE_MEMORY;
            break;
        }
        if (stall.open && run->is_gone) {
            blame(run, &stall, i);
        }
        sonde__report_add_stall(run->report, &stall);
        run->recovered++;
    }
    sonde__report_copy_destroy(copy);
    return status;
}

/* Set the fingerprints and loop phases of recovered stalls, which could not be known before their
 * names. */
static void set_what_names_tell(struct run *run)
{
    uint32_t count = sonde__report_stall_count(run->report);
    for (uint32_t i = count - run->recovered; i < count; i++) {
        struct sonde__report_fingerprint fingerprint;
        const struct sonde__report_stall *stall = sonde__report_stall(run->report, i);
        if (sonde__report_fingerprint(run->report, stall, &fingerprint) == SONDE_OK) {
            sonde__report_set_fingerprint(run->report, i, fingerprint.id);
            sonde__report_fingerprint_done(&fingerprint);
        }
        sonde__report_set_loop_phase(run->report, i);
    }
}

static void add_note(const struct run *run)
{
    if (!run->has_calls) {
        sonde__report_add_note(run->report,
                               "the watch was killed; its report was finished at a later start, "
                               "and says nothing of the time after the last stall");
        return;
    }
    sonde__report_add_note(
        run->report, run->is_gone ? "the recording was killed; its report was finished at a later "
                                    "start, with the calls of the last look"
                                  : "the recording was killed; its report was finished while the "
                                    "program still ran, with the calls of the last look");
}

static void set_end(const struct run *run, uint64_t lost_bytes)
{
    struct sonde__report *report = run->report;
    struct sonde__report_end end = {0};
    char note[128];
    for (uint32_t i = 0; i < sonde__report_stall_count(report); i++) {
        const struct sonde__report_stall *stall = sonde__report_stall(report, i);
        uint64_t until_ns = stall->begin_ns + stall->duration_ns;
        end.watched_ns = sonde__base_max(end.watched_ns, until_ns);
        end.turn_count = sonde__base_max(end.turn_count, stall->loop_turns); /* a lower bound */
        end.stall_count++;
    }
    for (uint32_t i = 0; i < sonde__report_stall_count_count(report); i++) {
        end.stall_count += sonde__report_stall_count_at(report, i)->count;
    }
    add_note(run);
    if (lost_bytes != 0) {
        snprintf(note, sizeof note, "the last %llu bytes of it were damaged",
                 (unsigned long long)lost_bytes);
        sonde__report_add_note(report, note);
    }
    sonde__report_set_end(report, &end);
}

/* Begin a new report, with the header of the live file, for a run without one. */
static enum sonde_status begin_report(struct run *run)
{
    SONDE_TRY(sonde__report_create(&run->report));
    sonde__report_set_header(run->report, sonde__report_header(run->live));
    return SONDE_OK;
}

/* Read both files as far as possible. All bytes of an unreadable report count as lost. */
static enum sonde_status read_both(struct run *run, uint64_t *ret_lost_bytes)
{
    struct sonde__report_loss loss = {0};
    struct sonde__host_folder_file file;
    enum sonde_status status = sonde__spool_read(run->live_fd, &run->live, NULL, NULL);
    if (status != SONDE_OK && status != SONDE_CORRUPT) {
        return status;
    }
    if (run->report_fd >= 0) {
        status = sonde__spool_read(run->report_fd, &run->report, &loss, NULL);
        if (status != SONDE_OK && status != SONDE_CORRUPT) {
            return status;
        }
        if (status == SONDE_CORRUPT && sonde__host_folder_stat(run->report_fd, &file) == 0) {
            loss.size_bytes = file.size_bytes;
        }
        run->is_unreadable = status == SONDE_CORRUPT && loss.size_bytes != 0;
    }
    *ret_lost_bytes = loss.size_bytes;
    if (run->report == NULL && run->live != NULL) {
        return begin_report(run);
    }
    return SONDE_OK;
}

/* What the live file adds. */
static enum sonde_status take_live(struct run *run)
{
    const uint32_t kind = sonde__report_header(run->live)->kind;
    run->is_gone = !is_running(run->live);
    if (kind != SONDE__REPORT_CALLS && kind != SONDE__REPORT_AUDIT) {
        return copy_stalls(run);
    }
    if (sonde__report_end(run->report) == NULL) {
        sonde__report_destroy(run->report);
        run->report = run->live;
        run->live = NULL;
        run->has_calls = true;
    }
    return SONDE_OK;
}

/* Nothing worth a report; that of a recording says at least that nothing was called. */
static bool is_empty(const struct run *run)
{
    return run->report == NULL || (!run->has_calls && sonde__report_stall_count(run->report) == 0 &&
                                   sonde__report_stall_count_count(run->report) == 0 &&
                                   sonde__report_thread_count(run->report) == 0 &&
                                   sonde__report_call_count(run->report) == 0);
}

static enum sonde_status finish_run(int32_t folder, struct run *run,
                                    const struct sonde__spool_finishing *finishing)
{
    uint64_t lost_bytes = 0;
    SONDE_TRY(read_both(run, &lost_bytes));
    bool has_end = run->report != NULL && sonde__report_end(run->report) != NULL;
    SONDE_TRY(run->live != NULL ? take_live(run) : SONDE_OK);
    bool has_nothing = is_empty(run);
    if (!has_nothing && (!has_end || run->recovered != 0)) {
        if (finishing->name != NULL && (run->recovered != 0 || run->has_calls)) {
            (void)finishing->name(finishing->ctx, run->report);
        }
        set_what_names_tell(run);
        set_end(run, run->has_calls ? 0 : lost_bytes);
        errno = sonde__spool_replace(folder, run->name, run->report_name, run->report);
        if (errno != 0) {
            return SONDE_OS;
        }
    }
    if (has_nothing && run->report_fd >= 0 && !run->is_unreadable) {
        (void)sonde__host_folder_remove(folder, run->report_name);
    }
    (void)sonde__host_folder_remove(folder, run->live_name);
    if (!has_nothing && finishing->each != NULL) {
        finishing->each(finishing->ctx,
                        &(struct sonde__spool_finished){run->name, run->report, run->recovered,
                                                        run->has_calls});
    }
    return SONDE_OK;
}

/* Open and lock the report. False: another process has it, and will go on. */
static bool take_report(int32_t folder, struct run *run)
{
    int32_t fd;
    if (sonde__host_folder_take(folder, run->report_name, &run->report_fd)) {
        return true;
    }
    run->report_fd = -1;
    if (sonde__host_folder_look(folder, run->report_name, &fd) != 0) {
        return true; /* there is none */
    }
    sonde__host_close(fd);
    return false;
}

static enum sonde_status finish_one(int32_t folder, const char *name,
                                    const struct sonde__spool_finishing *finishing)
{
    struct run run = {.name = name, .report_fd = -1, .live_fd = -1};
    enum sonde_status status = SONDE_OK;
    sonde__spool_file_name(name, SONDE__SPOOL_REPORT, run.report_name);
    sonde__spool_file_name(name, SONDE__SPOOL_LIVE, run.live_name);
    if (!sonde__host_folder_take(folder, run.live_name, &run.live_fd)) {
        return SONDE_OK;
    }
    if (!take_report(folder, &run)) {
        sonde__host_close(run.live_fd);
        return SONDE_OK;
    }
    status = finish_run(folder, &run, finishing);
    if (status != SONDE_OK && finishing->failed != NULL) {
        finishing->failed(finishing->ctx, run.live_name,
                          status == SONDE_OS && errno != 0 ? strerror(errno)
                                                           : sonde_status_text(status));
    }
    sonde__report_destroy(run.live);
    sonde__report_destroy(run.report);
    if (run.report_fd >= 0) {
        sonde__host_close(run.report_fd);
    }
    sonde__host_close(run.live_fd);
    return status == SONDE_MEMORY ? status : SONDE_OK;
}

enum sonde_status sonde__spool_finish(int32_t folder,
                                      const struct sonde__spool_finishing *finishing)
{
    struct sonde__spool_runs runs = {0};
    enum sonde_status status = sonde__spool_find_runs(folder, SONDE__SPOOL_LIVE, &runs);
    for (size_t i = 0; status == SONDE_OK && i < runs.count; i++) {
        status = finish_one(folder, runs.names[i], finishing);
    }
    sonde__mem_free(runs.names);
    return status;
}
