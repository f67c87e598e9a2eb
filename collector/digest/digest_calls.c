// SPDX-License-Identifier: Apache-2.0
#include "digest_calls.h"

#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "digest_callers.h"
#include "digest_consent.h"
#include "mem_heap.h"
#include "mem_table.h"
#include "report_new.h"

struct room {
    struct cause_room cause;
    char lines[DIGEST_PATH_TEXT];
    struct sonde__mem_table events; /* of the digest, by their groups */
};

struct reading {
    const struct sonde__report *report;
    struct digest *digest;
    uint8_t *consents;
    struct room *room;
};

struct text {
    char *to;
    size_t used, size;
};

static bool append(void *ctx, const char *bytes, size_t size)
{
    struct text *text = ctx;
    size_t room = text->size - 1 - text->used, part = size < room ? size : room;
    memcpy(text->to + text->used, bytes, part);
    text->used += part;
    text->to[text->used] = '\0';
    return true;
}

/* "error  files: open  by save_all < main" */
static void put_texts(const struct sonde__report *report, const struct sonde__report_call *call,
                      struct digest_event *event)
{
    struct text text = {.to = event->title, .size = sizeof event->title};
    const char *function = sonde__report_text(report, call->function);
    append(&text, function, strlen(function));
    append(&text, "  by ", 5);
    sonde__report_text_own(report, call->stack, (struct sonde__report_sink){append, &text});
    text = (struct text){.to = event->summary, .size = sizeof event->summary};
    sonde__report_text_new(report, call, "", 0, (struct sonde__report_sink){append, &text});
    event->summary[strcspn(event->summary, "\n")] = '\0';
}

/* --- what is kept of calls beside their number --- */

/* The functions of the key, innermost first. */
static void put_path(const struct sonde__report *report, struct room *room)
{
    struct text text = {.to = room->lines, .size = sizeof room->lines};
    struct sonde__report_out out;
    char place[DIGEST_NAME_TEXT];
    room->lines[0] = '\0';
    sonde__report_out_init(&out, (struct sonde__report_sink){append, &text}, false);
    for (uint32_t i = room->cause.key.count, shown = 0; i > 0; i--, shown++) {
        const struct sonde__report_element *element = &room->cause.key.functions[i - 1].element;
        sonde__report_out_str(&out, shown != 0 ? "\n" : "");
        if (shown == DIGEST_PATH_FUNCTIONS) {
            sonde__report_out_str(&out, "...");
            break;
        }
        if (element->name != 0) {
            sonde__report_put_name(&out, report, element->name);
            continue;
        }
        struct sonde__report_element_name name = sonde__report_element_name(report, element);
        snprintf(place, sizeof place, "%.*s%s", (int)name.size, name.bytes, name.start);
        sonde__report_out_text(&out, place);
    }
    sonde__report_out_flush(&out);
}

/* Of a longer name the first DIGEST_NAME_TEXT - 1 bytes. */
static size_t size_of_name(const char *name)
{
    return strnlen(name, DIGEST_NAME_TEXT - 1);
}

static const char *take(char **at, const char *text, size_t size)
{
    char *copy = *at; /* of zeroes */
    memcpy(copy, text, size);
    *at += size + 1;
    return copy;
}

static struct digest_call *make_call(const struct reading *r, const struct sonde__report_call *call)
{
    put_path(r->report, r->room);
    const char *rule =
        sonde__report_text(r->report, sonde__report_rule(r->report, call->rule)->name);
    const char *api = sonde__report_text(r->report, call->function);
    const char *sdk = sonde__report_text(r->report, call->sdk), *path = r->room->lines;
    char code[DIGEST_CODE_TEXT];
    digest_caller_code(r->report, call, code);
    struct digest_call *made =
        sonde__mem_alloc_zeroed(sizeof *made + size_of_name(rule) + size_of_name(api) +
                                size_of_name(sdk) + strlen(path) + strlen(code) + 5);
    if (made != NULL) {
        char *at = (char *)(made + 1);
        made->rule = take(&at, rule, size_of_name(rule));
        made->api = take(&at, api, size_of_name(api));
        made->sdk = take(&at, sdk, size_of_name(sdk));
        made->path = take(&at, path, strlen(path));
        made->code = take(&at, code, strlen(code));
        made->is_stable = sonde__report_call_key_is_stable(&r->room->cause.key);
    }
    return made;
}

static void count_call(const struct reading *r, const struct sonde__report_call *call,
                       struct digest_call *into)
{
    uint32_t phase = call->phase <= sonde__report_phase_count(r->report) ? call->phase : 0;
    uint8_t consent = r->consents[phase];
    into->before += consent == SONDE__REPORT_CONSENT_BEFORE ? call->count : 0;
    into->given += consent == SONDE__REPORT_CONSENT_GIVEN ? call->count : 0;
    into->refused += consent == SONDE__REPORT_CONSENT_REFUSED ? call->count : 0;
    into->over += call->over_limit;
    digest_count_caller(r->report, call, into);
}

/* --- events --- */

