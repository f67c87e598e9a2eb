// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "demangle.h"
#include "digest_calls.h"
#include "digest_own.h"
#include "mem_heap.h"
#include "report_fingerprint.h"
#include "report_read.h"
#include "report_summary.h"

enum { FUNCTION_TEXT = 200 }; /* of a title */

/* --- stalls --- */

/* Append a part of a title. */
static void add(struct digest_event *event, const char *before, const char *text, size_t size)
{
    size_t used = strlen(event->title), room = sizeof event->title - used;
    int most = (int)(size < room ? size : room);
    (void)snprintf(event->title + used, room, "%s%.*s", used != 0 ? before : "", most, text);
}

/* The value of the last line that begins with a word; null: none. */
static const char *last_line(const char *text, const char *word, size_t *ret_size)
{
    const char *found = NULL;
    size_t size = strlen(word);
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length > size && memcmp(line, word, size) == 0) {
            found = line + size;
            *ret_size = length - size;
        }
        line += length + (line[length] == '\n');
    }
    return found;
}

/* Append a function as in its source. Of a long one the begin, so that there is room for more. */
static void add_function(struct digest_event *event, const char *name, size_t size)
{
    char bare[SONDE__DEMANGLE_INPUT_MAX + 1], decoded[SONDE__DEMANGLE_OUTPUT_MAX];
    if (size >= sizeof bare) {
        add(event, " in ", name, size);
        return;
    }
    memcpy(bare, name, size);
    bare[size] = '\0';
    const char *text = sonde__demangle(bare, decoded);
    size_t length = strlen(text), most = length;
    if (length > FUNCTION_TEXT) {
        most = FUNCTION_TEXT - 3;
        for (unsigned i = 0; i < 3 && ((unsigned char)text[most] & 0xc0) == 0x80; i++) {
            most--; /* not within a character */
        }
    }
    add(event, " in ", text, most);
    add(event, "", "...", most < length ? 3 : 0);
}

/* From the fingerprint's text, so that it is the same for all of the group. */
static void set_title(struct digest_event *event)
{
    static const char *const words[] = {"library ", "thread "};
    const char *value = NULL;
    size_t size = 0;
    const char *error = last_line(event->why, "error ", &size);
    if (error != NULL) {
        add(event, "", error, size);
    }
    const char *function = last_line(event->why, "function ", &size);
    if (function != NULL) {
        add_function(event, function, size);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words && function == NULL && value == NULL; i++) {
        value = last_line(event->why, words[i], &size);
    }
    if (value != NULL) {
        add(event, " in ", value, size);
    }
    value = last_line(event->why, "blocked in ", &size);
    if (value != NULL) {
        add(event, ", ", "blocked in ", 11);
        add(event, "", value, size);
    }
}

/* Take the fingerprint, and its text as the reason. */
static enum sonde_status set_cause(struct digest_event *event,
                                   struct sonde__report_fingerprint *fingerprint)
{
    snprintf(event->group, sizeof event->group, "%s", fingerprint->id);
    event->why = sonde__mem_alloc_zeroed(fingerprint->size + 1);
    if (event->why != NULL && fingerprint->text != NULL) {
        memcpy(event->why, fingerprint->text, fingerprint->size);
    }
    sonde__report_fingerprint_done(fingerprint);
    if (event->why == NULL) {
        return SONDE_MEMORY;
    }
    set_title(event);
    return SONDE_OK;
}

static enum sonde_status read_stall(const struct sonde__report *report,
                                    const struct sonde__report_stall *stall,
                                    struct digest_event *ret_event)
{
    struct sonde__report_fingerprint fingerprint;
    struct sonde__report_analysis analysis;
    struct digest_event event = {.kind = DIGEST_STALL,
                                 .begin_ns = stall->begin_ns,
                                 .count = 1,
                                 .total_ns = stall->duration_ns,
                                 .longest_ns = stall->duration_ns,
                                 .is_fatal = stall->fatal};
    enum sonde_status status = sonde__report_fingerprint(report, stall, &fingerprint);
    if (status != SONDE_OK) {
        return status;
    }
    status = set_cause(&event, &fingerprint);
    if (status != SONDE_OK) {
        return status;
    }
    status = sonde__report_analyse(report, stall, &analysis);
    if (status == SONDE_OK) {
        sonde__report_summary_text(report, stall, &analysis, event.summary, sizeof event.summary);
        status = digest_mark_stall(report, stall, analysis.heaviest_app.frame, &event);
        sonde__report_analysis_done(&analysis);
    }
    if (status != SONDE_OK) {
        sonde__mem_free(event.why);
    }
    *ret_event = event;
    return status;
}

