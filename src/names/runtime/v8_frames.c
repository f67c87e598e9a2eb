// SPDX-License-Identifier: Apache-2.0
/* Which native frames are calls of JavaScript, and of which functions. */
#include <string.h>

#include "base_bytes.h"
#include "base_text.h"
#include "v8.h"

static const char no_function[] = "a call has no function";
static const char moved[] = "its native stack changed";
static const char nameless[] = "the name of a function or file cannot be read";

/* --- names --- */

/* The name of a function by its scope: behind the names and properties of its variables. 0: none.
 * *ret_inferred: what it is assigned to; 0: unknown. */
static uint64_t names_by_scope(struct v8 *v8, struct sonde__view *view, uint64_t scope,
                               uint64_t *ret_inferred)
{
    enum { FLAGS = 8, LOCALS = 24, INLINE_MAX = 75, LOCALS_MAX = 1 << 20 };
    enum { HAS_CLASS = 1 << 10, VARIABLE = 3 << 12, HAS_INFERRED = 1 << 14 };
    uint64_t flags = v8_number(v8, view, scope, FLAGS), count = v8_word(v8, view, scope, LOCALS);
    uint64_t name = 0;
    if (!v8_is_small(count) || count >> 32 > LOCALS_MAX) {
        v8->is_unclear = true;
        return 0;
    }
    flags = v8->layout.has_plain_flags ? (uint32_t)flags : flags >> 32;
    count >>= 32;
    uint64_t at = (uint64_t)v8->layout.of[V8_SCOPE_FIRST] + 1;
    at += (flags & 15) == v8->layout.function_scope + 1u; /* a module: the number of variables */
    at += (count < INLINE_MAX ? count : 1) + count;
    at += (flags & HAS_CLASS) != 0;
    if ((flags & VARIABLE) != 0) {
        name = v8_word(v8, view, scope, (int32_t)(8 * at));
        at += 2;
    }
    if ((flags & HAS_INFERRED) != 0) {
        *ret_inferred = v8_word(v8, view, scope, (int32_t)(8 * at));
    }
    return name;
}

/* The name that a function got when it was made (a computed one of a method): the one string among
 * its own words, behind those of all functions. 0: none. */
static uint64_t own_name(struct v8 *v8, struct sonde__view *view, uint64_t function)
{
    enum { BEHIND = 56 };
    const int32_t *of = v8->layout.of;
    uint64_t map = v8_word(v8, view, function, of[V8_MAP]);
    const uint8_t *words = v8_is_object(map)
                               ? sonde__view_at(view, map - 1 + (uint64_t)of[V8_MAP_SIZE], 1, false)
                               : NULL;
    for (int32_t at = BEHIND; words != NULL && at < 8 * *words && at < 2 * BEHIND; at += 8) {
        uint64_t word = v8_word(v8, view, function, at);
        if (v8_is_text(v8, view, word)) {
            return word;
        }
    }
    return 0;
}

/* A string's text; null: it has none, or it is no string. */
static const char *some_text(struct v8 *v8, struct sonde__view *view, uint64_t object)
{
    bool is_text = v8_is_text(v8, view, object);
    const char *text = is_text ? v8_text(v8, view, object) : NULL;
    v8->is_unclear |= is_text && text == NULL;
    return text != NULL && *text != '\0' ? text : NULL;
}

/* As V8 names it in stack traces: by its source, by the name that it got, or by what it is assigned
 * to there. */
static const char *function_name(struct v8 *v8, struct sonde__view *view, uint64_t function,
                                 uint64_t shared, uint64_t script)
{
    uint64_t name = v8_word(v8, view, shared, v8->layout.of[V8_SHARED_NAME]), inferred = 0;
    const char *text = NULL;
    if (v8_is(v8, view, name, V8_TYPE_SCOPE)) {
        name = names_by_scope(v8, view, name, &inferred);
    } else {
        v8->is_unclear |= !v8_is_small(name) && !v8_is_text(v8, view, name);
    }
    if ((text = some_text(v8, view, name)) == NULL &&
        (text = some_text(v8, view, own_name(v8, view, function))) == NULL) {
        text = some_text(v8, view, inferred);
    }
    uint64_t maker = v8_word(v8, view, script, v8->layout.of[V8_SCRIPT_EVAL]);
    return text != NULL ? text : v8_is(v8, view, maker, V8_TYPE_SHARED) ? "eval" : "<anonymous>";
}

