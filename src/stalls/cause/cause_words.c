// SPDX-License-Identifier: Apache-2.0
/* The texts of causes. Every path, address and command line in them, and so in a report, goes
 * through one of three functions below: scrubbing rules belong there. */
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cause_private.h"
#include "host_process.h"
#include "scrub.h"

/* How many bytes of a path and of a command line are shown. The end of a path names the file; the
 * beginning of a command line names the program. */
enum { PATH_SHOWN = 120, COMMAND_SHOWN = 60 };

struct sonde__text cause_resource(struct sonde__cause *cause)
{
    struct sonde__text text;
    sonde__base_text_init(&text, cause->resource, sizeof cause->resource);
    return text;
}

struct sonde__text cause_owner(struct sonde__cause *cause)
{
    struct sonde__text text;
    sonde__base_text_init(&text, cause->owner, sizeof cause->owner);
    return text;
}

/* A place to cut UTF-8 text, not inside a character. */
static const char *to_character(const char *at)
{
    while (((uint8_t)*at & 0xc0) == 0x80) {
        at++;
    }
    return at;
}

/* Scrub before cutting: the part that is cut off may be what tells a rule that a name follows. */
void cause_put_path(struct sonde__text *text, const char *path)
{
    char buffer[PATH_MAX];
    size_t length = strlen(path);
    if (length > PATH_SHOWN) {
        struct sonde__text scrubbed;
        sonde__base_text_init(&scrubbed, buffer, sizeof buffer);
        sonde__scrub(sonde__scrub_used(), path, length, &scrubbed);
        path = buffer;
        length = scrubbed.length;
    }
    if (length > PATH_SHOWN) {
        sonde__base_text_str(text, "...");
        path = to_character(path + length - PATH_SHOWN);
    }
    sonde__base_text_str(text, path);
}

void cause_put_address(struct sonde__text *text, const char *address)
{
    sonde__base_text_str(text, address);
}

void cause_put_command(struct sonde__text *text, const char *command)
{
    size_t length = strlen(command);
    if (length <= COMMAND_SHOWN) {
        sonde__base_text_str(text, command);
        return;
    }
    const char *end = command + COMMAND_SHOWN;
    while (end > command && ((uint8_t)*end & 0xc0) == 0x80) {
        end--;
    }
    sonde__base_text_bytes(text, command, (size_t)(end - command));
    sonde__base_text_str(text, "...");
}

void cause_put(struct sonde__text *text, const char *format, ...)
{
    size_t room = text->capacity - text->length;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text->data + text->length, room, format, list);
    va_end(list);
    text->cut = text->cut || length < 0 || (size_t)length >= room;
    text->length += strlen(text->data + text->length);
}

void cause_put_thread(struct sonde__text *text, int32_t pid, uint64_t tid)
{
    struct sonde__host_thread thread;
    cause_put(text, "thread %" PRIu64, tid);
    if (sonde__host_thread_read(pid, tid, &thread) == SONDE_OK && thread.name[0] != '\0') {
        cause_put(text, " (%s)", thread.name);
    }
}

void cause_put_process(struct sonde__text *text, int32_t pid)
{
    char command[256];
    cause_put(text, "process %d", pid);
    if (sonde__host_command_read(pid, command, sizeof command) && command[0] != '\0') {
        sonde__base_text_str(text, " (");
        cause_put_command(text, command);
        sonde__base_text_str(text, ")");
    }
}

void cause_put_processes(struct sonde__text *text, int32_t pid, uint32_t count)
{
    cause_put_process(text, pid);
    if (count > 1) {
        cause_put(text, " and %u more", count - 1);
    }
}

void cause_put_doubt(struct sonde__text *text, const struct cause_holders *holders)
{
    if (holders->hidden != 0) {
        cause_put(text, "; %u process%s could not be looked into", holders->hidden,
                  holders->hidden == 1 ? "" : "es");
    } else if (holders->cut) {
        sonde__base_text_str(text, "; not all processes were looked into");
    }
}

void sonde__cause_text(const struct sonde__cause *cause, char *ret_text, size_t capacity)
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_text, capacity);
    if (cause->kind != SONDE__CAUSE_NONE) {
        sonde__base_text_str(&text, cause->resource);
        if (cause->owner[0] != '\0') {
            cause_put(&text, "%s%s", cause->resource[0] != '\0' ? ", " : "", cause->owner);
        }
    }
}