/* Stalls that the report only counts. */
static void read_count(const struct sonde__report *report,
                       const struct sonde__report_stall_count *count,
                       struct digest_event *ret_event)
{
    *ret_event = (struct digest_event){.kind = DIGEST_STALL,
                                       .begin_ns = count->first_ns,
                                       .count = count->count,
                                       .total_ns = count->total_ns,
                                       .longest_ns = count->longest_ns};
    snprintf(ret_event->group, sizeof ret_event->group, "%s",
             sonde__report_text(report, count->fingerprint));
}

static enum sonde_status read_stalls(const struct sonde__report *report, struct digest *digest)
{
    enum sonde_status status = SONDE_OK;
    uint32_t stalls = sonde__report_stall_count(report);
    uint32_t counts = sonde__report_stall_count_count(report);
    for (uint32_t i = 0; i < stalls && status == SONDE_OK; i++) {
        if (digest->event_count == DIGEST_EVENTS_MAX) {
            digest->left_out++;
            continue;
        }
        status = read_stall(report, sonde__report_stall(report, i),
                            &digest->events[digest->event_count]);
        digest->event_count += status == SONDE_OK;
    }
    for (uint32_t i = 0; i < counts && digest->event_count < DIGEST_EVENTS_MAX; i++) {
        struct digest_event *event = &digest->events[digest->event_count];
        read_count(report, sonde__report_stall_count_at(report, i), event);
        digest_mark_count(digest, event);
        digest->event_count++;
    }
    return status;
}

/* --- errors and crashes --- */

static enum sonde_status read_error(const struct sonde__report *report,
                                    const struct sonde__report_thread *thread,
                                    struct digest_event *ret_event)
{
    struct sonde__report_fingerprint fingerprint;
    struct digest_event event = {.kind = DIGEST_ERROR, .begin_ns = thread->time_ns, .count = 1};
    const char *what = cause_error(report, thread, &event.is_fatal);
    const char *name = sonde__report_text(report, thread->name);
    enum sonde_status status =
        sonde__report_error_fingerprint(report, thread->stack, what, &fingerprint);
    if (status == SONDE_OK) {
        status = set_cause(&event, &fingerprint);
    }
    if (status == SONDE_OK) {
        digest_mark_error(&event);
    }
    snprintf(event.summary, sizeof event.summary, "%s%s%s%s", what,
             event.is_fatal ? ", the program ended by it" : "", *name != '\0' ? ", thread " : "",
             name);
    *ret_event = event;
    return status;
}

static enum sonde_status read_errors(const struct sonde__report *report, struct digest *digest)
{
    enum sonde_status status = SONDE_OK;
    uint32_t threads = sonde__report_thread_count(report);
    bool is_fatal;
    for (uint32_t i = 0; i < threads && status == SONDE_OK; i++) {
        const struct sonde__report_thread *thread = sonde__report_thread(report, i);
        if (cause_error(report, thread, &is_fatal) == NULL) {
            continue;
        }
        if (digest->event_count == DIGEST_EVENTS_MAX) {
            digest->left_out++;
            continue;
        }
        status = read_error(report, thread, &digest->events[digest->event_count]);
        digest->event_count += status == SONDE_OK;
    }
    return status;
}

/* --- the report --- */

static uint32_t count_named(const struct sonde__report *report)
{
    uint64_t named = 0, all = sonde__report_frame_count(report);
    for (uint32_t i = 1; i <= all; i++) { /* 0 is none */
        named += sonde__report_frame(report, i)->name != 0;
    }
    return all != 0 ? (uint32_t)(1000 * named / all) : 0;
}

