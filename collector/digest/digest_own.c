// SPDX-License-Identifier: Apache-2.0
/* The fingerprint of a stall has the functions with most of the time. Without one there may still
 * be some with less, so each stack is looked at alone, as that of an error. */
#include "digest_own.h"

#include <stdio.h>
#include <string.h>

#include "report_fingerprint.h"
#include "report_view.h"

/* Different stacks of a stall that are looked at; with more it is nobody's but the program's. */
enum { STACKS_MAX = 256 };

/* The value of the first line that begins with a word; null: none. */
static const char *line_of(const char *text, const char *word)
{
    size_t size = strlen(word);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, word, size) == 0) {
            return line + size;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NULL;
}

/* The library of a text without functions of the program, but for those that start it: a text has
 * either. Null: it has functions, or only those that start the program. */
static const char *library_of(const char *text)
{
    const char *library = line_of(text, "library ");
    if (library == NULL && (library = line_of(text, "calls ")) != NULL) {
        library = strstr(library, " library ");
        library = library != NULL ? library + strlen(" library ") : NULL;
    }
    return library;
}

static enum sonde_status look_at_stack(const struct sonde__report *report, uint32_t stack,
                                       bool *ret_is_system)
{
    struct sonde__report_fingerprint fingerprint;
    enum sonde_status status = sonde__report_error_fingerprint(report, stack, "", &fingerprint);
    if (status == SONDE_OK) {
        *ret_is_system = library_of(fingerprint.text) != NULL;
        sonde__report_fingerprint_done(&fingerprint);
    }
    return status;
}

static enum sonde_status look_at_stacks(const struct sonde__report *report,
                                        const struct sonde__report_stall *stall,
                                        bool *ret_is_system)
{
    uint32_t seen[STACKS_MAX], count = 0;
    enum sonde_status status = SONDE_OK;
    bool is_system = true;
    for (uint32_t i = 0; i < stall->sample_count && status == SONDE_OK && is_system; i++) {
        uint32_t stack = stall->samples[i].stack, at = 0;
        while (at < count && seen[at] != stack) {
            at++;
        }
        if (stack == 0 || at < count) {
            continue;
        }
        if (count == STACKS_MAX) {
            is_system = false;
            break;
        }
        seen[count++] = stack;
        status = look_at_stack(report, stack, &is_system);
    }
    *ret_is_system = is_system && count != 0;
    return status;
}

/* Waits the loop itself, in its own library or by a call of the C library? */
static bool is_of_loop(const char *why)
{
    static const char *const c_libraries[] = {"libc.", "ld-musl", "libsystem_"};
    const char *library = library_of(why);
    bool is_called = line_of(why, "calls ") != NULL;
    for (size_t i = 0; is_called && i < sizeof c_libraries / sizeof *c_libraries; i++) {
        if (strncmp(library, c_libraries[i], strlen(c_libraries[i])) == 0) {
            return true;
        }
    }
    return !is_called;
}

static bool is_wait(const char *call)
{
    return call != NULL && (strcmp(call, "poll\n") == 0 || strcmp(call, "sleep\n") == 0);
}

enum sonde_status digest_mark_stall(const struct sonde__report *report,
                                    const struct sonde__report_stall *stall, uint32_t frame,
                                    struct digest_event *event)
{
    if (frame != 0) {
        snprintf(event->image, sizeof event->image, "%s",
                 sonde__report_image_name(report, sonde__report_frame(report, frame)->image));
    }
    if (library_of(event->why) == NULL) {
        return SONDE_OK;
    }
    enum sonde_status status = look_at_stacks(report, stall, &event->is_system);
    event->is_idle =
        event->is_system && is_of_loop(event->why) && is_wait(line_of(event->why, "blocked in "));
    return status;
}

void digest_mark_error(struct digest_event *event)
{
    event->is_system = library_of(event->why) != NULL;
}

void digest_mark_count(const struct digest *digest, struct digest_event *event)
{
    for (uint32_t i = 0; i < digest->event_count; i++) {
        const struct digest_event *same = &digest->events[i];
        if (same->why != NULL && strcmp(same->group, event->group) == 0) {
            event->is_system = same->is_system;
            event->is_idle = same->is_idle;
            memcpy(event->image, same->image, sizeof event->image);
            return;
        }
    }
}
