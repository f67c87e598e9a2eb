// SPDX-License-Identifier: Apache-2.0
/* Functions of JavaScript on a native stack (names/v8). Private to names/runtime.
 *
 * All of V8's code keeps frame pointers. Below each frame pointer of a function's call are its
 * context and its JSFunction; while it is interpreted, also its bytecode and the offset in it. The
 * JSFunction leads to name, script and positions. */
#ifndef SONDE_V8_READ_H
#define SONDE_V8_READ_H

#include "image_elf.h"
#include "runtime.h"
#include "runtime_view.h"
#include "v8.h"

/* --- layout: v8_layout.c --- */

/* What a file states. */
struct v8_stated {
    int32_t values[V8_VALUES];
    bool has[V8_VALUES];
    bool is_v8;
    uint8_t arch; /* enum sonde_arch */
};
/* May it be the name of a symbol that is to be noted? */
static inline bool v8_is_near(const char *name)
{
    return name[0] == 'v' ? name[1] == '8' && name[2] == 'd'
                          : name[0] == '_' && name[1] == 'Z' && name[2] == 'N' && name[3] == '2' &&
                                name[4] == 'v' && name[5] == '8';
}
/* Note a symbol of a file. */
void v8_note(struct v8_stated *stated, const struct sonde__elf *elf,
             const struct sonde__elf_symbol *symbol);

/* Returns OK | UNSUPPORTED (an unknown version) | CORRUPT (a value is missing or cannot be). */
SONDE_NODISCARD enum sonde_status v8_layout_of(const struct v8_stated *stated,
                                               struct v8_layout *ret_layout,
                                               struct sonde_error *ret_error);

/* "V8 11.3" */
void v8_version(const struct v8_layout *layout, char *ret_text, size_t capacity);

/* --- lines: v8_lines.c --- */

/* Ends of the lines of a script, as character positions. */
struct v8_lines {
    uint64_t id, source;
    uint32_t length, count, age;
    uint32_t *ends;
};

enum { V8_TEXTS = 1 << 17, V8_LINES = 32, V8_SOURCES = 1 << 25 };

struct v8_read {
    struct v8 v8; /* first */
    struct sonde__view *view;
    struct v8_known known[V8_KNOWN];
    struct v8_lines lines[V8_LINES];
    uint32_t age;
    uint32_t source_left; /* characters of sources that the current look may still read */
    char texts[V8_TEXTS];
};

/* The line of an instruction of a function's bytecode; 0: unknown. offset: as in the frame */
uint32_t v8_line_of(struct v8_read *read, uint64_t script, uint64_t bytecode, int64_t offset);
void v8_lines_done(struct v8_read *read);

/* --- functions: v8_frames.c --- */

void v8_read_init(struct v8_read *read, const struct v8_layout *layout, struct sonde__view *view);

/* Name the functions of a native stack, innermost first. native: of each frame, the index of its
 * native frame. Null: done; else why it failed. *ret_doubt: what is not shown, or null. */
const char *v8_read_stack(struct v8_read *read, const struct sonde__runtime_native *stack,
                          struct sonde__script_frame *ret_frames, uint32_t *ret_native,
                          uint32_t capacity, uint32_t *ret_count, const char **ret_doubt);

#endif
