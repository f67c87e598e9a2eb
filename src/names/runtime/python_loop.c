// SPDX-License-Identifier: Apache-2.0
/* The event loop that a thread runs, and the tasks of this loop.
 *
 * asyncio keeps a thread's running loop in the thread's state (from 3.13 on) or in its dict, and
 * weak references to all tasks in a set. The set belongs to all threads: it may change while it is
 * read, so it is read in pieces, and compared afterwards. An entry counts only if it leads to a
 * Task of this loop. In 3.14 a thread's Tasks are in a list of its own. (Tasks that are no
 * asyncio.Task are in a set that no name leads to.) */
#include <string.h>

#include "base_bytes.h"
#include "mem_heap.h"
#include "python.h"

enum {
    MODULE_DICT = 16,
    HOLDER_LOOP = 16, /* up to 3.11: an object with the loop */
    REF_OBJECT = 16,  /* in a weak reference */
    TASK_LOOP = 16,
    INSTANCE_DICT = 16, /* up to 3.10 */
    DICT_VALUES = 40,
    SET_USED = 24,
    SET_MASK = 32,
    SET_TABLE = 40,
    SET_BYTES = 48,
    ENTRY_BYTES = 16, /* object, hash */
    ENTRIES = 512,    /* read at a time */
    ENTRIES_MAX = 1 << 20,
};

static uint64_t word(const uint8_t *bytes, unsigned offset)
{
    return sonde__base_le64(bytes + offset);
}

static uint64_t word_at(struct sonde__view *view, uint64_t address)
{
    const uint8_t *bytes = address != 0 ? sonde__view_at(view, address, 8, false) : NULL;
    return bytes != NULL ? word(bytes, 0) : 0;
}

/* --- the loop --- */

uint64_t python_loop_of(struct python *python, struct sonde__view *view, uint64_t state)
{
    const struct python_layout *l = &python->layout;
    uint64_t none = 0;
    if (l->ts_loop != PYTHON_NO) {
        return word_at(view, state + l->ts_loop);
    }
    if (l->ts_dict == PYTHON_NO) {
        return 0;
    }
    uint64_t held = python_dict_find(python, view, word_at(view, state + l->ts_dict),
                                     "__asyncio_running_event_loop__");
    const uint8_t *head = held != 0 ? sonde__view_at(view, held, HOLDER_LOOP, false) : NULL;
    if (head == NULL || python_is_of_type(&python->codes, view, head, "NoneType", &none)) {
        return 0;
    }
    bool is_held = python_is_of_type(&python->codes, view, head, "_RunningLoopHolder", &none);
    return is_held ? word_at(view, held + HOLDER_LOOP) : held;
}

/* --- the set of all tasks --- */

static bool is_set(struct python *python, struct sonde__view *view, uint64_t object)
{
    const uint8_t *head =
        object % 8 == 0 && object != 0 ? sonde__view_at(view, object, SET_BYTES, false) : NULL;
    return head != NULL &&
           python_is_of_type(&python->codes, view, head, "set", &python->codes.types.set);
}

/* The first set among the attributes of a WeakSet; 0: none. */
static uint64_t set_of(struct python *python, struct sonde__view *view, uint64_t weak_set)
{
    enum { ATTRIBUTES = 4 };
    const struct python_layout *l = &python->layout;
    uint64_t values[ATTRIBUTES], count = 0;
    if (l->minor >= 11) {
        uint32_t all = 0;
        uint64_t at = python_attributes_of(l, view, weak_set, &all);
        for (; at != 0 && count < ATTRIBUTES && count < all; count++) {
            values[count] = word_at(view, at + count * 8);
        }
    } else {
        uint64_t dict = word_at(view, weak_set + INSTANCE_DICT), apart = 0;
        apart = dict != 0 ? word_at(view, dict + DICT_VALUES) : 0;
        for (; apart != 0 && count < ATTRIBUTES; count++) {
            values[count] = word_at(view, apart + count * 8);
        }
        count = apart == 0 ? python_dict_values(python, view, dict, values, ATTRIBUTES) : count;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (is_set(python, view, values[i])) {
            return values[i];
        }
    }
    return 0;
}

/* The address of the set; 0: not found. */
static uint64_t find_set(struct python *python, struct sonde__view *view, uint64_t interp)
{
    const char *name = python->layout.minor < 12 ? "_all_tasks" : "_scheduled_tasks";
    uint64_t modules = word_at(view, interp + python->layout.interp_modules);
    uint64_t module = modules != 0 ? python_dict_find(python, view, modules, "_asyncio") : 0;
    uint64_t dict = module != 0 ? word_at(view, module + MODULE_DICT) : 0;
    uint64_t weak_set = dict != 0 ? python_dict_find(python, view, dict, name) : 0;
    return weak_set != 0 ? set_of(python, view, weak_set) : 0;
}

/* --- tasks --- */

static bool add_task(struct python_loop *loop, uint64_t task)
{
    if (loop->count == PYTHON_LOOP_TASKS_MAX) {
        loop->left++;
        return true;
    }
    return SONDE__MEM_ADD(loop->tasks, loop->count, loop->capacity, task);
}

