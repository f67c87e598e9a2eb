// SPDX-License-Identifier: Apache-2.0
/* The text form of Apple's crash logs. `sonde symbolize` and this file read it by the same reader
 * (symbolize_apple.h), which finds frames and their images; here the other lines are read: the
 * header's, and those that begin a thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_apple.h"
#include "mem_heap.h"
#include "symbolize_apple.h"

/* Crash logs are below 1 MiB. The reader's time grows with frames times images. */
#define BYTES_MAX ((size_t)4 << 20)

struct crash {
    struct apple_log log;
    const char *frame; /* the line of the next frame */
    size_t frame_size;
    char thread_name[128]; /* of a thread whose line comes next */
    bool is_listed;        /* in the list of images: no thread follows */
    bool out_of_memory;
};

/* --- lines --- */

/* The value of "Name:   value" without space at its ends; false: another line. */
static bool value_of(const char *line, const char *name, char *to, size_t size)
{
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':') {
        return false;
    }
    line += length + 1;
    line += strspn(line, " \t");
    snprintf(to, size, "%s", line);
    return true;
}

/* "App [123]", "1.2.3 (45)": cut what is in brackets off, into `inside`. */
static void split(char *text, char open, char close, char *inside, size_t size)
{
    char *begin = strrchr(text, open), *end = begin != NULL ? strchr(begin, close) : NULL;
    inside[0] = '\0';
    if (end != NULL) {
        *end = '\0';
        snprintf(inside, size, "%s", begin + 1);
        while (begin > text && begin[-1] == ' ') {
            begin--;
        }
        *begin = '\0';
    }
}

static void read_header(struct crash *c, const char *line)
{
    struct apple_log *log = &c->log;
    char text[512];
    if (value_of(line, "Process", log->program, sizeof log->program)) {
        split(log->program, '[', ']', text, sizeof text);
    } else if (value_of(line, "Path", text, sizeof text)) {
        snprintf(log->program, sizeof log->program, "%s", text);
    } else if (value_of(line, "Version", log->version, sizeof log->version)) {
        split(log->version, '(', ')', log->bundle_version, sizeof log->bundle_version);
    } else if (value_of(line, "OS Version", log->os, sizeof log->os) ||
               value_of(line, "Hardware Model", log->model, sizeof log->model) ||
               value_of(line, "Code Type", log->arch, sizeof log->arch)) {
        return;
    } else if (value_of(line, "CrashReporter Key", text, sizeof text)) {
        import_pseudonym(text, log->device);
    } else if (value_of(line, "Date/Time", text, sizeof text)) {
        log->time_ns = import_time(text);
    } else if (value_of(line, "Exception Type", log->what, sizeof log->what)) {
        return;
    } else if (strncmp(line, "Termination ", 12) == 0 ||
               strncmp(line, "Exception Codes", 15) == 0) {
        snprintf(log->end + strlen(log->end), sizeof log->end - strlen(log->end), "%s ", line);
    }
}

static void begin_thread(struct crash *c, int64_t number, bool is_crashed, const char *name)
{
    struct apple_thread *thread = apple_add_thread(&c->log);
    if (thread == NULL) {
        c->out_of_memory = c->log.thread_count != SONDE__REPORT_THREADS_MAX;
        return;
    }
    name = c->thread_name[0] != '\0' ? c->thread_name : name;
    /* the logs number the threads; the system's ids are not in them */
    thread->thread = (struct sonde__report_thread){
        .tid = number, .name = sonde__report_string(c->log.import->report, name)};
    c->thread_name[0] = '\0';
    if (is_crashed && c->log.crashed == 0) {
        c->log.crashed = (uint32_t)c->log.thread_count;
    }
}

/* "Thread 0 name:  Dispatch queue: x", "Thread 0 Crashed:: x", "Thread 7:", "Thread 7:: x".
 * "Thread 0 crashed with ARM Thread State" is none. */
static void read_thread(struct crash *c, const char *line)
{
    char *rest;
    unsigned long number = strtoul(line + strlen("Thread "), &rest, 10);
    bool is_crashed = strncmp(rest, " Crashed:", 9) == 0;
    if (strncmp(rest, " name:", 6) == 0) {
        rest += 6 + strspn(rest + 6, " ");
        snprintf(c->thread_name, sizeof c->thread_name, "%s", rest);
        return;
    }
    rest += is_crashed ? 8 : 0;
    if (*rest == ':' && number < UINT32_MAX) {
        begin_thread(c, (int64_t)number, is_crashed, rest + strspn(rest, ": "));
    }
}

