// SPDX-License-Identifier: Apache-2.0
/* Reads a thread's frames, which the interpreter links in one of three ways: python_layout.h. */
#include "python.h"

#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"

enum { OWNER_GENERATOR = 1, OWNER_ENTRY = 3 /* and above: not a script function */ };

static const char unreadable[] = "a frame cannot be read";
static const char endless[] = "its frames do not end";
static const char unfit[] = "its frames do not fit its native calls";

void python_done(struct python *python)
{
    python_codes_done(&python->codes);
    sonde__mem_free(python->threads);
}

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

/* Frames over the limit are counted up to this number. */
enum { PYTHON_LOST_MAX = 1 << 18 };

/* False: there are too many. */
static bool add(struct python_chain *chain, const struct python_frame *frame)
{
    if (chain->count == SONDE__SCRIPT_FRAMES_MAX) {
        chain->lost_count++;
        return chain->lost_count < PYTHON_LOST_MAX;
    }
    chain->frames[chain->count++] = *frame;
    return true;
}

/* --- 3.8 to 3.10 --- */

/* The line shown to a running trace function (3.10; older versions keep the last line of a frame
 * that was ever traced). 0: use the instruction. */
static uint32_t own_line(const struct python_layout *l, const uint8_t *bytes)
{
    return l->frame_lineno != PYTHON_NO ? sonde__base_le32(bytes + l->frame_lineno) : 0;
}

struct python_frame python_object_frame(const struct python_layout *l, const uint8_t *bytes,
                                        uint64_t at)
{
    return (struct python_frame){
        .at = at,
        .code = word(bytes, l->frame_code),
        .instr = (uint64_t)(int64_t)(int32_t)sonde__base_le32(bytes + l->frame_instr),
        .line = own_line(l, bytes),
    };
}

static const char *read_objects(const struct python *python, struct sonde__view *view,
                                uint64_t first, struct python_chain *chain)
{
    const struct python_layout *l = &python->layout;
    for (uint64_t at = first; at != 0;) {
        const uint8_t *bytes = sonde__view_at(view, at, l->frame_bytes, false);
        if (bytes == NULL) {
            return unreadable;
        }
        struct python_frame frame = python_object_frame(l, bytes, at);
        frame.run = chain->run_count++;
        if (!add(chain, &frame)) {
            return endless;
        }
        at = word(bytes, l->frame_previous);
    }
    return NULL;
}

/* --- 3.11 on --- */

static const uint8_t *read_frame(const struct python *python, struct sonde__view *view, uint64_t at,
                                 struct python_frame *ret_frame, uint64_t *ret_previous)
{
    const struct python_layout *l = &python->layout;
    const uint8_t *bytes = at % 8 == 0 ? sonde__view_at(view, at, l->frame_bytes, true) : NULL;
    if (bytes != NULL) {
        *ret_frame = (struct python_frame){
            .at = at,
            .code = word(bytes, l->frame_code) & ~(uint64_t)7, /* 3.14 has tag bits there */
            .instr = word(bytes, l->frame_instr),
            .owner = bytes[l->frame_owner],
        };
        *ret_previous = word(bytes, l->frame_previous);
    }
    return bytes;
}

/* Read the run of one call of the loop: from `*at` to the frame marked as its entry. */
static const char *read_run(const struct python *python, struct sonde__view *view, uint64_t anchor,
                            uint64_t *at, struct python_chain *chain)
{
    bool is_entry = false;
    while (!is_entry) {
        struct python_frame frame;
        const uint8_t *bytes = read_frame(python, view, *at, &frame, at);
        if (bytes == NULL) {
            return unreadable;
        }
        is_entry = bytes[python->layout.frame_entry] != 0;
        frame.run = chain->run_count;
        frame.anchor = anchor;
        if (!add(chain, &frame)) {
            return endless;
        }
    }
    chain->run_count++;
    return NULL;
}

/* 3.11: calls of the loop are linked on the native stack; the last link is in the thread's
 * state. */
static const char *read_flagged(const struct python *python, struct sonde__view *view,
                                uint64_t state, uint64_t call, struct python_chain *chain)
{
    const struct python_layout *l = &python->layout;
    uint64_t expected = 0;
    for (bool is_first = true;; is_first = false) {
        const uint8_t *bytes = sonde__view_at(view, call, l->cframe_previous + 8u, false);
        if (bytes == NULL) {
            return unreadable;
        }
        uint64_t at = word(bytes, l->cframe_current), next = word(bytes, l->cframe_previous);
        if (!is_first && at != expected) {
            return unfit;
        }
        if (call - state < l->ts_bytes) { /* in the state: the end */
            return at == 0 ? NULL : unfit;
        }
        if (at == 0) { /* a greenlet's own link: its calls end here, and other ones lie beyond */
            chain->is_switched = true;
            return next - state < l->ts_bytes ? NULL : unfit;
        }
        const char *why = read_run(python, view, call, &at, chain);
        if (why != NULL) {
            return why;
        }
        expected = at;
        call = next;
    }
}

/* 3.12 on: each call of the loop has a frame of its own that ends its run. */
static const char *read_delimited(const struct python *python, struct sonde__view *view,
                                  uint64_t first, struct python_chain *chain)
{
    uint32_t begin = chain->count; /* before them: frames of another interpreter */
    for (uint64_t at = first; at != 0;) {
        struct python_frame frame;
        if (read_frame(python, view, at, &frame, &at) == NULL) {
            return unreadable;
        }
        frame.run = chain->run_count;
        if (frame.owner < OWNER_ENTRY) {
            if (!add(chain, &frame)) {
                return endless;
            }
            continue;
        }
        for (uint32_t i = begin; i < chain->count; i++) {
            chain->frames[i].anchor = frame.at;
        }
        begin = chain->count;
        if (++chain->run_count > PYTHON_LOST_MAX) {
            return endless;
        }
    }
    return begin == chain->count ? NULL : unfit;
}

/* A call of the loop links its _PyCFrame before it sets the frame in it. Until then that frame is
 * an earlier call's, and is beyond the top of the frame stack, or has no caller. */
static bool is_stale(const struct python_layout *l, const uint8_t *state, uint64_t first)
{
    return first >= word(state, l->ts_top) && first < word(state, l->ts_top + 8u);
}

const char *python_read_chain(const struct python *python, struct sonde__view *view,
                              uint64_t thread_state, struct python_chain *chain)
{
    const struct python_layout *l = &python->layout;
    const uint8_t *state = sonde__view_at(view, thread_state, l->ts_bytes, false);
    if (state == NULL) {
        return "the state of the thread cannot be read";
    }
    if (l->frames == PYTHON_FRAME_OBJECTS) {
        return read_objects(python, view, word(state, l->ts_frame), chain);
    }
    if (l->ts_cframe == PYTHON_NO) {
        return read_delimited(python, view, word(state, l->ts_frame), chain);
    }
    uint64_t call = word(state, l->ts_cframe);
    if (call == 0) {
        return NULL; /* not attached yet */
    }
    const uint8_t *bytes = sonde__view_at(view, call, l->cframe_previous + 8u, false);
    if (bytes == NULL) {
        return unreadable;
    }
    uint64_t first = word(bytes, l->cframe_current);
    if (is_stale(l, state, first)) {
        return "it enters the interpreter's loop";
    }
    return l->frames == PYTHON_ENTRY_FLAGS ? read_flagged(python, view, thread_state, call, chain)
                                           : read_delimited(python, view, first, chain);
}
