// SPDX-License-Identifier: Apache-2.0
/* Objects of V8 10.2, 11.3, 12.4, 13.6 and 14.6 (Node.js 18, 20, 22, 24, 26): functions, their
 * names, and places in their code. By a reader, of another process or of this one.
 *
 * V8 moves objects while the thread is in its garbage collector, and it may rest there. An object
 * that has moved has its new address instead of its map, and pointers to the old one are followed.
 * Each object that is used must have the type that it should have, by its map. If an object cannot
 * be read, this is noted: it must not pass for one without a name.
 *
 * Source of the layout: the values that the binary states for debuggers (symbols v8dbg_*), and for
 * what it does not state, src/objects (bytecode-array.tq, scope-info.tq, script.tq) of each
 * version. Context: handler, if the reader may be called in one. */
#ifndef SONDE_V8_V8_H
#define SONDE_V8_V8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct v8_layout {
    int32_t of[V8_VALUES];
    uint8_t arch;
    /* not stated */
    int32_t bytecode_positions;
    int32_t script_line_offset, script_id;
    uint8_t function_scope; /* the type of scope of functions; that of modules follows */
    uint8_t class_kinds; /* kinds of functions that set the members of an instance, or of a class */
    bool has_plain_flags; /* flags of a scope are a number, not a small integer of V8 */
    bool has_step_bits;   /* in tables of positions: two bits below each step in the code */
};

struct v8_known {
    uint64_t look, object;
    const char *text;
};

enum { V8_TEXT_MAX = 1024, V8_TEXT_ROOM = 4 * V8_TEXT_MAX + 4, V8_KNOWN = 512 };

struct v8 {
    struct v8_layout layout;
    /* Returns the bytes at an address, valid until the next call; null: unreadable. */
    const uint8_t *(*at)(void *ctx, uint64_t address, uint32_t size);
    void *ctx;
    bool is_unclear; /* since it was cleared, an object could not be read */
    char *texts;     /* where texts are written: */
    uint32_t used, room;
    struct v8_known *known; /* V8_KNOWN texts of the current look; null: none */
    uint64_t look;
};

/* --- v8_object.c --- */

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
uint64_t sonde__v8_word(struct v8 *v8, uint64_t object, int32_t member);
/* The same of a word that is no object of V8, as it is. */
uint64_t sonde__v8_raw_word(struct v8 *v8, uint64_t object, int32_t member);
/* Where an object is that may have been moved. */
uint64_t sonde__v8_moved(struct v8 *v8, uint64_t object);
/* The instance type of an object; -1: it is none. */
int32_t sonde__v8_type(struct v8 *v8, uint64_t object);
static inline bool v8_is(struct v8 *v8, uint64_t object, enum v8_value type)
{
    return sonde__v8_type(v8, object) == v8->layout.of[type];
}

/* --- v8_text.c --- */

bool sonde__v8_is_text(struct v8 *v8, uint64_t object);
/* The characters of a string as UTF-8, cut with "..." if it is long; valid until the next look.
 * Null: unreadable, or no string. */
const char *sonde__v8_text(struct v8 *v8, uint64_t object);
/* Where the characters of a string are, if they are in one place. False: they are not, or they
 * cannot be read. */
bool sonde__v8_flat_text(struct v8 *v8, uint64_t object, uint64_t *ret_address,
                         uint32_t *ret_length, bool *ret_is_wide);

/* --- v8_name.c --- */

/* As V8 names a function in stack traces: by its source, by the name that it got, or by what it is
 * assigned to there. shared, script: of the function; script: 0: none */
const char *sonde__v8_function_name(struct v8 *v8, uint64_t function, uint64_t shared,
                                    uint64_t script);
/* Null: unreadable. */
const char *sonde__v8_file_name(struct v8 *v8, uint64_t script);

/* --- v8_position.c --- */

/* The character of a function's source that an instruction of its bytecode comes from; -1: unknown.
 * offset: as in the frame */
int64_t sonde__v8_position(struct v8 *v8, uint64_t bytecode, int64_t offset);

static inline bool v8_is_line_end(uint32_t c, uint32_t following)
{
    return c == '\n' || (c == '\r' && following != '\n') || c == 0x2028 || c == 0x2029;
}

/* --- v8_frame.c --- */

/* Words of a frame that are read; of these below its pointer. */
enum { V8_FRAME_WORDS = 10, V8_FRAME_BELOW = 8 };
struct v8_frame {
    uint64_t fp;
    uint64_t words[V8_FRAME_WORDS];
};

static inline uint64_t v8_below(const struct v8 *v8, const struct v8_frame *frame,
                                enum v8_value value)
{
    return frame->words[V8_FRAME_BELOW + v8->layout.of[value] / 8];
}

/* An object of a frame, where it is now. */
static inline uint64_t v8_object_below(struct v8 *v8, const struct v8_frame *frame,
                                       enum v8_value value)
{
    return sonde__v8_moved(v8, v8_below(v8, frame, value));
}

/* Is it a call of JavaScript? */
bool sonde__v8_is_call(struct v8 *v8, const struct v8_frame *frame);

/* Does the interpreter go on at `pc`, with bytecode and offset as they are in the frame? A loop
 * that was compiled while it ran has both in its frame, too, as they were before. */
bool sonde__v8_is_interpreter(const struct v8 *v8, uint64_t pc);

#endif
