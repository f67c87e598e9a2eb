// SPDX-License-Identifier: Apache-2.0
/* The JSON form of Apple's crash logs (Apple, "Interpreting the JSON format of a crash report"): a
 * header, and an object with "threads", whose frames have an index into "usedImages" and an offset
 * from that image's header. */
#include <stdio.h>
#include <string.h>

#include "import_apple.h"
#include "mem_heap.h"

struct ips {
    struct apple_log log;
    struct sonde__tape head, body;
    uint32_t *images;              /* ids by index */
    uint32_t image_count, program; /* program: index of the program's image, or UINT32_MAX */
};

static void copy(const struct sonde__tape *tape, uint32_t at, char *to, size_t size)
{
    to[0] = '\0';
    (void)sonde__tape_string(tape, at, to, size);
}

/* A text of the log, else one of the header. */
static void copy_either(const struct ips *ips, const char *body, const char *head, char *to,
                        size_t size)
{
    copy(&ips->body, sonde__tape_get(&ips->body, 0, body), to, size);
    if (to[0] == '\0') {
        copy(&ips->head, sonde__tape_get(&ips->head, 0, head), to, size);
    }
}

/* --- images and frames --- */

static bool add_images(struct ips *ips)
{
    uint32_t all = sonde__tape_get(&ips->body, 0, "usedImages"), count = 0;
    uint32_t most = sonde__tape_count(&ips->body, all);
    most = most < IMPORT_IMAGES_MAX ? most : IMPORT_IMAGES_MAX;
    ips->images = sonde__mem_alloc_array(most, sizeof *ips->images);
    ips->program = UINT32_MAX;
    if (ips->images == NULL) {
        return false;
    }
    SONDE__TAPE_EACH(at, &ips->body, all)
    {
        char path[sizeof ips->log.program], uuid[64];
        if (count == most) {
            break;
        }
        copy(&ips->body, sonde__tape_get(&ips->body, at, "path"), path, sizeof path);
        copy(&ips->body, sonde__tape_get(&ips->body, at, "uuid"), uuid, sizeof uuid);
        bool is_program = path[0] != '\0' && strcmp(path, ips->log.program) == 0;
        const struct sonde__report_image image = {
            .path = sonde__report_string(ips->log.import->report, path),
            .build_id = import_build_id(uuid),
            .flags = is_program ? SONDE__IMAGE_MAIN : 0};
        ips->program = is_program ? count : ips->program;
        ips->images[count++] = sonde__report_add_image(ips->log.import->report, &image);
    }
    ips->image_count = count;
    return true;
}

static bool add_frame(struct ips *ips, uint32_t at, bool is_innermost)
{
    const struct sonde__tape *body = &ips->body;
    uint64_t index = UINT64_MAX, offset = 0, location = 0, line = 0;
    (void)sonde__tape_uint(body, sonde__tape_get(body, at, "imageIndex"), &index);
    (void)sonde__tape_uint(body, sonde__tape_get(body, at, "imageOffset"), &offset);
    (void)sonde__tape_uint(body, sonde__tape_get(body, at, "symbolLocation"), &location);
    (void)sonde__tape_uint(body, sonde__tape_get(body, at, "sourceLine"), &line);
    struct sonde__report_frame frame = {
        .offset = offset,
        .name = import_string(ips->log.import, body, sonde__tape_get(body, at, "symbol")),
        .file = import_string(ips->log.import, body, sonde__tape_get(body, at, "sourceFile")),
        .line = line <= UINT32_MAX ? (uint32_t)line : 0,
        .how = is_innermost ? SONDE_FOUND_REGISTERS : SONDE_FOUND_FP};
    if (index < ips->image_count) {
        frame.image = ips->images[index];
        frame.offset += index == ips->program ? IMPORT_PROGRAM_BASE : 0;
    }
    if (frame.name != 0) {
        frame.name_offset = location;
        frame.name_source = SONDE__REPORT_NAME_SYMTAB;
    }
    return apple_add_frame(&ips->log, &frame);
}

static bool add_frames(struct ips *ips, uint32_t frames)
{
    bool is_innermost = true;
    SONDE__TAPE_EACH(at, &ips->body, frames)
    {
        if (!add_frame(ips, at, is_innermost)) {
            return false;
        }
        is_innermost = false;
    }
    return true;
}

/* --- threads --- */

static bool add_thread(struct ips *ips, uint32_t at)
{
    const struct sonde__tape *body = &ips->body;
    struct import *import = ips->log.import;
    uint64_t id = 0;
    struct apple_thread *thread = apple_add_thread(&ips->log);
    if (thread == NULL) {
        return ips->log.thread_count == SONDE__REPORT_THREADS_MAX;
    }
    (void)sonde__tape_uint(body, sonde__tape_get(body, at, "id"), &id);
    thread->thread = (struct sonde__report_thread){
        .tid = id <= INT64_MAX ? (int64_t)id : 0,
        .name = import_string(import, body, sonde__tape_get(body, at, "name")),
        .queue = import_string(import, body, sonde__tape_get(body, at, "queue"))};
    if (sonde__tape_true(body, sonde__tape_get(body, at, "triggered"))) {
        ips->log.crashed = (uint32_t)ips->log.thread_count;
    }
    return add_frames(ips, sonde__tape_get(body, at, "frames"));
}

