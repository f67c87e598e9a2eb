// SPDX-License-Identifier: Apache-2.0
/* asyncio tasks, CPython 3.8 to 3.14: which task runs a coroutine.
 *
 * Up to 3.10, _asyncio has a dict of running tasks. Later no list that a symbol leads to has them.
 * But the _asyncio calls that run its coroutine keep the task in a saved register or another word
 * of the native stack: an object there that is an _asyncio.Task with this coroutine is the task. */
#include "python.h"

#include <stdio.h>
#include <string.h>

#include "base_bytes.h"

enum {
    MODULE_DICT = 16,
    NUMBER_TAG = 16,    /* in an int: number of digits; 3.12 on: times 8, and a sign; */
    NUMBER_STATIC = 4,  /* of a small one, 3.14 */
    NUMBER_DIGITS = 24, /* of 30 bits each */
};

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

bool python_is_task(struct python *python, struct sonde__view *view, const uint8_t *bytes)
{
    return python_is_of_type(&python->codes, view, bytes, "_asyncio.Task",
                             &python->codes.types.task);
}

static bool runs(struct python *python, struct sonde__view *view, uint64_t task, uint64_t coroutine)
{
    const uint8_t *bytes = sonde__view_at(view, task, python_task_bytes(python), false);
    return bytes != NULL && word(bytes, python->layout.task_coroutine) == coroutine &&
           python_is_task(python, view, bytes);
}

/* --- the running task, up to 3.10 --- */

static uint64_t find_running(struct python *python, struct sonde__view *view)
{
    const uint8_t *bytes =
        sonde__view_at(view, python->interp + python->layout.interp_modules, 8, false);
    uint64_t module =
        bytes != NULL ? python_dict_find(python, view, word(bytes, 0), "_asyncio") : 0;
    bytes = module != 0 ? sonde__view_at(view, module + MODULE_DICT, 8, false) : NULL;
    return bytes != NULL ? python_dict_find(python, view, word(bytes, 0), "_current_tasks") : 0;
}

/* The address of the dict of running tasks; 0: there is none. A program that has coroutines and no
 * asyncio is searched less and less often. */
static uint64_t running_of(struct python *python, struct sonde__view *view)
{
    enum { PAUSE_MAX = 4096 };
    struct python_running *running = &python->running;
    if (running->interp != python->interp) {
        *running = (struct python_running){.interp = python->interp};
    }
    if (running->dict == 0 && running->left-- == 0) {
        running->dict = find_running(python, view);
        running->pause = running->pause < PAUSE_MAX ? 2 * running->pause + 1 : PAUSE_MAX;
        running->left = running->pause;
    }
    return running->dict;
}

static uint64_t search_running(struct python *python, struct sonde__view *view, uint64_t coroutine)
{
    enum { LOOPS_MAX = 256 };
    uint64_t tasks[LOOPS_MAX], dict = running_of(python, view);
    uint32_t count = dict != 0 ? python_dict_values(python, view, dict, tasks, LOOPS_MAX) : 0;
    python->is_cut |= count == LOOPS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (runs(python, view, tasks[i], coroutine)) {
            return tasks[i];
        }
    }
    return 0;
}

/* --- the running task, from 3.11 on --- */

/* Collect words of the stack that may be addresses of objects. */
static uint32_t candidates(const uint8_t *stack, uint32_t size, uint64_t low, uint64_t high,
                           struct sonde__view_block *ret, uint32_t capacity, uint32_t bytes)
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
            ret[count++] = (struct sonde__view_block){.address = value, .size = bytes};
        }
    }
    return count;
}

static uint64_t search_stack(struct python *python, struct sonde__view *view, uint64_t coroutine,
                             uint64_t low, uint64_t high)
{
    enum { CANDIDATES_MAX = 256, STACK_MAX = 8192 };
    struct sonde__view_block wanted[CANDIDATES_MAX];
    if (low == 0 || high <= low) {
        return 0;
    }
    uint32_t size = high - low < STACK_MAX ? (uint32_t)(high - low) : STACK_MAX;
    const uint8_t *stack = sonde__view_at(view, low, size, false);
    uint32_t count = stack != NULL ? candidates(stack, size, low, high, wanted, CANDIDATES_MAX,
                                                python_task_bytes(python))
                                   : 0;
    sonde__view_ahead(view, wanted, count);
    for (uint32_t i = 0; i < count; i++) {
        if (runs(python, view, wanted[i].address, coroutine)) {
            return wanted[i].address;
        }
    }
    python->is_cut |= high - low > STACK_MAX || count == CANDIDATES_MAX;
    return 0;
}

/* --- both --- */

uint64_t python_task_of(struct python *python, struct sonde__view *view, uint64_t frame,
                        uint64_t low, uint64_t high)
{
    uint64_t coroutine = python_coroutine_of(python, view, frame);
    if (python->layout.task_coroutine == PYTHON_NO || coroutine == 0) {
        return 0;
    }
    for (unsigned i = 0; i < PYTHON_TASKS_KEPT; i++) {
        const struct python_task *known = &python->tasks[i];
        if (known->task != 0 && known->coroutine == coroutine &&
            runs(python, view, known->task, coroutine)) {
            return known->task;
        }
    }
    uint64_t task = python->layout.frames == PYTHON_FRAME_OBJECTS
                        ? search_running(python, view, coroutine)
                        : search_stack(python, view, coroutine, low, high);
    if (task != 0) {
        python->tasks[python->next_task++ % PYTHON_TASKS_KEPT] =
            (struct python_task){coroutine, task};
    }
    return task;
}

/* --- its name --- */

bool python_small_int(struct python *python, struct sonde__view *view, uint64_t object,
                      uint32_t *ret_value)
{
    const uint8_t *bytes =
        object != 0 ? sonde__view_at(view, object, NUMBER_DIGITS + 4, false) : NULL;
    uint64_t tag = bytes != NULL ? word(bytes, NUMBER_TAG) : 0;
    bool is_one_digit =
        python->layout.minor < 12 ? tag == 1 : (tag & ~(uint64_t)NUMBER_STATIC) == 8;
    if (!is_one_digit ||
        !python_is_of_type(&python->codes, view, bytes, "int", &python->codes.types.number)) {
        return false;
    }
    *ret_value = sonde__base_le32(bytes + NUMBER_DIGITS);
    return true;
}

bool python_short_text(struct python *python, struct sonde__view *view, uint64_t object,
                       char *ret_text, size_t capacity)
{
    char text[4 * PYTHON_TEXT_MAX + 4];
    size_t size = 0;
    if (object == 0 || !python_text(&python->codes, view, object, text, &size)) {
        return false;
    }
    if (size >= capacity) {
        size = capacity - 1;
        while (size > 0 && ((uint8_t)text[size] & 0xc0) == 0x80) {
            size--; /* do not cut within a character */
        }
    }
    memcpy(ret_text, text, size);
    ret_text[size] = '\0';
    return true;
}

/* From 3.12 on, a default name is stored as a number until it is read. */
bool python_task_name(struct python *python, struct sonde__view *view, uint64_t task,
                      char *ret_name, size_t capacity)
{
    uint32_t number = 0;
    const uint8_t *bytes = sonde__view_at(view, task, python_task_bytes(python), false);
    uint64_t name = bytes != NULL ? word(bytes, python->layout.task_coroutine + 8u) : 0;
    if (python_short_text(python, view, name, ret_name, capacity)) {
        return ret_name[0] != '\0';
    }
    if (python->layout.minor < 12 || !python_small_int(python, view, name, &number)) {
        return false;
    }
    (void)snprintf(ret_name, capacity, "Task-%u", number);
    return true;
}