static void on_line(void *ctx, const char *bytes, size_t size)
{
    struct crash *c = ctx;
    char line[512];
    size = size < sizeof line ? size : sizeof line - 1;
    memcpy(line, bytes, size);
    line[size] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    c->is_listed = c->is_listed || strncmp(line, "Binary Images:", 14) == 0;
    if (c->is_listed) {
        return;
    }
    if (strncmp(line, "Last Exception Backtrace:", 25) == 0 && c->log.exception == 0) {
        begin_thread(c, 0, false, "");
        c->log.exception = (uint32_t)c->log.thread_count;
    } else if (strncmp(line, "Thread ", 7) == 0) {
        read_thread(c, line);
    } else if (c->log.thread_count == 0) {
        read_header(c, line);
    }
}

/* --- frames --- */

/* A frame's line comes before its frame. */
static void on_text(void *ctx, const char *bytes, size_t size)
{
    struct crash *c = ctx;
    c->frame = bytes;
    c->frame_size = size;
}

/* The name in "0   App   0x0000000102a0c1a4 main + 52"; without one, the image's address follows.
 */
static uint32_t name_of(struct crash *c, uint64_t *ret_offset)
{
    char line[1024];
    size_t size = c->frame_size < sizeof line ? c->frame_size : sizeof line - 1;
    memcpy(line, c->frame, size);
    line[size] = '\0';
    char *address = strstr(line, "0x");
    char *name = address != NULL ? address + strcspn(address, " \t") : line + size;
    name += strspn(name, " \t");
    char *plus = strstr(name, " + ");
    if (plus == NULL || strncmp(name, "0x", 2) == 0 || plus == name) {
        return 0;
    }
    *plus = '\0';
    *ret_offset = strtoull(plus + 3, NULL, 10);
    return sonde__report_string(c->log.import->report, name);
}

static void on_frame(void *ctx, const struct symbolize_place *place, const char *asked, size_t size,
                     bool in_json)
{
    struct crash *c = ctx;
    (void)asked, (void)size;
    bool is_program = c->log.program[0] != '\0' && strcmp(place->image, c->log.program) == 0;
    const struct sonde__report_image image = {
        .path = sonde__report_string(c->log.import->report, place->image),
        .build_id = import_build_id(place->build_id),
        .flags = is_program ? SONDE__IMAGE_MAIN : 0};
    struct sonde__report_frame frame = {
        .image = sonde__report_add_image(c->log.import->report, &image),
        .offset = place->offset + (is_program ? IMPORT_PROGRAM_BASE : 0),
        .how = place->returns ? SONDE_FOUND_FP : SONDE_FOUND_REGISTERS};
    frame.name = name_of(c, &frame.name_offset);
    frame.name_source = frame.name != 0 ? SONDE__REPORT_NAME_SYMTAB : SONDE__REPORT_NAME_NONE;
    if (!in_json && !c->is_listed && !apple_add_frame(&c->log, &frame)) {
        c->out_of_memory = true;
    }
}

/* --- the log --- */

static void finish_end(struct apple_log *log)
{
    char number[16];
    snprintf(number, sizeof number, "%u", APPLE_WATCHDOG);
    log->is_watchdog = strstr(log->end, "8badf00d") != NULL || strstr(log->end, number) != NULL;
}

enum sonde_status import_crash(struct import *import, const char *bytes, size_t size)
{
    struct symbolize_apple_seen seen;
    if (size > BYTES_MAX) {
        return import_fail(import, "it has more than 4 MiB, which no crash log has");
    }
    struct crash *c = sonde__mem_alloc_zeroed(sizeof *c);
    if (c == NULL) {
        return SONDE_MEMORY;
    }
    const struct symbolize_apple_sink sink = {on_text, on_line, on_frame, c};
    c->log.import = import;
    enum sonde_status status =
        symbolize_apple(bytes, size, &sink, &seen) && !c->out_of_memory ? SONDE_OK : SONDE_MEMORY;
    if (status == SONDE_OK) {
        finish_end(&c->log);
        status = apple_finish(&c->log, "crash");
    }
    if (status == SONDE_OK && seen.outside != 0) {
        char note[128];
        snprintf(note, sizeof note, "%zu frames in no listed image are left out", seen.outside);
        sonde__report_add_note(import->report, note);
    }
    apple_done(&c->log);
    sonde__mem_free(c);
    return status;
}