static enum sonde_status read_header(const struct sonde__report *report, struct digest *digest)
{
    const struct sonde__report_header *header = sonde__report_header(report);
    char build[SONDE__REPORT_BUILD_ID_TEXT];
    digest->kind = header->kind;
    digest->time_ns = header->time_unix_ns;
    digest->named = count_named(report);
    digest->program = sonde__mem_copy_string(header->executable);
    digest->build = sonde__mem_copy_string(sonde__report_build(report, build));
    digest->device = sonde__mem_copy_string(header->device.id);
    digest->os = sonde__mem_copy_string(header->os);
    digest->arch = sonde__mem_copy_string(header->arch);
    return digest->program != NULL && digest->build != NULL && digest->device != NULL &&
                   digest->os != NULL && digest->arch != NULL
               ? SONDE_OK
               : SONDE_MEMORY;
}

static enum sonde_status read_tags(const struct sonde__report *report, struct digest *digest)
{
    const struct sonde__report_header *header = sonde__report_header(report);
    uint32_t count = header->tag_count < DIGEST_TAGS_MAX ? header->tag_count : DIGEST_TAGS_MAX;
    digest->tags = sonde__mem_alloc_array(count, sizeof *digest->tags);
    if (digest->tags == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct digest_tag *tag = &digest->tags[digest->tag_count++];
        snprintf(tag->name, sizeof tag->name, "%s", header->tags[i].key);
        snprintf(tag->value, sizeof tag->value, "%s", header->tags[i].value);
    }
    return SONDE_OK;
}

static uint32_t most_events(const struct sonde__report *report)
{
    uint64_t most = (uint64_t)sonde__report_stall_count(report) +
                    sonde__report_stall_count_count(report) + sonde__report_call_count(report);
    bool is_fatal;
    for (uint32_t i = 0; i < sonde__report_thread_count(report); i++) {
        most += cause_error(report, sonde__report_thread(report, i), &is_fatal) != NULL;
    }
    return most < DIGEST_EVENTS_MAX ? (uint32_t)most : DIGEST_EVENTS_MAX;
}

static enum sonde_status read_all(const struct sonde__report *report, struct digest *digest)
{
    enum sonde_status status = read_header(report, digest);
    if (status == SONDE_OK) {
        status = read_tags(report, digest);
    }
    digest->events = sonde__mem_alloc_array(most_events(report), sizeof *digest->events);
    if (status == SONDE_OK && digest->events == NULL) {
        status = SONDE_MEMORY;
    }
    if (status == SONDE_OK) {
        status = read_stalls(report, digest);
    }
    if (status == SONDE_OK) {
        status = read_errors(report, digest);
    }
    return status == SONDE_OK ? digest_read_calls(report, digest) : status;
}

enum sonde_status digest_read(const void *bytes, size_t size, const struct digest_naming *naming,
                              struct digest *ret_digest, struct sonde_error *ret_error)
{
    struct digest digest = {0};
    struct sonde__report *report;
    struct sonde__report_loss loss;
    enum sonde_status status = sonde__report_read(bytes, size, &report, &loss, ret_error);
    if (status != SONDE_OK) {
        return status;
    }
    if (sonde__report_is_damaged(&loss)) {
        sonde__report_loss_line(&loss, digest.loss, sizeof digest.loss);
    }
    if (naming != NULL) {
        naming->name(naming->ctx, report, &digest.wants);
    }
    status = read_all(report, &digest);
    sonde__report_destroy(report);
    if (status != SONDE_OK) {
        digest_done(&digest);
        return status;
    }
    *ret_digest = digest;
    return SONDE_OK;
}

void digest_done(struct digest *digest)
{
    for (uint32_t i = 0; i < digest->event_count; i++) {
        sonde__mem_free(digest->events[i].why);
        sonde__mem_free(digest->events[i].call);
    }
    for (uint32_t i = 0; i < digest->listed_count; i++) {
        sonde__mem_free(digest->listed[i]);
    }
    sonde__mem_free(digest->listed);
    for (uint32_t i = 0; i < digest->api_count; i++) {
        sonde__mem_free(digest->apis[i].name);
        sonde__mem_free(digest->apis[i].missed);
    }
    sonde__mem_free(digest->apis);
    sonde__mem_free(digest->events);
    sonde__mem_free(digest->tags);
    sonde__mem_free(digest->program);
    sonde__mem_free(digest->build);
    sonde__mem_free(digest->device);
    sonde__mem_free(digest->os);
    sonde__mem_free(digest->arch);
}
