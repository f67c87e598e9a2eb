// SPDX-License-Identifier: Apache-2.0
/* Source: https://develop.sentry.dev/sdk/foundations/transport/event-payloads/ and its pages on
 * exceptions, threads, stack traces, debug meta and contexts.
 *
 * A report has no addresses of the process: a frame is an image and an offset. Sentry wants
 * addresses, so image i is placed at i * IMAGE_STEP, and a frame at its offset from there. This is
 * correct for images linked at address 0, as position-independent ELFs are. */
#include "upload_event.h"

#include <stdio.h>
#include <string.h>

#include "base_text.h"
#include "demangle.h"
#include "mem_heap.h"
#include "report_analyse.h"
#include "report_fingerprint.h"
#include "report_summary.h"
#include "report_view.h"
#include "report_walk.h"

#define NS_PER_S   1000000000u
#define IMAGE_STEP ((uint64_t)1 << 36)

enum { STEPS_MAX = 250 };

struct writer {
    struct sonde__json json;
    const struct sonde__report *report;
    const struct sonde__upload_event *event;
    const struct sonde__upload_extent *extent;
    bool *is_used; /* by image id */
};

static void put_text(struct writer *w, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        sonde__json_string(&w->json, key, text);
    }
}

/* --- frames --- */

static void put_function(struct writer *w, uint32_t name)
{
    char buffer[SONDE__DEMANGLE_OUTPUT_MAX];
    put_text(w, "function", sonde__report_function(w->json.out, w->report, name, buffer));
}

static void put_place(struct writer *w, const struct sonde__report_shown *shown)
{
    const char *file = sonde__report_text(w->report, shown->file);
    if (file[0] != '\0') {
        sonde__json_string(&w->json, "filename", sonde__base_file_name(file));
        sonde__json_string(&w->json, "abs_path", file);
        if (shown->line != 0) {
            sonde__json_uint(&w->json, "lineno", shown->line);
        }
    }
}

/* Sentry's name of a language; null: it has none. */
static const char *platform_of(const char *language)
{
    return strcmp(language, "Python") == 0       ? "python"
           : strcmp(language, "JavaScript") == 0 ? "node"
                                                 : NULL;
}

/* Inlined and tail calls have no address here, because a server that looks up the frame's address
 * adds them again itself. */
static void put_step(struct writer *w, const struct sonde__report_step *step)
{
    const struct sonde__report_frame *frame = step->frame;
    const struct sonde__report_shown shown = sonde__report_shown(step);
    bool is_script = step->kind == SONDE__REPORT_STEP_SCRIPT;
    sonde__json_object(&w->json, NULL);
    put_function(w, shown.name);
    put_place(w, &shown);
    if (!is_script && frame->image != 0) {
        const struct sonde__report_image *image = sonde__report_image(w->report, frame->image);
        put_text(w, "package", sonde__report_text(w->report, image->path));
    }
    /* a damaged report may refer to images that do not exist */
    bool has_image = frame->image != 0 && frame->image <= sonde__report_image_count(w->report);
    if (step->kind == SONDE__REPORT_STEP_PHYSICAL && has_image && frame->offset < IMAGE_STEP) {
        w->is_used[frame->image] = true;
        sonde__json_hex(&w->json, "instruction_addr", frame->image * IMAGE_STEP + frame->offset);
    }
    if (is_script) {
        put_text(w, "platform", platform_of(sonde__report_text(w->report, frame->language)));
    }
    sonde__json_bool(&w->json, "in_app", sonde__report_frame_is_app(w->report, frame));
    sonde__json_close(&w->json);
}

/* Sentry expects the outermost frame first. */
static void put_stack(struct writer *w, uint32_t stack)
{
    struct sonde__report_step steps[STEPS_MAX];
    struct sonde__report_walk walk;
    uint32_t count = 0;
    if (stack == 0) {
        return;
    }
    sonde__report_walk_begin(&walk, w->report, stack);
    while (count < w->extent->frames_max && count < STEPS_MAX &&
           sonde__report_walk_next(&walk, &steps[count])) {
        count += steps[count].kind != SONDE__REPORT_STEP_GAP;
    }
    sonde__json_object(&w->json, "stacktrace");
    sonde__json_array(&w->json, "frames");
    for (; count > 0; count--) {
        put_step(w, &steps[count - 1]);
    }
    sonde__json_close(&w->json);
    sonde__json_close(&w->json);
}

/* --- the stall, and the threads --- */

static uint64_t time_of(const struct sonde__report *report, const struct sonde__report_stall *stall)
{
    uint64_t begin_ns = sonde__report_header(report)->time_unix_ns;
    return begin_ns + (stall != NULL ? stall->begin_ns + stall->duration_ns : 0);
}

