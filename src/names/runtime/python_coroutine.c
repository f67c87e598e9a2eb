// SPDX-License-Identifier: Apache-2.0
/* Frames of coroutines that wait. A coroutine has its frame in itself, or (up to 3.10) points to a
 * frame object. What it awaits is the last value on its frame's stack. */
#include "base_bytes.h"
#include "python.h"

enum {
    FRAME_TOP = 64,      /* number of values; 3.14: address after the last one */
    FRAME_VALUES = 72,   /* the first one */
    VALUE_TAG = 3,       /* 3.14: bits of a value that are no address */
    STATE_BEFORE = 5,    /* bytes from a coroutine's state to its frame */
    STATE_AWAITS = 0xff, /* suspended */
    OBJECT_VALUES = 64,  /* up to 3.10: address of the first value */
    OBJECT_END = 72,     /* 3.8, 3.9: address after the last value; 0: it runs */
    OBJECT_DEPTH = 80,   /* 3.10: number of values */
    OBJECT_STATE = 108,  /* 3.10 */
    VALUES_MAX = 65536,
};

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

/* Asynchronous generators have their frames as coroutines do. */
static bool is_coroutine(struct python *python, struct sonde__view *view, const uint8_t *bytes)
{
    struct python_types *types = &python->codes.types;
    return python_is_of_type(&python->codes, view, bytes, "coroutine", &types->coroutine) ||
           python_is_of_type(&python->codes, view, bytes, "async_generator",
                             &types->async_generator);
}

/* What `async for` awaits is one step of a generator, which it points to. */
static uint64_t generator_of_step(struct python *python, struct sonde__view *view, uint64_t object)
{
    enum { STEP_GENERATOR = 16 };
    const uint8_t *bytes = sonde__view_at(view, object, STEP_GENERATOR + 8, false);
    bool is_step =
        bytes != NULL && python_is_of_type(&python->codes, view, bytes, "async_generator_asend",
                                           &python->codes.types.generator_step);
    return is_step ? word(bytes, STEP_GENERATOR) : object;
}

uint64_t python_coroutine_of(struct python *python, struct sonde__view *view, uint64_t frame)
{
    const struct python_layout *l = &python->layout;
    if (l->frames != PYTHON_FRAME_OBJECTS) {
        return frame > l->coroutine_frame ? frame - l->coroutine_frame : 0;
    }
    const uint8_t *bytes = sonde__view_at(view, frame, l->frame_bytes, false);
    return bytes != NULL ? word(bytes, l->frame_generator) : 0;
}

/* Up to 3.10: where the last value of a frame object is; 0: it does not wait. */
static uint64_t last_of_object(const struct python_layout *l, const uint8_t *frame)
{
    if (l->minor < 10) {
        uint64_t end = word(frame, OBJECT_END);
        return end > word(frame, OBJECT_VALUES) ? end - 8 : 0;
    }
    uint32_t depth = sonde__base_le32(frame + OBJECT_DEPTH);
    return frame[OBJECT_STATE] == STATE_AWAITS && depth > 0 && depth < VALUES_MAX
               ? word(frame, OBJECT_VALUES) + (depth - 1) * 8ull
               : 0;
}

static bool find_object(struct python *python, struct sonde__view *view, uint64_t coroutine,
                        struct python_frame *ret_frame, uint64_t *ret_last)
{
    const struct python_layout *l = &python->layout;
    const uint8_t *bytes = sonde__view_at(view, coroutine, l->coroutine_frame + 8u, false);
    if (bytes == NULL || !is_coroutine(python, view, bytes)) {
        return false;
    }
    uint64_t at = word(bytes, l->coroutine_frame);
    bytes = at != 0 ? sonde__view_at(view, at, l->frame_bytes, false) : NULL;
    *ret_last = bytes != NULL ? last_of_object(l, bytes) : 0;
    if (*ret_last != 0) {
        *ret_frame = python_object_frame(l, bytes, at);
    }
    return *ret_last != 0;
}

/* Where the last value of a frame in a coroutine is; 0: it has none. */
static uint64_t last_of_embedded(const struct python_layout *l, const uint8_t *frame, uint64_t at)
{
    uint64_t top = word(frame, FRAME_TOP);
    if (l->minor >= 14) {
        return top >= at + l->frame_bytes + 8 ? top - 8 : 0;
    }
    top = (uint32_t)top;
    return top > 0 && top < VALUES_MAX ? at + FRAME_VALUES + (top - 1) * 8 : 0;
}

static bool find_embedded(struct python *python, struct sonde__view *view, uint64_t coroutine,
                          struct python_frame *ret_frame, uint64_t *ret_last)
{
    const struct python_layout *l = &python->layout;
    uint32_t size = l->coroutine_frame + l->frame_bytes;
    const uint8_t *bytes = sonde__view_at(view, coroutine, size, false);
    if (bytes == NULL || bytes[l->coroutine_frame - STATE_BEFORE] != STATE_AWAITS ||
        !is_coroutine(python, view, bytes)) {
        return false;
    }
    const uint8_t *frame = bytes + l->coroutine_frame;
    *ret_frame = (struct python_frame){.at = coroutine + l->coroutine_frame,
                                       .code = word(frame, l->frame_code) & ~(uint64_t)7,
                                       .instr = word(frame, l->frame_instr),
                                       .owner = frame[l->frame_owner]};
    *ret_last = last_of_embedded(l, frame, ret_frame->at);
    return true;
}

/* Get the frame of a suspended coroutine, and what it awaits. False: not a suspended coroutine. */
static bool find_suspended(struct python *python, struct sonde__view *view, uint64_t coroutine,
                           struct python_frame *ret_frame, uint64_t *ret_awaited)
{
    uint64_t last = 0;
    bool found = python->layout.frames == PYTHON_FRAME_OBJECTS
                     ? find_object(python, view, coroutine, ret_frame, &last)
                     : find_embedded(python, view, coroutine, ret_frame, &last);
    const uint8_t *bytes = found && last != 0 ? sonde__view_at(view, last, 8, false) : NULL;
    *ret_awaited = bytes != NULL ? word(bytes, 0) & ~(uint64_t)VALUE_TAG : 0;
    return found;
}

uint32_t python_task_frames(struct python *python, struct sonde__view *view, uint64_t task,
                            struct python_frame *ret_frames, uint32_t capacity)
{
    const uint8_t *bytes = sonde__view_at(view, task, python_task_bytes(python), false);
    uint64_t at = bytes != NULL ? word(bytes, python->layout.task_coroutine) : 0;
    uint32_t count = 0;
    while (at != 0 && count < capacity &&
           find_suspended(python, view, generator_of_step(python, view, at), &ret_frames[count],
                          &at)) {
        count++;
    }
    return count;
}
