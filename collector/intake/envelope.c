// SPDX-License-Identifier: Apache-2.0
#include "envelope.h"

#include <stdio.h>
#include <string.h>

#include "tape.h"

/* Values of a line of JSON, and of an event whose id is only in itself. */
enum { LINE_VALUES = 2000, EVENT_VALUES = 1 << 20 };

struct envelope_text {
    const char *at, *end;
};

static bool fail(struct sonde_error *ret_error, const char *what)
{
    snprintf(ret_error->what, sizeof ret_error->what, "this is no envelope: %s", what);
    return false;
}

/* Cut the next line off. */
static struct envelope_text next_line(struct envelope_text *text)
{
    const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
    struct envelope_text line = {text->at, newline != NULL ? newline : text->end};
    text->at = newline != NULL ? newline + 1 : text->end;
    return line;
}

/* The line as an object. */
static bool read_line(struct envelope_text line, struct sonde__tape *ret_tape)
{
    struct sonde__tape tape;
    if (sonde__tape_read(line.at, (size_t)(line.end - line.at), LINE_VALUES, &tape, NULL, NULL) !=
        SONDE_OK) {
        return false;
    }
    if (sonde__tape_kind(&tape, 0) != SONDE__TAPE_OBJECT) {
        sonde__tape_done(&tape);
        return false;
    }
    *ret_tape = tape;
    return true;
}

/* 32 digits, or a UUID with dashes. */
static bool read_id(const struct sonde__tape *tape, struct report_id *ret_id)
{
    char text[64];
    size_t used = 0;
    if (!sonde__tape_string(tape, sonde__tape_get(tape, 0, "event_id"), text, sizeof text)) {
        return false;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c != '-') {
            text[used++] = *c;
        }
    }
    return ids_parse_report(text, used, ret_id);
}

/* The id that only the event has; else a hash, so that the same bytes are the same event. */
static void find_id(struct envelope *envelope)
{
    struct sonde__tape tape;
    bool is_found = false;
    if (sonde__tape_read(envelope->event, envelope->event_size, EVENT_VALUES, &tape, NULL, NULL) ==
        SONDE_OK) {
        is_found = read_id(&tape, &envelope->id);
        sonde__tape_done(&tape);
    }
    if (!is_found) {
        struct hash hash = ids_hash(envelope->event, envelope->event_size);
        memcpy(envelope->id.bytes, hash.bytes, sizeof envelope->id.bytes);
    }
}

/* Cut the payload of an item off: `length` bytes, or, without it, a line. */
static bool read_payload(const struct sonde__tape *head, struct envelope_text *text,
                         struct envelope_text *ret_payload)
{
    uint64_t length;
    uint32_t at = sonde__tape_get(head, 0, "length");
    if (at == SONDE__TAPE_NONE) {
        *ret_payload = next_line(text);
        return true;
    }
    if (!sonde__tape_uint(head, at, &length) || length > (uint64_t)(text->end - text->at)) {
        return false;
    }
    *ret_payload = (struct envelope_text){text->at, text->at + length};
    text->at += length;
    if (text->at < text->end && *text->at == '\n') {
        text->at++;
        return true;
    }
    return text->at == text->end;
}

static bool read_item(struct envelope_text *text, struct envelope *envelope,
                      struct sonde_error *ret_error)
{
    struct envelope_text line = next_line(text), payload;
    struct sonde__tape head;
    if (line.at == line.end) {
        return true; /* empty lines may end it */
    }
    if (!read_line(line, &head)) {
        return fail(ret_error, "the head of an item is no JSON object");
    }
    bool is_event = sonde__tape_is(&head, sonde__tape_get(&head, 0, "type"), "event");
    bool is_whole = read_payload(&head, text, &payload);
    sonde__tape_done(&head);
    if (!is_whole) {
        return fail(ret_error, "an item is not as long as its head says");
    }
    if (++envelope->items > ENVELOPE_ITEMS_MAX) {
        return fail(ret_error, "it has more than 1,000 items");
    }
    if (is_event && envelope->event == NULL) {
        envelope->event = payload.at;
        envelope->event_size = (size_t)(payload.end - payload.at);
    }
    return true;
}

bool envelope_read(const void *bytes, size_t size, struct envelope *ret_envelope,
                   struct sonde_error *ret_error)
{
    struct envelope envelope = {0};
    struct envelope_text text = {bytes, size != 0 ? (const char *)bytes + size : bytes};
    struct sonde__tape head;
    if (size == 0 || !read_line(next_line(&text), &head)) {
        return fail(ret_error, "its first line is no JSON object");
    }
    bool has_id = read_id(&head, &envelope.id);
    sonde__tape_done(&head);
    while (text.at < text.end) {
        if (!read_item(&text, &envelope, ret_error)) {
            return false;
        }
    }
    if (envelope.event != NULL && !has_id) {
        find_id(&envelope);
    }
    *ret_envelope = envelope;
    return true;
}