/* The objects of weak references, 0 where there is none. */
static void read_references(struct sonde__view *view, const uint64_t *refs, uint32_t count,
                            uint64_t *ret_objects, uint32_t task_bytes)
{
    struct sonde__view_block wanted[ENTRIES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        wanted[i] = (struct sonde__view_block){.address = refs[i], .size = REF_OBJECT + 8};
    }
    sonde__view_ahead(view, wanted, count);
    for (uint32_t i = 0; i < count; i++) {
        ret_objects[i] = word_at(view, refs[i] + REF_OBJECT);
        if (ret_objects[i] != 0) {
            wanted[n++] = (struct sonde__view_block){.address = ret_objects[i], .size = task_bytes};
        }
    }
    sonde__view_ahead(view, wanted, n);
}

/* Read entries of the set's table. False: out of memory, or unreadable. */
static bool read_entries(struct python *python, struct sonde__view *view, uint64_t at,
                         uint32_t count, struct python_loop *loop)
{
    uint64_t refs[ENTRIES], objects[ENTRIES];
    uint32_t n = 0, size = python_task_bytes(python);
    sonde__view_begin(view, NULL, 0);
    const uint8_t *bytes = sonde__view_at(view, at, count * ENTRY_BYTES, false);
    for (uint32_t i = 0; bytes != NULL && i < count; i++) {
        refs[n] = word(bytes, i * ENTRY_BYTES);
        n += refs[n] != 0;
    }
    read_references(view, refs, n, objects, size);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *task =
            objects[i] != 0 ? sonde__view_at(view, objects[i], size, false) : NULL;
        if (task == NULL || word(task, TASK_LOOP) != loop->loop) {
            continue;
        }
        if (!python_is_task(python, view, task)) {
            loop->others++;
        } else if (!add_task(loop, objects[i])) {
            return false;
        }
    }
    return bytes != NULL;
}

static bool read_set(struct sonde__view *view, uint64_t set, uint8_t ret_bytes[SET_BYTES])
{
    sonde__view_begin(view, NULL, 0);
    const uint8_t *bytes = sonde__view_at(view, set, SET_BYTES, false);
    if (bytes != NULL) {
        memcpy(ret_bytes, bytes, SET_BYTES);
    }
    return bytes != NULL;
}

static const char *read_tasks_of_set(struct python *python, struct sonde__view *view,
                                     uint64_t interp, struct python_loop *ret_loop)
{
    uint8_t set[SET_BYTES], again[SET_BYTES];
    sonde__view_begin(view, NULL, 0);
    uint64_t at = find_set(python, view, interp);
    if (at == 0) {
        return "asyncio's set of tasks is not found";
    }
    if (!read_set(view, at, set) || word(set, SET_MASK) >= ENTRIES_MAX) {
        return "asyncio's set of tasks cannot be read";
    }
    uint64_t entries = word(set, SET_MASK) + 1;
    for (uint64_t i = 0; i < entries; i += ENTRIES) {
        uint32_t count = (uint32_t)(entries - i < ENTRIES ? entries - i : ENTRIES);
        if (!read_entries(python, view, word(set, SET_TABLE) + i * ENTRY_BYTES, count, ret_loop)) {
            return "asyncio's set of tasks cannot be read";
        }
    }
    if (!read_set(view, at, again) ||
        memcmp(set + SET_USED, again + SET_USED, SET_BYTES - SET_USED) != 0) {
        return "asyncio's set of tasks changed while it was read";
    }
    return NULL;
}

/* 3.14: the list of the thread's Tasks, which other threads do not change. */
static const char *read_list(struct python *python, struct sonde__view *view, uint64_t head,
                             struct python_loop *ret_loop)
{
    enum { AT_ONCE = 64 }; /* tasks read before the view is emptied */
    const struct python_layout *l = &python->layout;
    uint64_t before = head, node = word_at(view, head);
    for (uint64_t i = 0; node != head; i++) {
        if (i % AT_ONCE == 0) {
            sonde__view_begin(view, NULL, 0);
        }
        uint64_t task = node - l->task_node;
        const uint8_t *bytes = node > l->task_node && i < ENTRIES_MAX
                                   ? sonde__view_at(view, task, l->task_node + 16u, false)
                                   : NULL;
        if (bytes == NULL || word(bytes, l->task_node + 8u) != before) {
            return "asyncio's list of tasks cannot be read";
        }
        before = node;
        node = word(bytes, l->task_node);
        if (word(bytes, TASK_LOOP) != ret_loop->loop) {
            continue;
        }
        if (!python_is_task(python, view, bytes)) {
            ret_loop->others++;
        } else if (!add_task(ret_loop, task)) {
            return "out of memory for the tasks of the loop";
        }
    }
    return NULL;
}

const char *python_read_loop(struct python *python, struct sonde__view *view,
                             const struct python_thread *thread, uint64_t address,
                             struct python_loop *ret_loop)
{
    const struct python_layout *l = &python->layout;
    *ret_loop = (struct python_loop){.loop = address};
    return l->ts_tasks != PYTHON_NO ? read_list(python, view, thread->state + l->ts_tasks, ret_loop)
                                    : read_tasks_of_set(python, view, thread->interp, ret_loop);
}

void python_loop_done(struct python_loop *loop)
{
    sonde__mem_free(loop->tasks);
    *loop = (struct python_loop){.loop = 0};
}