static void put_exception(struct writer *w, const struct sonde__report_analysis *analysis)
{
    const struct sonde__report_stall *stall = w->event->stall;
    char summary[512];
    sonde__report_summary_text(w->report, stall, analysis, summary, sizeof summary);
    sonde__json_object(&w->json, "exception");
    sonde__json_array(&w->json, "values");
    sonde__json_object(&w->json, NULL);
    sonde__json_string(&w->json, "type", stall->fatal ? "Fatal App Hang" : "App Hanging");
    sonde__json_string(&w->json, "value", summary);
    sonde__json_int(&w->json, "thread_id", stall->tid);
    sonde__json_object(&w->json, "mechanism");
    sonde__json_string(&w->json, "type", "AppHang");
    sonde__json_bool(&w->json, "handled", !stall->fatal);
    sonde__json_bool(&w->json, "synthetic", true);
    sonde__json_close(&w->json);
    put_stack(w, analysis->stack);
    sonde__json_close(&w->json);
    sonde__json_close(&w->json);
    sonde__json_close(&w->json);
}

static void put_thread(struct writer *w, const struct sonde__report_thread *thread, bool is_current)
{
    sonde__json_object(&w->json, NULL);
    sonde__json_int(&w->json, "id", thread->tid);
    put_text(w, "name", sonde__report_text(w->report, thread->name));
    sonde__json_bool(&w->json, "main", thread->main);
    sonde__json_bool(&w->json, "current", is_current);
    sonde__json_bool(&w->json, "crashed", false);
    if (!is_current) { /* the exception has the current thread's stack already */
        put_stack(w, thread->stack);
    }
    sonde__json_close(&w->json);
}

static void put_stalled_thread(struct writer *w)
{
    const struct sonde__report_stall *stall = w->event->stall;
    put_thread(w,
               &(struct sonde__report_thread){
                   .tid = stall->tid, .name = stall->thread_name, .main = stall->main},
               true);
}

static void put_threads(struct writer *w)
{
    const struct sonde__report_stall *stall = w->event->stall;
    uint32_t count = stall != NULL ? stall->thread_count : sonde__report_thread_count(w->report);
    sonde__json_object(&w->json, "threads");
    sonde__json_array(&w->json, "values");
    if (stall != NULL) {
        put_stalled_thread(w);
    }
    for (uint32_t i = 0; i < count && i < w->extent->threads_max; i++) {
        const struct sonde__report_thread *thread =
            stall != NULL ? &stall->threads[i] : sonde__report_thread(w->report, i);
        if (stall == NULL || thread->tid != stall->tid) {
            put_thread(w, thread, false);
        }
    }
    sonde__json_close(&w->json);
    sonde__json_close(&w->json);
}

/* --- images --- */

/* A build-id's first 16 bytes as a UUID with little-endian first three numbers, as Breakpad does; a
 * Mach-O UUID unchanged. */
static void put_debug_id(struct writer *w, const struct sonde__build_id *id, bool is_elf)
{
    static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char text[40];
    unsigned at = 0;
    for (unsigned i = 0; i < 16; i++) {
        unsigned from = is_elf ? order[i] : i;
        bool is_dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += (unsigned)snprintf(text + at, sizeof text - at, "%s%02x", is_dash ? "-" : "",
                                 from < id->size ? id->bytes[from] : 0);
    }
    sonde__json_string(&w->json, "debug_id", text);
}

static void put_image(struct writer *w, uint32_t id)
{
    const struct sonde__report_image *image = sonde__report_image(w->report, id);
    char text[SONDE__REPORT_BUILD_ID_TEXT];
    bool is_elf = image->platform == SONDE__REPORT_PLATFORM_NONE ||
                  image->platform == SONDE__REPORT_PLATFORM_LINUX;
    sonde__json_object(&w->json, NULL);
    sonde__json_string(&w->json, "type", is_elf ? "elf" : "macho");
    put_text(w, "code_file", sonde__report_text(w->report, image->path));
    if (image->build_id.size != 0) {
        sonde__json_string(&w->json, "code_id",
                           sonde__report_build_id_text(&image->build_id, text));
        put_debug_id(w, &image->build_id, is_elf);
    }
    sonde__json_hex(&w->json, "image_addr", id * IMAGE_STEP);
    sonde__json_close(&w->json);
}

/* Images of the written frames. */
static void put_images(struct writer *w)
{
    sonde__json_object(&w->json, "debug_meta");
    sonde__json_array(&w->json, "images");
    for (uint32_t id = 1; id <= sonde__report_image_count(w->report); id++) {
        if (w->is_used[id]) {
            put_image(w, id);
        }
    }
    sonde__json_close(&w->json);
    sonde__json_close(&w->json);
}

/* --- context --- */

