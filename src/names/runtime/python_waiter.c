// SPDX-License-Identifier: Apache-2.0
/* Who awaits a task. The callbacks of a future say: the call that wakes up a task, or one of
 * asyncio's own functions, which leads to another future (gather, wait, wait_for, shield) or to the
 * task of a group. Other functions are the program's, and say nothing. */
#include <string.h>

#include "base_bytes.h"
#include "python.h"

enum {
    FUTURE_CALLBACK = 24,  /* the first one */
    FUTURE_CALLBACKS = 40, /* a list of the others: tuples of callback and context */
    BUILTIN_SELF = 24,     /* in a built-in method */
    WRAPPER_TASK = 16,     /* 3.8, 3.9 */
    METHOD_FUNCTION = 16,
    METHOD_SELF = 24,
    PARTIAL_FUNCTION = 16,
    PARTIAL_ARGS = 24,
    CELL_VALUE = 16,
    SEQUENCE_SIZE = 16,
    LIST_ITEMS = 24, /* their address */
    ITEMS_MAX = 16,
    HOPS_MAX = 8,      /* of futures between two tasks */
    FUTURE_BYTES = 48, /* that we read */
    OBJECT_BYTES = 32,
};

/* Offsets in a function object. */
struct function_layout {
    uint8_t closure, module, qualname;
};

static struct function_layout function_layout_of(const struct python_layout *l)
{
    return l->minor < 10 ? (struct function_layout){48, 88, 104}
                         : (struct function_layout){72, 104, 40};
}

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

static const uint8_t *object_at(struct sonde__view *view, uint64_t address)
{
    return address != 0 ? sonde__view_at(view, address, OBJECT_BYTES, false) : NULL;
}

/* Get the items of a tuple, at most ITEMS_MAX. */
static uint32_t items_of(struct python *python, struct sonde__view *view, uint64_t tuple,
                         uint64_t ret_items[ITEMS_MAX])
{
    const uint8_t *bytes = sonde__view_at(view, tuple, SEQUENCE_SIZE + 8, false);
    if (tuple == 0 || bytes == NULL ||
        !python_is_of_type(&python->codes, view, bytes, "tuple", &python->codes.types.tuple)) {
        return 0;
    }
    uint64_t size = word(bytes, SEQUENCE_SIZE);
    uint32_t count = size < ITEMS_MAX ? (uint32_t)size : ITEMS_MAX;
    bytes = sonde__view_at(view, tuple + python->layout.tuple_items, count * 8, false);
    for (uint32_t i = 0; bytes != NULL && i < count; i++) {
        ret_items[i] = word(bytes, i * 8);
    }
    return bytes != NULL ? count : 0;
}

static bool is_future(struct python *python, struct sonde__view *view, uint64_t object)
{
    const uint8_t *bytes = object_at(view, object);
    struct python_types *types = &python->codes.types;
    return bytes != NULL &&
           (python_is_of_type(&python->codes, view, bytes, "_asyncio.Future", &types->future) ||
            python_is_of_type(&python->codes, view, bytes, "_GatheringFuture", &types->gathering));
}

/* --- functions of asyncio --- */

enum leads_to { TO_NOTHING, TO_A_CELL, TO_AN_ARGUMENT, TO_A_GROUP };

static const struct {
    const char *module, *name;
    enum leads_to leads_to;
} functions[] = {
    {"asyncio.tasks", "gather.<locals>._done_callback", TO_A_CELL},
    {"asyncio.tasks", "_gather.<locals>._done_callback", TO_A_CELL}, /* 3.9 */
    {"asyncio.tasks", "shield.<locals>._inner_done_callback", TO_A_CELL},
    {"asyncio.tasks", "_wait.<locals>._on_completion", TO_A_CELL},
    {"asyncio.tasks", "_release_waiter", TO_AN_ARGUMENT},
    {"asyncio.taskgroups", "TaskGroup._on_task_done", TO_A_GROUP},
};

static enum leads_to leads_to(struct python *python, struct sonde__view *view, uint64_t function,
                              uint64_t *ret_closure)
{
    enum { FUNCTION_BYTES = 112 };
    char module[4 * PYTHON_TEXT_MAX + 4], name[4 * PYTHON_TEXT_MAX + 4];
    const struct function_layout l = function_layout_of(&python->layout);
    const uint8_t *bytes = sonde__view_at(view, function, FUNCTION_BYTES, false);
    size_t size;
    if (function == 0 || bytes == NULL ||
        !python_is_of_type(&python->codes, view, bytes, "function",
                           &python->codes.types.function) ||
        !python_text(&python->codes, view, word(bytes, l.module), module, &size) ||
        !python_text(&python->codes, view, word(bytes, l.qualname), name, &size)) {
        return TO_NOTHING;
    }
    *ret_closure = word(bytes, l.closure);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(module, functions[i].module) == 0 && strcmp(name, functions[i].name) == 0) {
            return functions[i].leads_to;
        }
    }
    return TO_NOTHING;
}

static uint64_t future_in_cells(struct python *python, struct sonde__view *view, uint64_t closure)
{
    uint64_t cells[ITEMS_MAX];
    uint32_t count = items_of(python, view, closure, cells);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *bytes = sonde__view_at(view, cells[i], CELL_VALUE + 8, false);
        uint64_t value = bytes != NULL ? word(bytes, CELL_VALUE) : 0;
        if (is_future(python, view, value)) {
            return value;
        }
    }
    return 0;
}