static uint32_t hash_of(const char *group)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *group != '\0'; group++) {
        hash = (hash ^ (unsigned char)*group) * 0x100000001b3u;
    }
    return sonde__mem_hash(hash);
}

/* The event of this group so far; null: none. */
static struct digest_event *find(const struct digest *digest, const struct room *room,
                                 const char *group)
{
    uint32_t found = SONDE__TABLE_FIND(&room->events, hash_of(group), i,
                                       strcmp(digest->events[i].group, group) == 0);
    return found != SONDE__TABLE_NONE ? &digest->events[found] : NULL;
}

static enum sonde_status read_call(const struct reading *r, const struct sonde__report_call *call)
{
    struct digest *digest = r->digest;
    struct digest_event event = {.kind = call->rule != 0 ? DIGEST_FINDING : DIGEST_CALL,
                                 .begin_ns = call->first_ns,
                                 .count = call->count};
    cause_of_call(r->report, call, &r->room->cause, event.group);
    struct digest_event *same = find(digest, r->room, event.group);
    if (same != NULL) {
        same->count += event.count;
        count_call(r, call, same->call);
        return SONDE_OK;
    }
    if (digest->event_count == DIGEST_EVENTS_MAX) {
        digest->left_out++;
        return digest_note_api(digest, sonde__report_text(r->report, call->function),
                               "a report has more calls than are kept");
    }
    if (call->rule != 0) {
        event.severity = sonde__report_rule(r->report, call->rule)->severity;
    }
    event.call = make_call(r, call);
    if (event.call == NULL) {
        return SONDE_MEMORY;
    }
    count_call(r, call, event.call);
    put_texts(r->report, call, &event);
    event.is_system = event.call->path[0] == '\0';
    digest->events[digest->event_count++] = event;
    return sonde__mem_table_add(&r->room->events, hash_of(event.group), digest->event_count - 1)
               ? SONDE_OK
               : SONDE_MEMORY;
}

/* --- what was looked for --- */

static enum sonde_status list(struct digest *digest, const char *name)
{
    if (*name == '\0' || digest->listed_count == DIGEST_LISTED_MAX) {
        return SONDE_OK;
    }
    char *copy = sonde__mem_alloc_zeroed(size_of_name(name) + 1);
    if (copy == NULL) {
        return SONDE_MEMORY;
    }
    memcpy(copy, name, size_of_name(name));
    digest->listed[digest->listed_count++] = copy;
    return SONDE_OK;
}

static enum sonde_status list_functions(const struct sonde__report *report, struct digest *digest)
{
    enum sonde_status status = SONDE_OK;
    uint32_t strings = sonde__report_string_count(report);
    bool *seen = sonde__mem_alloc_zeroed((size_t)strings + 1);
    if (seen == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 0; i < sonde__report_call_count(report) && status == SONDE_OK; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (call->rule == 0 && call->function <= strings && !seen[call->function]) {
            seen[call->function] = true;
            status = list(digest, sonde__report_text(report, call->function));
        }
    }
    sonde__mem_free(seen);
    return status;
}

static enum sonde_status read_listed(const struct sonde__report *report, struct digest *digest)
{
    enum sonde_status status = SONDE_OK;
    digest->has_calls = digest->kind == SONDE__REPORT_CALLS || digest->kind == SONDE__REPORT_AUDIT;
    if (!digest->has_calls) {
        return SONDE_OK;
    }
    digest->listed = sonde__mem_alloc_array(DIGEST_LISTED_MAX, sizeof *digest->listed);
    if (digest->listed == NULL) {
        return SONDE_MEMORY;
    }
    for (uint32_t i = 1; i <= sonde__report_rule_count(report) && status == SONDE_OK; i++) {
        status = list(digest, sonde__report_text(report, sonde__report_rule(report, i)->name));
    }
    return status == SONDE_OK ? list_functions(report, digest) : status;
}

static enum sonde_status read_calls(struct reading *r)
{
    enum sonde_status status = digest_consents(r->report, &r->consents);
    for (uint32_t i = 0; i < sonde__report_call_count(r->report) && status == SONDE_OK; i++) {
        const struct sonde__report_call *call = sonde__report_call(r->report, i);
        if (call->count != 0) { /* else it only says what may be missing */
            status = read_call(r, call);
        }
    }
    return status;
}

enum sonde_status digest_read_calls(const struct sonde__report *report, struct digest *digest)
{
    struct reading r = {.report = report, .digest = digest};
    enum sonde_status status = read_listed(report, digest);
    status = status == SONDE_OK ? digest_read_apis(report, digest) : status;
    if (status != SONDE_OK || sonde__report_call_count(report) == 0) {
        return status;
    }
    r.room = sonde__mem_alloc(sizeof *r.room);
    if (r.room == NULL) {
        return SONDE_MEMORY;
    }
    r.room->events = (struct sonde__mem_table){0};
    status = read_calls(&r);
    sonde__mem_table_done(&r.room->events);
    sonde__mem_free(r.consents);
    sonde__mem_free(r.room);
    return status;
}
