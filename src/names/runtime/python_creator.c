// SPDX-License-Identifier: Apache-2.0
/* Where a task was created.
 *
 * In debug mode, asyncio keeps the stack at that moment in the task: a StackSummary, which is a
 * list of FrameSummary, outermost first. Its inner end is asyncio's own. A task that a callback of
 * the loop created, as that of a new connection, has no function of the program there but those
 * that started the loop: these did not create it. */
#include <stdio.h>
#include <string.h>

#include "base_bytes.h"
#include "python.h"

enum {
    LIST_SIZE = 16,
    LIST_ITEMS = 24,
    FRAMES_MAX = 64, /* innermost ones that are looked at */
};

/* Members of a FrameSummary, whose slots are sorted by name: file, line, and two behind it the
 * function. */
static unsigned summary_file(const struct python_layout *l)
{
    return l->minor < 11 ? 24 : l->minor < 13 ? 48 : l->minor < 14 ? 56 : 64;
}

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

/* Get address and number of the frames. */
static bool find_frames(struct python *python, struct sonde__view *view, uint64_t task,
                        uint64_t *ret_items, uint64_t *ret_count)
{
    enum { SOURCE_3_8 = 64, SOURCE = 72 };
    const uint8_t *bytes =
        sonde__view_at(view, task + (python->layout.minor < 10 ? SOURCE_3_8 : SOURCE), 8, false);
    uint64_t list = bytes != NULL ? word(bytes, 0) : 0;
    bytes = list != 0 ? sonde__view_at(view, list, LIST_ITEMS + 8, false) : NULL;
    if (bytes == NULL || !python_is_of_type(&python->codes, view, bytes, "StackSummary",
                                            &python->codes.types.summaries)) {
        return false;
    }
    *ret_count = word(bytes, LIST_SIZE);
    *ret_items = word(bytes, LIST_ITEMS);
    return *ret_items % 8 == 0;
}

struct frame {
    char function[96], file[256];
    uint32_t line;
};

static bool read_frame(struct python *python, struct sonde__view *view, uint64_t at,
                       struct frame *ret_frame)
{
    enum { LINE = 8, FUNCTION = 24 }; /* behind the file */
    unsigned file = summary_file(&python->layout);
    const uint8_t *bytes = sonde__view_at(view, at, 8, false);
    uint64_t summary = bytes != NULL ? word(bytes, 0) : 0;
    bytes = summary != 0 ? sonde__view_at(view, summary, file + FUNCTION + 8u, false) : NULL;
    return bytes != NULL &&
           python_is_of_type(&python->codes, view, bytes, "FrameSummary",
                             &python->codes.types.summary) &&
           python_short_text(python, view, word(bytes, file), ret_frame->file,
                             sizeof ret_frame->file) &&
           python_short_text(python, view, word(bytes, file + FUNCTION), ret_frame->function,
                             sizeof ret_frame->function) &&
           python_small_int(python, view, word(bytes, file + LINE), &ret_frame->line);
}

/* Is it a file of asyncio, and which one? Null: no. */
static const char *file_of_asyncio(const struct python *python, const char *file)
{
    char folder[32];
    (void)snprintf(folder, sizeof folder, "python3.%u/asyncio/", python->layout.minor);
    const char *at = strstr(file, folder);
    return at != NULL ? at + strlen(folder) : NULL;
}

bool python_task_creator(struct python *python, struct sonde__view *view, uint64_t task,
                         char *ret_function, size_t function_capacity, char *ret_file,
                         size_t file_capacity, uint32_t *ret_line)
{
    uint64_t items = 0, count = 0;
    if (!find_frames(python, view, task, &items, &count)) {
        return false;
    }
    for (uint64_t i = 0; i < count && i < FRAMES_MAX; i++) {
        struct frame frame;
        if (!read_frame(python, view, items + (count - 1 - i) * 8, &frame)) {
            return false;
        }
        const char *own = file_of_asyncio(python, frame.file);
        if (own != NULL && strcmp(own, "events.py") == 0 && strcmp(frame.function, "_run") == 0) {
            return false; /* a callback of the loop */
        }
        if (own == NULL) {
            (void)snprintf(ret_function, function_capacity, "%s", frame.function);
            (void)snprintf(ret_file, file_capacity, "%s", frame.file);
            *ret_line = frame.line;
            return true;
        }
    }
    return false;
}
