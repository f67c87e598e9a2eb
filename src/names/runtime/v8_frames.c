// SPDX-License-Identifier: Apache-2.0
/* Which native frames are calls of JavaScript, and of which functions. */
#include <string.h>

#include "base_bytes.h"
#include "v8_read.h"

static const char no_function[] = "a call has no function";
static const char moved[] = "its native stack changed";
static const char nameless[] = "the name of a function or file cannot be read";

/* --- frames --- */

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

static bool read_frame(struct sonde__view *view, uint64_t fp, struct v8_frame *ret_frame)
{
    const uint8_t *bytes =
        sonde__view_at(view, fp - (uint64_t)V8_FRAME_BELOW * 8, V8_FRAME_WORDS * 8, false);
    ret_frame->fp = fp;
    for (unsigned i = 0; bytes != NULL && i < V8_FRAME_WORDS; i++) {
        ret_frame->words[i] = sonde__base_le64(bytes + (size_t)8 * i);
    }
    return bytes != NULL;
}

/* Does a frame have the caller's pc? On aarch64 it may be signed. */
static bool leads_to(const struct v8 *v8, const struct v8_frame *frame, uint64_t pc)
{
    unsigned arch = v8->layout.arch;
    return sonde__arch_strip_pac(arch, frame->words[V8_FRAME_BELOW + 1]) ==
           sonde__arch_strip_pac(arch, pc);
}

/* Has the innermost frame not got its function yet? Then an earlier call's is there. */
static bool is_being_made(const struct v8 *v8, const struct sonde__runtime_native *native,
                          uint64_t fp)
{
    return native->sp > fp + (uint64_t)(int64_t)v8->layout.of[V8_FP_FUNCTION];
}

enum code { OWN, INTERPRETED, COMPILED };

/* Fill a frame. pc: where its function goes on. *ret_code: V8's own function; one in bytecode; one
 * of which the line is unknown. */
static const char *name_call(struct v8_read *read, const struct v8_frame *frame, uint64_t pc,
                             struct sonde__script_frame *ret_frame, enum code *ret_code)
{
    struct v8 *v8 = &read->v8;
    const int32_t *of = v8->layout.of;
    uint64_t function = v8_object_below(v8, frame, V8_FP_FUNCTION);
    uint64_t shared = sonde__v8_word(v8, function, of[V8_FUNCTION_SHARED]);
    uint64_t script = sonde__v8_word(v8, shared, of[V8_SHARED_SCRIPT]);
    uint64_t bytecode = v8_object_below(v8, frame, V8_FP_BYTECODE);
    uint64_t offset = v8_below(v8, frame, V8_FP_OFFSET);
    if (!v8_is(v8, shared, V8_TYPE_SHARED)) {
        return no_function;
    }
    v8->is_unclear = false;
    bool has_script = v8_is(v8, script, V8_TYPE_SCRIPT);
    *ret_frame = (struct sonde__script_frame){
        .function = sonde__v8_function_name(v8, function, shared, has_script ? script : 0),
        .file = has_script ? sonde__v8_file_name(v8, script) : "",
        .kind = SONDE__SCRIPT_FUNCTION,
        .anchor = frame->fp,
        .at = frame->fp,
    };
    if (v8->is_unclear || ret_frame->file == NULL) {
        return nameless;
    }
    bool is_interpreted = v8_is_small(offset) && v8_is(v8, bytecode, V8_TYPE_BYTECODE) &&
                          sonde__v8_is_interpreter(v8, pc);
    *ret_code = !has_script ? OWN : is_interpreted ? INTERPRETED : COMPILED;
    if (*ret_code == INTERPRETED) {
        ret_frame->line = v8_line_of(read, script, bytecode, (int64_t)(offset >> 32));
    }
    return NULL;
}

static const uint8_t *bytes_at(void *view, uint64_t address, uint32_t size)
{
    return sonde__view_at(view, address, size, false);
}

void v8_read_init(struct v8_read *read, const struct v8_layout *layout, struct sonde__view *view)
{
    read->v8 = (struct v8){
        .layout = *layout,
        .at = bytes_at,
        .ctx = view,
        .texts = read->texts,
        .room = sizeof read->texts,
        .known = read->known,
    };
    read->view = view;
}

const char *v8_read_stack(struct v8_read *read, const struct sonde__runtime_native *native,
                          struct sonde__script_frame *ret_frames, uint32_t *ret_native,
                          uint32_t capacity, uint32_t *ret_count, const char **ret_doubt)
{
    const struct sonde_stack *stack = native->stack;
    struct v8 *v8 = &read->v8;
    uint32_t count = 0;
    v8->used = 0;
    v8->look = read->view->looks;
    read->source_left = V8_SOURCES;
    *ret_doubt = NULL;
    for (uint32_t i = 0; i < stack->count && count < capacity; i++) {
        struct v8_frame frame;
        enum code code = OWN;
        if (!is_candidate(native, i)) {
            continue;
        }
        bool leads_on = read_frame(read->view, native->fps[i], &frame) &&
                        leads_to(v8, &frame, stack->pcs[i + 1]);
        if (!leads_on && must_lead_on(native, i)) {
            return moved;
        }
        if (!leads_on || !sonde__v8_is_call(v8, &frame)) {
            continue;
        }
        if (is_being_made(v8, native, native->fps[i])) {
            *ret_doubt = "it may be about to enter a function, which has no frame yet";
            continue;
        }
        const char *why = name_call(read, &frame, stack->pcs[i], &ret_frames[count], &code);
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