static const char *file_name(struct v8 *v8, struct sonde__view *view, uint64_t script)
{
    static const char scheme[] = "file://";
    uint64_t name = v8_word(v8, view, script, v8->layout.of[V8_SCRIPT_NAME]);
    const char *text = v8_is_text(v8, view, name) ? v8_text(v8, view, name) : "";
    bool is_url =
        text != NULL && sonde__base_starts_with(text, scheme) && strchr(text, '%') == NULL;
    return is_url ? text + sizeof scheme - 1 : text;
}

/* --- frames --- */

enum { WORDS = 10, BELOW = 8 }; /* words of a frame that are read; of these below its pointer */

struct frame {
    uint64_t fp;
    uint64_t words[WORDS];
};

static uint64_t below(const struct v8 *v8, const struct frame *frame, enum v8_value value)
{
    return frame->words[BELOW + v8->layout.of[value] / 8];
}

/* Was native frame `i` left by its frame pointer, as V8's code is? Where the walk inferred frames,
 * it may have been. Of frames with the same pointer, the outermost one has made it. */
static bool is_candidate(const struct sonde__runtime_native *native, uint32_t i)
{
    const struct sonde_stack *stack = native->stack;
    bool is_before_gap = stack->lost_count != 0 && i + 1 == stack->lost_at;
    if (native->fps[i] == 0 || i + 1 >= stack->count || is_before_gap) {
        return false;
    }
    uint8_t found = stack->how[i + 1] & SONDE_HOW_FOUND_MASK;
    return found == SONDE_FOUND_FP ||
           (found == SONDE_FOUND_INFERRED && native->fps[i + 1] != native->fps[i]);
}

/* A frame that the walk left by its pointer: that must lead to the caller. */
static bool must_lead_on(const struct sonde__runtime_native *native, uint32_t i)
{
    return (native->stack->how[i + 1] & SONDE_HOW_FOUND_MASK) == SONDE_FOUND_FP;
}

static bool read_frame(struct sonde__view *view, uint64_t fp, struct frame *ret_frame)
{
    const uint8_t *bytes = sonde__view_at(view, fp - (uint64_t)BELOW * 8, WORDS * 8, false);
    ret_frame->fp = fp;
    for (unsigned i = 0; bytes != NULL && i < WORDS; i++) {
        ret_frame->words[i] = sonde__base_le64(bytes + (size_t)8 * i);
    }
    return bytes != NULL;
}

/* Does a frame have the caller's pc? On aarch64 it may be signed. */
static bool leads_to(const struct v8 *v8, const struct frame *frame, uint64_t pc)
{
    unsigned arch = v8->layout.arch;
    return sonde__arch_strip_pac(arch, frame->words[BELOW + 1]) == sonde__arch_strip_pac(arch, pc);
}

/* An object of a frame, where it is now. */
static uint64_t object_below(struct v8 *v8, struct sonde__view *view, const struct frame *frame,
                             enum v8_value value)
{
    return v8_moved(v8, view, below(v8, frame, value));
}

static bool is_call(struct v8 *v8, struct sonde__view *view, const struct frame *frame)
{
    int32_t type = v8_type(v8, view, object_below(v8, view, frame, V8_FP_CONTEXT));
    return type >= v8->layout.of[V8_TYPE_CONTEXT_FIRST] &&
           type <= v8->layout.of[V8_TYPE_CONTEXT_LAST];
}

/* Has the innermost frame not got its function yet? Then an earlier call's is there. */
static bool is_being_made(const struct v8 *v8, const struct sonde__runtime_native *native,
                          uint64_t fp)
{
    return native->sp > fp + (uint64_t)(int64_t)v8->layout.of[V8_FP_FUNCTION];
}

enum code { OWN, INTERPRETED, COMPILED };

/* Does the interpreter go on at `pc`, with bytecode and offset as they are in the frame? A loop
 * that was compiled while it ran has both in its frame, too, as they were before. The interpreter
 * loads them into their registers first (InterpreterEntryTrampoline in src/builtins, of each
 * version). */
static bool is_interpreter(const struct v8 *v8, struct sonde__view *view, uint64_t pc)
{
    enum { BYTES = 8 };
    const int32_t *of = v8->layout.of;
    int32_t array = of[V8_FP_BYTECODE], offset = of[V8_FP_OFFSET] + 4;
    uint8_t loads[BYTES] = {0x4c, 0x8b, 0x65, (uint8_t)array,   /* mov r12, [rbp + array] */
                            0x44, 0x8b, 0x4d, (uint8_t)offset}; /* mov r9d, [rbp + offset] */
    if (v8->layout.arch == SONDE_ARCH_AARCH64) { /* ldur x20, [x29, array]; ldursw x19, ... */
        sonde__base_put_le32(loads, 0xf84003b4 | ((uint32_t)array & 0x1ff) << 12);
        sonde__base_put_le32(loads + 4, 0xb88003b3 | ((uint32_t)offset & 0x1ff) << 12);
    }
    const uint8_t *code =
        sonde__view_at(view, sonde__arch_strip_pac(v8->layout.arch, pc), BYTES, false);
    return code != NULL && memcmp(code, loads, BYTES) == 0;
}