/* The values of an instance's attributes: 3.11 points to them, 3.12 with a tag; from 3.13 on they
 * come after the instance, behind a word that begins with their number. 3.14 sorts them. */
uint64_t python_attributes_of(const struct python_layout *l, struct sonde__view *view,
                              uint64_t instance, uint32_t *ret_count)
{
    enum { HEAD = 16, POINTER_3_11 = 32, POINTER_3_12 = 24, OLD_COUNT = 8, COUNT_MAX = 30 };
    *ret_count = OLD_COUNT;
    if (l->minor >= 13) {
        const uint8_t *head = sonde__view_at(view, instance + HEAD, 8, false);
        *ret_count = head != NULL && head[0] <= COUNT_MAX ? head[0] : 0;
        return instance + HEAD + 8;
    }
    uint64_t at = instance - (l->minor == 11 ? POINTER_3_11 : POINTER_3_12);
    const uint8_t *bytes = sonde__view_at(view, at, 8, false);
    uint64_t values = bytes != NULL ? word(bytes, 0) : 0;
    return l->minor == 11 ? values : (values & 1) != 0 ? values + 1 : 0;
}

/* The task that opened a group: the only task among the group's attributes. */
static uint64_t task_of_group(struct python *python, struct sonde__view *view, uint64_t group)
{
    const uint8_t *bytes = object_at(view, group);
    if (bytes == NULL ||
        !python_is_of_type(&python->codes, view, bytes, "TaskGroup", &python->codes.types.group)) {
        return 0;
    }
    uint32_t count = 0;
    uint64_t values = python_attributes_of(&python->layout, view, group, &count);
    bytes = values != 0 ? sonde__view_at(view, values, 8 * count, false) : NULL;
    for (unsigned i = 0; bytes != NULL && i < count; i++) {
        uint64_t value = word(bytes, i * 8);
        const uint8_t *object = value % 8 == 0 ? object_at(view, value) : NULL;
        if (object != NULL && python_is_task(python, view, object)) {
            return value;
        }
    }
    return 0;
}

/* --- callbacks --- */

/* The task or future that a callback leads to; 0: none. */
static uint64_t next_of(struct python *python, struct sonde__view *view, uint64_t callback)
{
    const struct python_codes *codes = &python->codes;
    struct python_types *types = &python->codes.types;
    const uint8_t *bytes = object_at(view, callback);
    uint64_t closure = 0, args[ITEMS_MAX];
    if (bytes == NULL) {
        return 0;
    }
    if (python_is_of_type(codes, view, bytes, "builtin_function_or_method", &types->bound)) {
        return word(bytes, BUILTIN_SELF);
    }
    if (python_is_of_type(codes, view, bytes, "TaskWakeupMethWrapper", &types->wrapper)) {
        return word(bytes, WRAPPER_TASK);
    }
    if (python_is_of_type(codes, view, bytes, "functools.partial", &types->partial)) {
        bool leads =
            leads_to(python, view, word(bytes, PARTIAL_FUNCTION), &closure) == TO_AN_ARGUMENT;
        return leads && items_of(python, view, word(bytes, PARTIAL_ARGS), args) > 0 ? args[0] : 0;
    }
    if (python_is_of_type(codes, view, bytes, "method", &types->method)) {
        bool leads = leads_to(python, view, word(bytes, METHOD_FUNCTION), &closure) == TO_A_GROUP;
        return leads ? task_of_group(python, view, word(bytes, METHOD_SELF)) : 0;
    }
    return leads_to(python, view, callback, &closure) == TO_A_CELL
               ? future_in_cells(python, view, closure)
               : 0;
}

/* The first of a future's callbacks that leads on. */
static uint64_t next_of_future(struct python *python, struct sonde__view *view, uint64_t future)
{
    const uint8_t *bytes = future != 0 ? sonde__view_at(view, future, FUTURE_BYTES, false) : NULL;
    uint64_t next = bytes != NULL ? next_of(python, view, word(bytes, FUTURE_CALLBACK)) : 0;
    uint64_t list = bytes != NULL ? word(bytes, FUTURE_CALLBACKS) : 0;
    bytes = next == 0 && list != 0 ? object_at(view, list) : NULL;
    if (bytes == NULL ||
        !python_is_of_type(&python->codes, view, bytes, "list", &python->codes.types.list)) {
        return next;
    }
    uint64_t size = word(bytes, SEQUENCE_SIZE), items = word(bytes, LIST_ITEMS);
    for (uint64_t i = 0; i < size && i < ITEMS_MAX && next == 0; i++) {
        uint64_t pair[ITEMS_MAX];
        bytes = sonde__view_at(view, items + i * 8, 8, false);
        if (bytes != NULL && items_of(python, view, word(bytes, 0), pair) > 0) {
            next = next_of(python, view, pair[0]);
        }
    }
    python->is_cut |= next == 0 && size > ITEMS_MAX;
    return next;
}

uint64_t python_waiter_of(struct python *python, struct sonde__view *view, uint64_t task)
{
    uint64_t at = task;
    for (unsigned i = 0; i < HOPS_MAX; i++) {
        at = next_of_future(python, view, at);
        const uint8_t *bytes =
            at != 0 ? sonde__view_at(view, at, python_task_bytes(python), false) : NULL;
        if (bytes != NULL && python_is_task(python, view, bytes)) {
            return at;
        }
        if (!is_future(python, view, at)) {
            return 0;
        }
    }
    python->is_cut = true;
    return 0;
}
