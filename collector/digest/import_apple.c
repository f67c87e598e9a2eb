// SPDX-License-Identifier: Apache-2.0
#include "import_apple.h"

#include <stdio.h>
#include <string.h>

#include "mem_heap.h"

struct apple_thread *apple_add_thread(struct apple_log *log)
{
    const struct apple_thread thread = {.first = (uint32_t)log->frame_count};
    if (log->thread_count == SONDE__REPORT_THREADS_MAX ||
        !SONDE__MEM_ADD(log->threads, log->thread_count, log->thread_capacity, thread)) {
        return NULL;
    }
    return &log->threads[log->thread_count - 1];
}

bool apple_add_frame(struct apple_log *log, const struct sonde__report_frame *frame)
{
    if (log->thread_count == 0 || log->frame_count == IMPORT_FRAMES_MAX) {
        return true;
    }
    struct apple_thread *thread = &log->threads[log->thread_count - 1];
    thread->count++;
    return SONDE__MEM_ADD(log->frames, log->frame_count, log->frame_capacity, *frame);
}

static uint32_t stack_of(struct apple_log *log, const struct apple_thread *thread)
{
    uint32_t node = 0;
    for (uint32_t i = thread->count; i > 0; i--) {
        node = import_frame(log->import, node, &log->frames[thread->first + i - 1]);
    }
    return node;
}

/* The threads of the report: all but the exception's stack, which is that of the thread that threw.
 */
static uint32_t finish_threads(struct apple_log *log, struct sonde__report_thread *threads)
{
    uint32_t count = 0, crashed = 0;
    for (uint32_t i = 0; i < log->thread_count; i++) {
        log->threads[i].thread.stack = stack_of(log, &log->threads[i]);
    }
    for (uint32_t i = 0; i < log->thread_count; i++) {
        if (i + 1 != log->exception) {
            crashed = i + 1 == log->crashed ? count : crashed;
            threads[count++] = log->threads[i].thread;
        }
    }
    if (log->exception != 0 && count != 0) {
        uint32_t stack = log->threads[log->exception - 1].thread.stack;
        threads[crashed].stack = stack != 0 ? stack : threads[crashed].stack;
    }
    return crashed;
}

static void set_header(struct apple_log *log, const char *source)
{
    char build[160];
    bool has_both = log->version[0] != '\0' && log->bundle_version[0] != '\0';
    snprintf(build, sizeof build, has_both ? "%s (%s)" : "%s%s", log->version, log->bundle_version);
    const struct sonde__report_header header = {
        .kind = log->is_watchdog ? SONDE__REPORT_WATCH : SONDE__REPORT_STACKS,
        .tool = "ReportCrash",
        .executable = log->program,
        .os = log->os,
        .arch = log->arch,
        .source = source,
        .time_unix_ns = log->time_ns,
        .report_id = log->import->id,
        .build = build,
        .device = {.id = log->device, .model = log->model, .os = log->os}};
    sonde__report_set_header(log->import->report, &header);
}

static void add_stall(struct apple_log *log, const struct sonde__report_thread *threads,
                      uint32_t count)
{
    bool is_launch = strstr(log->end, "launch") != NULL || strstr(log->end, "scene-create") != NULL;
    const struct import_stall stall = {
        .threads = threads, /* the watchdog is about the main thread */
        .thread_count = count,
        .stalled = 0,
        .duration_ns = import_duration(log->end),
        .kind = is_launch ? SONDE__REPORT_STALL_LAUNCH : SONDE__REPORT_STALL_LOOP,
        .is_fatal = true};
    import_stall(log->import, &stall);
}

enum sonde_status apple_finish(struct apple_log *log, const char *source)
{
    size_t count = log->thread_count - (log->exception != 0);
    if (log->thread_count == 0 || count == 0 || log->frame_count == 0) {
        return import_fail(log->import, "the crash log has no thread with frames in its images");
    }
    struct sonde__report_thread *threads = sonde__mem_alloc_array(count, sizeof *threads);
    if (threads == NULL) {
        return SONDE_MEMORY;
    }
    uint32_t crashed = finish_threads(log, threads);
    threads[0].main = true; /* the logs list it first */
    set_header(log, source);
    if (log->is_watchdog) {
        add_stall(log, threads, (uint32_t)count);
    } else {
        threads[crashed].note = import_error_note(
            log->import, true, log->what[0] != '\0' ? log->what : "an unknown cause");
        for (size_t i = 0; i < count; i++) {
            (void)sonde__report_add_thread(log->import->report, &threads[i]);
        }
    }
    sonde__mem_free(threads);
    return SONDE_OK;
}

void apple_done(struct apple_log *log)
{
    sonde__mem_free(log->frames);
    sonde__mem_free(log->threads);
}
