// SPDX-License-Identifier: Apache-2.0
/* asyncio tasks, CPython 3.11 to 3.13: which task runs a coroutine, and which task awaits it.
 *
 * No list that a symbol leads to has the running task. But the _asyncio calls that run its
 * coroutine keep the task in a saved register or another word of the native stack: an object there
 * that is an _asyncio.Task with this coroutine is the task. */
#include "python.h"

#include <stdio.h>
#include <string.h>

#include "base_bytes.h"

enum {
    TASK_CALLBACK = 24,  /* the first one */
    TASK_BYTES = 160,    /* that we read */
    BOUND_SELF = 24,     /* in a built-in method */
    NUMBER_TAG = 16,     /* in an int, 3.12 on: digits * 8, sign */
    NUMBER_DIGITS = 24,  /* of 30 bits each */
    FRAME_TOP = 64,      /* number of values */
    FRAME_VALUES = 72,   /* the first one */
    STATE_BEFORE = 5,    /* bytes from a coroutine's state to its frame */
    STATE_AWAITS = 0xff, /* suspended */
    VALUES_MAX = 65536,
};

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

static bool is_task(struct python *python, struct sonde__view *view, const uint8_t *bytes)
{
    return python_is_of_type(&python->codes, view, bytes, "_asyncio.Task",
                             &python->codes.types.task);
}

static bool runs(struct python *python, struct sonde__view *view, uint64_t task, uint64_t coroutine)
{
    const uint8_t *bytes = sonde__view_at(view, task, TASK_BYTES, false);
    return bytes != NULL && word(bytes, python->layout.task_coroutine) == coroutine &&
           is_task(python, view, bytes);
}

/* --- the running task --- */

/* Collect words of the stack that may be addresses of objects. */
static uint32_t candidates(const uint8_t *stack, uint32_t size, uint64_t low, uint64_t high,
                           struct sonde__view_block *ret, uint32_t capacity)
{
    enum { LOWEST = 65536 };
    uint32_t count = 0;
    for (uint32_t at = 0; at + 8 <= size && count < capacity; at += 8) {
        uint64_t value = word(stack, at);
        bool is_known =
            value % 8 != 0 || value < LOWEST || value >> 47 != 0 || (value >= low && value < high);
        for (uint32_t i = 0; i < count && !is_known; i++) {
            is_known = ret[i].address == value;
        }
        if (!is_known) {
            ret[count++] = (struct sonde__view_block){.address = value, .size = TASK_BYTES};
        }
    }
    return count;
}

static uint64_t search(struct python *python, struct sonde__view *view, uint64_t coroutine,
                       uint64_t low, uint64_t high)
{
    enum { CANDIDATES_MAX = 256, STACK_MAX = 8192 };
    struct sonde__view_block wanted[CANDIDATES_MAX];
    uint32_t size = high - low < STACK_MAX ? (uint32_t)(high - low) : STACK_MAX;
    const uint8_t *stack = sonde__view_at(view, low, size, false);
    uint32_t count = stack != NULL ? candidates(stack, size, low, high, wanted, CANDIDATES_MAX) : 0;
    sonde__view_ahead(view, wanted, count);
    for (uint32_t i = 0; i < count; i++) {
        if (runs(python, view, wanted[i].address, coroutine)) {
            return wanted[i].address;
        }
    }
    return 0;
}

uint64_t python_task_of(struct python *python, struct sonde__view *view, uint64_t frame,
                        uint64_t low, uint64_t high)
{
    const struct python_layout *l = &python->layout;
    uint64_t coroutine = frame - l->coroutine_frame;
    if (l->task_coroutine == PYTHON_NO || frame < l->coroutine_frame || low == 0 || high <= low) {
        return 0;
    }
    for (unsigned i = 0; i < PYTHON_TASKS_KEPT; i++) {
        const struct python_task *known = &python->tasks[i];
        if (known->task != 0 && known->coroutine == coroutine &&
            runs(python, view, known->task, coroutine)) {
            return known->task;
        }
    }
    uint64_t task = search(python, view, coroutine, low, high);
    if (task != 0) {
        python->tasks[python->next_task++ % PYTHON_TASKS_KEPT] =
            (struct python_task){coroutine, task};
    }
    return task;
}

/* --- the awaiting task --- */

