// SPDX-License-Identifier: Apache-2.0
/* V8 10.2, 11.3, 12.4, 13.6 and 14.6 (Node.js 18, 20, 22, 24, 26): functions of JavaScript on a
 * native stack. Private to names/runtime.
 *
 * All of V8's code keeps frame pointers. Below each frame pointer of a function's call are its
 * context and its JSFunction; while it is interpreted, also its bytecode and the offset in it. The
 * JSFunction leads to name, script and positions. Each object that is used must have the type that
 * it should have, by its map.
 *
 * V8 moves objects while the thread is in its garbage collector, and it may rest there. An object
 * that has moved has its new address instead of its map, and pointers to the old one are followed.
 * If an object cannot be read, the thread has no functions: it must not pass for one without a
 * name.
 *
 * Source of the layout: the values that the binary states for debuggers (symbols v8dbg_*), and for
 * what it does not state, src/objects (bytecode-array.tq, scope-info.tq, script.tq) of each
 * version. */
#ifndef SONDE_V8_H
#define SONDE_V8_H

#include "image_elf.h"
#include "runtime.h"
#include "runtime_view.h"

/* --- layout: v8_layout.c --- */

enum v8_value {
    V8_MAJOR,
    V8_MINOR,
    V8_FP_CONTEXT,
    V8_FP_FUNCTION,
    V8_FP_BYTECODE,
    V8_FP_OFFSET,
    V8_MAP,
    V8_MAP_TYPE,
    V8_MAP_SIZE,
    V8_FUNCTION_SHARED,
    V8_FUNCTION_CONTEXT,
    V8_SHARED_NAME,
    V8_SHARED_SCRIPT,
    V8_SCRIPT_NAME,
    V8_SCRIPT_SOURCE,
    V8_SCRIPT_EVAL,
    V8_STRING_LENGTH,
    V8_STRING_BYTES,
    V8_CONS_FIRST,
    V8_CONS_SECOND,
    V8_SLICED_PARENT,
    V8_SLICED_OFFSET,
    V8_THIN_ACTUAL,
    V8_EXTERNAL_RESOURCE,
    V8_ARRAY_LENGTH,
    V8_ARRAY_DATA,
    V8_BYTECODE_DATA,
    V8_SCOPE_FIRST,
    V8_TYPE_CONTEXT_FIRST,
    V8_TYPE_CONTEXT_LAST,
    V8_TYPE_SHARED,
    V8_TYPE_SCRIPT,
    V8_TYPE_SCOPE,
    V8_TYPE_BYTECODE,
    V8_TYPE_BYTES,
    V8_STATED, /* the number of values that each version states */
    V8_TYPE_TRUSTED_BYTES = V8_STATED,
    V8_TAGGED_BYTES,
    V8_VALUES
};

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

struct v8_layout {
    int32_t of[V8_VALUES];
    uint8_t arch;
    /* not stated */
    int32_t bytecode_positions;
    int32_t script_line_offset, script_id;
    uint8_t function_scope; /* the type of scope of functions; that of modules follows */
    bool has_plain_flags;   /* flags of a scope are a number, not a small integer of V8 */
    bool has_step_bits;     /* in tables of positions: two bits below each step in the code */
};
/* Returns OK | UNSUPPORTED (an unknown version) | CORRUPT (a value is missing or cannot be). */
SONDE_NODISCARD enum sonde_status v8_layout_of(const struct v8_stated *stated,
                                               struct v8_layout *ret_layout,
                                               struct sonde_error *ret_error);

/* "V8 11.3" */
void v8_version(const struct v8_layout *layout, char *ret_text, size_t capacity);

/* --- objects and texts: v8_text.c --- */

struct v8_known {
    uint64_t look, object;
    const char *text;
};
/* Ends of the lines of a script, as character positions. */
struct v8_lines {
    uint64_t id, source;
    uint32_t length, count, age;
    uint32_t *ends;
};

enum {
    V8_TEXT_MAX = 1024,
    V8_TEXTS = 1 << 17,
    V8_KNOWN = 512,
    V8_LINES = 32,
    V8_SOURCES = 1 << 25
};

struct v8 {
    struct v8_layout layout;
    struct v8_known known[V8_KNOWN];
    struct v8_lines lines[V8_LINES];
    uint32_t age;
    uint32_t used;        /* bytes of `texts`, in the current look */
    uint32_t source_left; /* characters of sources that the current look may still read */
    bool is_unclear;      /* since it was cleared, an object could not be read */
    char texts[V8_TEXTS];
};

static inline bool v8_is_object(uint64_t word)
{
    return (word & 3) == 1;
}
/* A small integer of V8 (in the upper half of the word). */
static inline bool v8_is_small(uint64_t word)
{
    return (uint32_t)word == 0;
}
/* A word of an object; of an object that it points to, the present address. 0: unreadable, and no
 * valid word is 0 but the small integer 0. */
uint64_t v8_word(struct v8 *v8, struct sonde__view *view, uint64_t object, int32_t member);
/* The same of a word that is no object of V8, as it is. */
uint64_t v8_number(struct v8 *v8, struct sonde__view *view, uint64_t object, int32_t member);
/* Where an object is that may have been moved. */
uint64_t v8_moved(struct v8 *v8, struct sonde__view *view, uint64_t object);
/* The instance type of an object; -1: it is none. */
int32_t v8_type(struct v8 *v8, struct sonde__view *view, uint64_t object);
static inline bool v8_is(struct v8 *v8, struct sonde__view *view, uint64_t object,
                         enum v8_value type)
{
    return v8_type(v8, view, object) == v8->layout.of[type];
}

/* --- texts: v8_text.c --- */

bool v8_is_text(struct v8 *v8, struct sonde__view *view, uint64_t object);
/* The characters of a string as UTF-8, cut with "..." if it is long; valid until the next look.
 * Null: unreadable, or no string. */
const char *v8_text(struct v8 *v8, struct sonde__view *view, uint64_t object);
/* Where the characters of a string are, if they are in one place. False: they are not, or they
 * cannot be read. */
bool v8_flat_text(struct v8 *v8, struct sonde__view *view, uint64_t object, uint64_t *ret_address,
                  uint32_t *ret_length, bool *ret_is_wide);

/* --- lines: v8_lines.c --- */

/* The line of an instruction of a function's bytecode; 0: unknown. offset: as in the frame */
uint32_t v8_line_of(struct v8 *v8, struct sonde__view *view, uint64_t script, uint64_t bytecode,
                    int64_t offset);
void v8_lines_done(struct v8 *v8);

/* --- functions: v8_frames.c --- */

/* Name the functions of a native stack, innermost first. native: of each frame, the index of its
 * native frame. Null: done; else why it failed. *ret_doubt: what is not shown, or null. */
const char *v8_read_stack(struct v8 *v8, struct sonde__view *view,
                          const struct sonde__runtime_native *stack,
                          struct sonde__script_frame *ret_frames, uint32_t *ret_native,
                          uint32_t capacity, uint32_t *ret_count, const char **ret_doubt);

#endif