/* Fill a frame. pc: where its function goes on. *ret_code: V8's own function; one in bytecode; one
 * of which the line is unknown. */
static const char *name_call(struct v8 *v8, struct sonde__view *view, const struct frame *frame,
                             uint64_t pc, struct sonde__script_frame *ret_frame,
                             enum code *ret_code)
{
    const int32_t *of = v8->layout.of;
    uint64_t function = object_below(v8, view, frame, V8_FP_FUNCTION);
    uint64_t shared = v8_word(v8, view, function, of[V8_FUNCTION_SHARED]);
    uint64_t script = v8_word(v8, view, shared, of[V8_SHARED_SCRIPT]);
    uint64_t bytecode = object_below(v8, view, frame, V8_FP_BYTECODE);
    uint64_t offset = below(v8, frame, V8_FP_OFFSET);
    if (!v8_is(v8, view, shared, V8_TYPE_SHARED)) {
        return no_function;
    }
    v8->is_unclear = false;
    bool has_script = v8_is(v8, view, script, V8_TYPE_SCRIPT);
    *ret_frame = (struct sonde__script_frame){
        .function = function_name(v8, view, function, shared, has_script ? script : 0),
        .file = has_script ? file_name(v8, view, script) : "",
        .kind = SONDE__SCRIPT_FUNCTION,
        .anchor = frame->fp,
        .at = frame->fp,
    };
    if (v8->is_unclear || ret_frame->file == NULL) {
        return nameless;
    }
    bool is_interpreted = v8_is_small(offset) && v8_is(v8, view, bytecode, V8_TYPE_BYTECODE) &&
                          is_interpreter(v8, view, pc);
    *ret_code = !has_script ? OWN : is_interpreted ? INTERPRETED : COMPILED;
    if (*ret_code == INTERPRETED) {
        ret_frame->line = v8_line_of(v8, view, script, bytecode, (int64_t)(offset >> 32));
    }
    return NULL;
}

const char *v8_read_stack(struct v8 *v8, struct sonde__view *view,
                          const struct sonde__runtime_native *native,
                          struct sonde__script_frame *ret_frames, uint32_t *ret_native,
                          uint32_t capacity, uint32_t *ret_count, const char **ret_doubt)
{
    const struct sonde_stack *stack = native->stack;
    uint32_t count = 0;
    v8->used = 0;
    v8->source_left = V8_SOURCES;
    *ret_doubt = NULL;
    for (uint32_t i = 0; i < stack->count && count < capacity; i++) {
        struct frame frame;
        enum code code = OWN;
        if (!is_candidate(native, i)) {
            continue;
        }
        bool leads_on =
            read_frame(view, native->fps[i], &frame) && leads_to(v8, &frame, stack->pcs[i + 1]);
        if (!leads_on && must_lead_on(native, i)) {
            return moved;
        }
        if (!leads_on || !is_call(v8, view, &frame)) {
            continue;
        }
        if (is_being_made(v8, native, native->fps[i])) {
            *ret_doubt = "it may be about to enter a function, which has no frame yet";
            continue;
        }
        const char *why = name_call(v8, view, &frame, stack->pcs[i], &ret_frames[count], &code);
        if (why != NULL) {
            return why;
        }
        if ((stack->how[i] & SONDE_HOW_EXACT) != 0 && code != OWN) {
            /* While its code runs, the offset in the frame is that of an earlier call. It may also
             * be about to enter a function that has no frame yet. */
            ret_frames[count].line = 0;
            *ret_doubt = "the line of the innermost function of JavaScript is not known: it runs";
        }
        if (code == COMPILED && *ret_doubt == NULL) {
            *ret_doubt = "functions that V8 compiled have no line here, and those in them no name";
        }
        if (code == OWN && ret_frames[count].function[0] == '<') {
            continue; /* V8's own, without a name: the native frame says more */
        }
        ret_frames[count].run = count;
        ret_native[count++] = i;
    }
    *ret_count = count;
    return NULL;
}