uint64_t python_waiter_of(struct python *python, struct sonde__view *view, uint64_t task)
{
    const uint8_t *bytes = sonde__view_at(view, task, TASK_BYTES, false);
    uint64_t callback = bytes != NULL ? word(bytes, TASK_CALLBACK) : 0;
    bytes = callback != 0 ? sonde__view_at(view, callback, BOUND_SELF + 8, false) : NULL;
    if (bytes == NULL ||
        !python_is_of_type(&python->codes, view, bytes, "builtin_function_or_method",
                           &python->codes.types.bound)) {
        return 0;
    }
    uint64_t waiter = word(bytes, BOUND_SELF);
    bytes = sonde__view_at(view, waiter, TASK_BYTES, false);
    return bytes != NULL && is_task(python, view, bytes) ? waiter : 0;
}

/* --- its name and frames --- */

/* 3.12 on: a default name is stored as a number until it is read. */
static bool number_name(struct python *python, struct sonde__view *view, uint64_t address,
                        char *ret_name, size_t capacity)
{
    const uint8_t *bytes = sonde__view_at(view, address, NUMBER_DIGITS + 4, false);
    if (bytes == NULL || python->layout.minor < 12 || word(bytes, NUMBER_TAG) != 8 ||
        !python_is_of_type(&python->codes, view, bytes, "int", &python->codes.types.number)) {
        return false;
    }
    (void)snprintf(ret_name, capacity, "Task-%u", sonde__base_le32(bytes + NUMBER_DIGITS));
    return true;
}

bool python_task_name(struct python *python, struct sonde__view *view, uint64_t task,
                      char *ret_name, size_t capacity)
{
    char text[4 * PYTHON_TEXT_MAX + 4];
    size_t size = 0;
    const uint8_t *bytes = sonde__view_at(view, task, TASK_BYTES, false);
    uint64_t name = bytes != NULL ? word(bytes, python->layout.task_coroutine + 8u) : 0;
    if (name == 0) {
        return false;
    }
    if (!python_text(&python->codes, view, name, text, &size)) {
        return number_name(python, view, name, ret_name, capacity);
    }
    size = size < capacity ? size : capacity - 1;
    while (size > 0 && size == capacity - 1 && ((uint8_t)text[size] & 0xc0) == 0x80) {
        size--; /* do not cut within a character */
    }
    memcpy(ret_name, text, size);
    ret_name[size] = '\0';
    return size > 0;
}

/* Get the frame of a suspended coroutine, and what it awaits. False: not a suspended coroutine. */
static bool suspended(struct python *python, struct sonde__view *view, uint64_t coroutine,
                      struct python_frame *ret_frame, uint64_t *ret_awaited)
{
    const struct python_layout *l = &python->layout;
    uint32_t size = l->coroutine_frame + l->frame_bytes;
    const uint8_t *bytes = sonde__view_at(view, coroutine, size, false);
    if (bytes == NULL || bytes[l->coroutine_frame - STATE_BEFORE] != STATE_AWAITS ||
        !python_is_of_type(&python->codes, view, bytes, "coroutine",
                           &python->codes.types.coroutine)) {
        return false;
    }
    const uint8_t *frame = bytes + l->coroutine_frame;
    uint32_t top = sonde__base_le32(frame + FRAME_TOP);
    *ret_frame = (struct python_frame){.at = coroutine + l->coroutine_frame,
                                       .code = word(frame, l->frame_code),
                                       .instr = word(frame, l->frame_instr),
                                       .owner = frame[l->frame_owner]};
    const uint8_t *last =
        top > 0 && top < VALUES_MAX
            ? sonde__view_at(view, ret_frame->at + FRAME_VALUES + (top - 1) * 8ull, 8, false)
            : NULL;
    *ret_awaited = last != NULL ? word(last, 0) : 0;
    return true;
}

uint32_t python_task_frames(struct python *python, struct sonde__view *view, uint64_t task,
                            struct python_frame *ret_frames, uint32_t capacity)
{
    const uint8_t *bytes = sonde__view_at(view, task, TASK_BYTES, false);
    uint64_t at = bytes != NULL ? word(bytes, python->layout.task_coroutine) : 0;
    uint32_t count = 0;
    while (at != 0 && count < capacity && suspended(python, view, at, &ret_frames[count], &at)) {
        count++;
    }
    return count;
}