static bool add_threads(struct ips *ips)
{
    uint32_t all = sonde__tape_get(&ips->body, 0, "threads");
    uint32_t exception = sonde__tape_get(&ips->body, 0, "lastExceptionBacktrace");
    uint64_t faulting;
    SONDE__TAPE_EACH(at, &ips->body, all)
    {
        if (!add_thread(ips, at)) {
            return false;
        }
    }
    if (ips->log.crashed == 0 &&
        sonde__tape_uint(&ips->body, sonde__tape_get(&ips->body, 0, "faultingThread"), &faulting) &&
        faulting < ips->log.thread_count) {
        ips->log.crashed = (uint32_t)faulting + 1;
    }
    if (sonde__tape_first(&ips->body, exception) == SONDE__TAPE_NONE ||
        ips->log.thread_count == 0 || apple_add_thread(&ips->log) == NULL) {
        return true;
    }
    ips->log.exception = (uint32_t)ips->log.thread_count;
    return add_frames(ips, exception);
}

/* --- the log --- */

/* "EXC_CRASH (SIGABRT)" */
static void find_what(struct ips *ips)
{
    char type[96], signal[96];
    copy(&ips->body, sonde__tape_get(&ips->body, 0, "exception.type"), type, sizeof type);
    copy(&ips->body, sonde__tape_get(&ips->body, 0, "exception.signal"), signal, sizeof signal);
    bool has_both = type[0] != '\0' && signal[0] != '\0';
    snprintf(ips->log.what, sizeof ips->log.what, has_both ? "%s (%s)" : "%s%s", type, signal);
}

static void find_end(struct ips *ips)
{
    struct apple_log *log = &ips->log;
    uint32_t end = sonde__tape_get(&ips->body, 0, "termination");
    uint32_t details = sonde__tape_get(&ips->body, end, "details");
    uint64_t code = 0;
    (void)sonde__tape_uint(&ips->body, sonde__tape_get(&ips->body, end, "code"), &code);
    log->is_watchdog = code == APPLE_WATCHDOG;
    SONDE__TAPE_EACH(at, &ips->body, details)
    {
        size_t used = strlen(log->end);
        if (used + 2 < sizeof log->end) {
            copy(&ips->body, at, log->end + used, sizeof log->end - used - 1);
            strcat(log->end, " "); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
        }
    }
    if (log->end[0] == '\0') {
        copy(&ips->body, sonde__tape_get(&ips->body, end, "indicator"), log->end, sizeof log->end);
    }
}

static void find_about(struct ips *ips)
{
    struct apple_log *log = &ips->log;
    char train[64], text[64];
    copy_either(ips, "procPath", "app_name", log->program, sizeof log->program);
    copy_either(ips, "bundleInfo.CFBundleShortVersionString", "app_version", log->version,
                sizeof log->version);
    copy_either(ips, "bundleInfo.CFBundleVersion", "build_version", log->bundle_version,
                sizeof log->bundle_version);
    copy_either(ips, "osVersion.train", "os_version", train, sizeof train);
    copy(&ips->body, sonde__tape_get(&ips->body, 0, "osVersion.build"), text, sizeof text);
    snprintf(log->os, sizeof log->os, text[0] != '\0' ? "%s (%s)" : "%s%s", train, text);
    copy_either(ips, "modelCode", "model", log->model, sizeof log->model);
    copy_either(ips, "cpuType", "cpu", log->arch, sizeof log->arch);
    copy_either(ips, "captureTime", "timestamp", text, sizeof text);
    log->time_ns = import_time(text);
    copy(&ips->body, sonde__tape_get(&ips->body, 0, "crashReporterKey"), text, sizeof text);
    import_pseudonym(text, log->device);
}

/* The header, and the log after it; a log may come without its header. */
static enum sonde_status read_texts(struct ips *ips, const char *text, size_t size)
{
    size_t used;
    struct import *import = ips->log.import;
    enum sonde_status status =
        sonde__tape_read(text, size, IMPORT_VALUES_MAX, &ips->head, &used, import->error);
    if (status != SONDE_OK) {
        return status;
    }
    if (sonde__tape_get(&ips->head, 0, "threads") != SONDE__TAPE_NONE) {
        ips->body = ips->head;
        ips->head = (struct sonde__tape){0};
        return SONDE_OK;
    }
    status = sonde__tape_read(text + used, size - used, IMPORT_VALUES_MAX, &ips->body, NULL,
                              import->error);
    if (status == SONDE_OK && sonde__tape_get(&ips->body, 0, "threads") == SONDE__TAPE_NONE) {
        return import_fail(import, "this kind of Apple's logs is not read: it has no threads");
    }
    return status;
}

enum sonde_status import_ips(struct import *import, const char *bytes, size_t size)
{
    struct ips *ips = sonde__mem_alloc_zeroed(sizeof *ips);
    if (ips == NULL) {
        return SONDE_MEMORY;
    }
    ips->log.import = import;
    enum sonde_status status = read_texts(ips, bytes, size);
    if (status == SONDE_OK) {
        find_about(ips);
        find_what(ips);
        find_end(ips);
        status =
            add_images(ips) && add_threads(ips) ? apple_finish(&ips->log, "ips") : SONDE_MEMORY;
    }
    sonde__tape_done(&ips->head);
    sonde__tape_done(&ips->body);
    sonde__mem_free(ips->images);
    apple_done(&ips->log);
    sonde__mem_free(ips);
    return status;
}
