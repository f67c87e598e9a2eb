// SPDX-License-Identifier: Apache-2.0
#include "digest_calls.h"

#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "mem_heap.h"
#include "mem_table.h"
#include "report_new.h"

struct room {
    struct cause_room cause;
    struct sonde__mem_table events; /* of the digest, by their groups */
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

/* False: no memory. */
static bool read_call(const struct sonde__report *report, const struct sonde__report_call *call,
                      struct room *room, struct digest *digest)
{
    struct digest_event event = {.kind = call->rule != 0 ? DIGEST_FINDING : DIGEST_CALL,
                                 .begin_ns = call->first_ns,
                                 .count = call->count};
    cause_of_call(report, call, &room->cause, event.group);
    struct digest_event *same = find(digest, room, event.group);
    if (same != NULL) {
        same->count += event.count;
        return true;
    }
    if (digest->event_count == DIGEST_EVENTS_MAX) {
        digest->left_out++;
        return true;
    }
    if (call->rule != 0) {
        event.severity = sonde__report_rule(report, call->rule)->severity;
    }
    put_texts(report, call, &event);
    digest->events[digest->event_count++] = event;
    return sonde__mem_table_add(&room->events, hash_of(event.group), digest->event_count - 1);
}

enum sonde_status digest_read_calls(const struct sonde__report *report, struct digest *digest)
{
    uint32_t count = sonde__report_call_count(report);
    if (count == 0) {
        return SONDE_OK;
    }
    struct room *room = sonde__mem_alloc(sizeof *room);
    if (room == NULL) {
        return SONDE_MEMORY;
    }
    room->events = (struct sonde__mem_table){0};
    bool is_ok = true;
    for (uint32_t i = 0; i < count && is_ok; i++) {
        const struct sonde__report_call *call = sonde__report_call(report, i);
        if (call->count != 0) { /* else it only says what may be missing */
            is_ok = read_call(report, call, room, digest);
        }
    }
    sonde__mem_table_done(&room->events);
    sonde__mem_free(room);
    return is_ok ? SONDE_OK : SONDE_MEMORY;
}
