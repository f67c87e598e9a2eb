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
           strlen(ret_frame->file) < sizeof ret_frame->file - 4 && /* else it may be cut */
           python_small_int(python, view, word(bytes, file + LINE), &ret_frame->line);
}

/* --- files of asyncio --- */

/* A file asyncio/NAME.py: NAME, and the size of the path of the folder before it. Null: another. */
static const char *name_in_asyncio(const char *file, size_t *ret_folder)
{
    static const char package[] = "asyncio";
    const char *name = strrchr(file, '/');
    size_t before = name != NULL ? (size_t)(name - file) : 0;
    if (before < sizeof package - 1) {
        return NULL;
    }
    before -= sizeof package - 1;
    if (memcmp(file + before, package, sizeof package - 1) != 0 ||
        (before > 0 && file[before - 1] != '/')) {
        return NULL;
    }
    *ret_folder = before;
    return name + 1;
}

/* Is it one of the functions that each run of a loop goes through? Other packages have folders
 * named asyncio, too, but not these. */
static bool runs_a_loop(const char *name, const char *function)
{
    static const char *const known[][2] = {{"events.py", "_run"},
                                           {"base_events.py", "_run_once"},
                                           {"base_events.py", "run_forever"},
                                           {"base_events.py", "run_until_complete"},
                                           {"runners.py", "run"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i][0]) == 0 && strcmp(function, known[i][1]) == 0) {
            return true;
        }
    }
    return false;
}

/* Do Python's own libraries end with this folder: by a name of the version, or the file of an
 * archive? An interpreter that is built into a program may have them anywhere. */
static bool is_of_python(const struct python_layout *l, const char *file, size_t folder)
{
    char name[2][24];
    (void)snprintf(name[0], sizeof *name, "python3.%u/", l->minor);
    (void)snprintf(name[1], sizeof *name, "python3%u.zip/", l->minor);
    for (unsigned i = 0; i < 2; i++) {
        size_t size = strlen(name[i]);
        if (folder >= size && memcmp(file + folder - size, name[i], size) == 0) {
            return true;
        }
    }
    return false;
}

/* The folder that has the package asyncio. */
struct home {
    char folder[256];
    size_t size;
    bool is_known;
};

/* Find it by the outermost function that runs the loop. */
static struct home find_home(struct python *python, struct sonde__view *view, uint64_t items,
                             uint64_t count)
{
    struct frame frame;
    struct home home = {.is_known = false};
    for (uint64_t i = 0; i < count && i < FRAMES_MAX && !home.is_known; i++) {
        const char *name = read_frame(python, view, items + i * 8, &frame)
                               ? name_in_asyncio(frame.file, &home.size)
                               : NULL;
        home.is_known = name != NULL && runs_a_loop(name, frame.function);
    }
    memcpy(home.folder, frame.file, home.is_known ? home.size : 0);
    return home;
}

enum whose { PROGRAMS, ASYNCIOS, UNKNOWN };

static enum whose whose_file(const struct python *python, const struct home *home, const char *file,
                             const char **ret_name)
{
    size_t folder = 0;
    *ret_name = name_in_asyncio(file, &folder);
    if (*ret_name == NULL) {
        return PROGRAMS;
    }
    if (home->is_known) {
        return home->size == folder && memcmp(home->folder, file, folder) == 0 ? ASYNCIOS
                                                                               : PROGRAMS;
    }
    return is_of_python(&python->layout, file, folder) ? ASYNCIOS : UNKNOWN;
}

bool python_task_creator(struct python *python, struct sonde__view *view, uint64_t task,
                         char *ret_function, size_t function_capacity, char *ret_file,
                         size_t file_capacity, uint32_t *ret_line)
{
    uint64_t items = 0, count = 0;
    if (!find_frames(python, view, task, &items, &count)) {
        return false;
    }
    const struct home home = find_home(python, view, items, count);
    for (uint64_t i = 0; i < count && i < FRAMES_MAX; i++) {
        struct frame frame;
        const char *name = NULL;
        if (!read_frame(python, view, items + (count - 1 - i) * 8, &frame)) {
            return false;
        }
        enum whose whose = whose_file(python, &home, frame.file, &name);
        if (whose == UNKNOWN || (whose == ASYNCIOS && strcmp(name, "events.py") == 0 &&
                                 strcmp(frame.function, "_run") == 0)) {
            return false; /* asyncio's or not; a callback of the loop */
        }
        if (whose == PROGRAMS) {
            (void)snprintf(ret_function, function_capacity, "%s", frame.function);
            (void)snprintf(ret_file, file_capacity, "%s", frame.file);
            *ret_line = frame.line;
            return true;
        }
    }
    return false;
}