static void put_contexts(struct writer *w)
{
    const struct sonde__report_header *header = sonde__report_header(w->report);
    const struct sonde__report_device *device = &header->device;
    const struct sonde__report_stall *stall = w->event->stall;
    sonde__json_object(&w->json, "contexts");
    sonde__json_object(&w->json, "os");
    sonde__json_string(&w->json, "type", "os");
    put_text(w, "name", device->os[0] != '\0' ? device->os : header->os);
    put_text(w, "kernel_version", device->kernel);
    sonde__json_close(&w->json);
    sonde__json_object(&w->json, "device");
    sonde__json_string(&w->json, "type", "device");
    put_text(w, "device_unique_identifier", device->id);
    put_text(w, "model", device->model);
    put_text(w, "arch", header->arch);
    put_text(w, "cpu_description", device->cpu);
    if (device->cpu_count != 0) {
        sonde__json_uint(&w->json, "processor_count", device->cpu_count);
    }
    if (device->memory_bytes != 0) {
        sonde__json_uint(&w->json, "memory_size", device->memory_bytes);
    }
    sonde__json_close(&w->json);
    if (stall != NULL) {
        sonde__json_object(&w->json, "stall");
        sonde__json_string(&w->json, "type", "stall");
        sonde__json_uint(&w->json, "duration_ns", stall->duration_ns);
        sonde__json_uint(&w->json, "cpu_ns", stall->cpu_ns);
        sonde__json_uint(&w->json, "runqueue_ns", stall->runqueue_ns);
        sonde__json_uint(&w->json, "samples", stall->sample_count);
        sonde__json_uint(&w->json, "turns_before", stall->loop_turns);
        sonde__json_bool(&w->json, "open", stall->open);
        sonde__json_string(&w->json, "report_id", header->report_id);
        sonde__json_close(&w->json);
    }
    sonde__json_close(&w->json);
}

/* Sentry's limits for tags: keys of letters, digits and "_.:-", at most 32; values without line
 * breaks, at most 200. Others are not sent. */
static bool is_tag(const struct sonde__report_tag *tag)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
    size_t size = strspn(tag->key, letters);
    return size > 0 && size <= 32 && tag->key[size] == '\0' && strlen(tag->value) <= 200 &&
           strchr(tag->value, '\n') == NULL;
}

static void put_tags(struct writer *w)
{
    const struct sonde__report_header *header = sonde__report_header(w->report);
    sonde__json_object(&w->json, "tags");
    for (uint32_t i = 0; i < header->tag_count; i++) {
        if (is_tag(&header->tags[i])) {
            sonde__json_string(&w->json, header->tags[i].key, header->tags[i].value);
        }
    }
    sonde__json_close(&w->json);
}

static bool put_stall(struct writer *w)
{
    const struct sonde__report_stall *stall = w->event->stall;
    struct sonde__report_analysis analysis;
    struct sonde__report_fingerprint fingerprint;
    if (sonde__report_analyse(w->report, stall, &analysis) != SONDE_OK) {
        return false;
    }
    put_exception(w, &analysis);
    sonde__report_analysis_done(&analysis);
    if (sonde__report_fingerprint(w->report, stall, &fingerprint) != SONDE_OK) {
        return false;
    }
    if (fingerprint.id[0] != '\0') {
        sonde__json_array(&w->json, "fingerprint");
        sonde__json_string(&w->json, NULL, "sonde");
        sonde__json_string(&w->json, NULL, fingerprint.id);
        sonde__json_close(&w->json);
    }
    sonde__report_fingerprint_done(&fingerprint);
    return true;
}

static void put_about(struct writer *w)
{
    const struct sonde__report_header *header = sonde__report_header(w->report);
    const struct sonde__report_stall *stall = w->event->stall;
    char build[SONDE__REPORT_BUILD_ID_TEXT], message[128];
    sonde__json_string(&w->json, "event_id", w->event->event_id);
    sonde__json_uint(&w->json, "timestamp", time_of(w->report, stall) / NS_PER_S);
    sonde__json_string(&w->json, "platform", "native");
    sonde__json_string(&w->json, "logger", "sonde");
    sonde__json_string(&w->json, "level",
                       stall == NULL  ? "info"
                       : stall->fatal ? "fatal"
                                      : "error");
    put_text(w, "release", sonde__report_build(w->report, build));
    sonde__json_object(&w->json, "sdk");
    sonde__json_string(&w->json, "name", "sonde");
    sonde__json_string(&w->json, "version", SONDE_VERSION);
    sonde__json_close(&w->json);
    if (stall == NULL) {
        snprintf(message, sizeof message, "stacks of %.100s",
                 sonde__base_file_name(header->executable));
        sonde__json_object(&w->json, "message");
        sonde__json_string(&w->json, "formatted", message);
        sonde__json_close(&w->json);
    }
}

bool sonde__upload_put_event(struct sonde__report_out *out, const struct sonde__upload_event *event,
                             const struct sonde__upload_extent *extent)
{
    struct writer w = {.report = event->report, .event = event, .extent = extent};
    bool is_made = true;
    w.is_used = sonde__mem_alloc_zeroed(sonde__report_image_count(event->report) + 1);
    if (w.is_used == NULL) {
        return false;
    }
    sonde__json_init_compact(&w.json, out);
    sonde__json_object(&w.json, NULL);
    put_about(&w);
    put_tags(&w);
    put_contexts(&w);
    if (event->stall != NULL) {
        is_made = put_stall(&w);
    }
    put_threads(&w);
    put_images(&w);
    sonde__json_close(&w.json);
    sonde__mem_free(w.is_used);
    return is_made;
}
