// SPDX-License-Identifier: Apache-2.0
/* The tasks of a loop that waits, by where they wait.
 *
 * A server's loop has thousands of tasks, of which most wait in the same place. So first only
 * addresses of code and instructions are read; tasks that are equal in these, and in what awaits
 * them, become one group; and a group is named once. A task that others await is not shown on its
 * own, but as what awaits them. */
#include <stdlib.h>
#include <string.h>

#include "base_hash.h"
#include "mem_heap.h"
#include "runtime_private.h"

enum {
    FRAMES_MAX = 64, /* of a task and of those that await it */
    AWAITERS_MAX = 16,
    GROUPS_MAX = SONDE__RUNTIME_PARKED,
    TASKS_AT_ONCE = 16, /* read before the view is emptied */
};

/* A task. */
struct item {
    uint64_t task;
    uint32_t awaiter; /* number + 1 of the task that awaits it; 0: none is known */
    bool awaits;      /* another task of the loop */
    bool shown;
};

/* The frames of a task, innermost first, then of the task that awaits it, and so on. */
struct chain {
    struct python_frame frames[FRAMES_MAX];
    uint64_t tasks[FRAMES_MAX]; /* at the outermost frame of each: the task */
    uint32_t count;
    bool is_cut;
};

struct group {
    struct chain chain;
    uint64_t hash;
    uint32_t tasks;
};

struct sonde__runtime_loop {
    struct item *items;
    uint32_t item_count;
    struct sonde__mem_table by_task;
    struct group groups[GROUPS_MAX];
    uint32_t group_count;
    uint64_t left; /* tasks of no group */
    bool is_cut;
    struct sonde__script_parked parked[GROUPS_MAX];
    struct sonde__script_frame frames[GROUPS_MAX][FRAMES_MAX];
    struct sonde__runtime_texts texts[GROUPS_MAX][AWAITERS_MAX];
};

/* --- who awaits whom --- */

static uint32_t number_of(const struct sonde__runtime_loop *loop, uint64_t task)
{
    return SONDE__TABLE_FIND(&loop->by_task, sonde__mem_hash(task), i, loop->items[i].task == task);
}

static bool list_items(struct sonde__runtime_loop *loop, const struct python_loop *tasks)
{
    loop->items = sonde__mem_alloc_array(tasks->count + 1, sizeof *loop->items);
    for (size_t i = 0; loop->items != NULL && i < tasks->count; i++) {
        loop->items[i] = (struct item){.task = tasks->tasks[i]};
        if (!sonde__mem_table_add(&loop->by_task, sonde__mem_hash(tasks->tasks[i]), (uint32_t)i)) {
            return false;
        }
        loop->item_count++;
    }
    return loop->items != NULL;
}

static void empty_view(struct sonde__runtime *r, uint32_t i)
{
    if (i % TASKS_AT_ONCE == 0) {
        sonde__view_begin(&r->view, NULL, 0);
    }
}

static void link_items(struct sonde__runtime *r, struct sonde__runtime_loop *loop)
{
    for (uint32_t i = 0; i < loop->item_count; i++) {
        empty_view(r, i);
        uint64_t task = python_waiter_of(&r->python, &r->view, loop->items[i].task);
        uint32_t number = task != 0 ? number_of(loop, task) : SONDE__TABLE_NONE;
        if (number != SONDE__TABLE_NONE && number != i) {
            loop->items[i].awaiter = number + 1;
            loop->items[number].awaits = true;
        }
    }
}

/* --- groups --- */

/* Add a task's frames. False: it does not wait, or there is no room. */
static bool add_frames(struct sonde__runtime *r, struct chain *chain, uint64_t task)
{
    uint32_t first = chain->count;
    uint32_t n =
        python_task_frames(&r->python, &r->view, task, chain->frames + first, FRAMES_MAX - first);
    chain->is_cut |= n == FRAMES_MAX - first;
    if (n == 0 || chain->is_cut) {
        return false;
    }
    for (uint32_t i = 0; i < n / 2; i++) { /* they come outermost first */
        struct python_frame frame = chain->frames[first + i];
        chain->frames[first + i] = chain->frames[first + n - 1 - i];
        chain->frames[first + n - 1 - i] = frame;
    }
    memset(chain->tasks + first, 0, n * sizeof *chain->tasks);
    chain->count += n;
    chain->tasks[chain->count - 1] = task;
    return true;
}

/* Tasks may await each other in a circle. */
static bool is_in(const struct chain *chain, uint64_t task)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        if (chain->tasks[i] == task) {
            return true;
        }
    }
    return false;
}

/* Read the frames of a task and of those that await it, and mark them as shown. False: the task
 * does not wait. */
static bool read_chain(struct sonde__runtime *r, struct sonde__runtime_loop *loop, uint32_t number,
                       struct chain *ret_chain)
{
    uint32_t awaiters = 0;
    ret_chain->count = 0;
    ret_chain->is_cut = false;
    for (uint32_t at = number + 1; at != 0; at = loop->items[at - 1].awaiter) {
        struct item *item = &loop->items[at - 1];
        if (awaiters++ == AWAITERS_MAX) {
            ret_chain->is_cut = true;
            break;
        }
        if (is_in(ret_chain, item->task) || !add_frames(r, ret_chain, item->task)) {
            break;
        }
        item->shown = true;
    }
    loop->is_cut |= ret_chain->is_cut;
    return ret_chain->count != 0;
}

static uint64_t hash_of(const struct chain *chain)
{
    uint64_t hash = SONDE__HASH_EMPTY;
    for (uint32_t i = 0; i < chain->count; i++) {
        const uint64_t key[] = {chain->frames[i].code, chain->frames[i].instr,
                                chain->tasks[i] != 0};
        hash = sonde__base_hash_bytes(hash, key, sizeof key);
    }
    return hash;
}

static bool is_same(const struct chain *a, const struct chain *b)
{
    for (uint32_t i = 0; i < a->count && a->count == b->count; i++) {
        if (a->frames[i].code != b->frames[i].code || a->frames[i].instr != b->frames[i].instr ||
            (a->tasks[i] != 0) != (b->tasks[i] != 0)) {
            return false;
        }
    }
    return a->count == b->count;
}

static void add_to_group(struct sonde__runtime_loop *loop, const struct chain *chain)
{
    uint64_t hash = hash_of(chain);
    for (uint32_t i = 0; i < loop->group_count; i++) {
        if (loop->groups[i].hash == hash && is_same(&loop->groups[i].chain, chain)) {
            loop->groups[i].tasks++;
            return;
        }
    }
    if (loop->group_count == GROUPS_MAX) {
        loop->left++;
        return;
    }
    struct group *group = &loop->groups[loop->group_count++];
    group->chain = *chain;
    group->hash = hash;
    group->tasks = 1;
}

/* awaited: group those tasks that others await and that are not shown: they await each other. */
static void group_items(struct sonde__runtime *r, struct sonde__runtime_loop *loop, bool awaited)
{
    struct chain chain;
    for (uint32_t i = 0; i < loop->item_count; i++) {
        empty_view(r, i);
        if (loop->items[i].awaits == awaited && !loop->items[i].shown &&
            read_chain(r, loop, i, &chain)) {
            add_to_group(loop, &chain);
        }
    }
}

static int compare_groups(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->tasks != b->tasks) {
        return a->tasks < b->tasks ? 1 : -1;
    }
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* --- names --- */

/* Name a group's frames. False: unreadable. */
static bool name_group(struct sonde__runtime *r, struct sonde__runtime_loop *loop, uint32_t i,
                       struct sonde__script_parked *ret_parked)
{
    const struct chain *chain = &loop->groups[i].chain;
    uint32_t named = 0;
    for (uint32_t k = 0; k < chain->count; k++) {
        struct sonde__script_frame *frame = &loop->frames[i][k];
        if (!sonde__runtime_name_frame(r, &chain->frames[k], frame) || frame->function == NULL) {
            return false;
        }
        if (chain->tasks[k] != 0 &&
            !sonde__runtime_put_task(r, chain->tasks[k], &loop->texts[i][named++], frame)) {
            return false;
        }
    }
    *ret_parked = (struct sonde__script_parked){
        .frames = loop->frames[i], .count = chain->count, .tasks = loop->groups[i].tasks};
    return true;
}

static void name_groups(struct sonde__runtime *r, struct sonde__runtime_loop *loop,
                        struct sonde__script *script)
{
    uint32_t count = 0;
    qsort(loop->groups, loop->group_count, sizeof *loop->groups, compare_groups);
    for (uint32_t i = 0; i < loop->group_count; i++) {
        sonde__view_begin(&r->view, NULL, 0);
        if (name_group(r, loop, i, &loop->parked[count])) {
            count++;
        } else {
            loop->left += loop->groups[i].tasks;
        }
    }
    script->parked = loop->parked;
    script->parked_count = count;
}

/* --- all --- */

static const char *find_doubt(const struct sonde__runtime *r, const struct python_loop *tasks)
{
    const struct sonde__runtime_loop *loop = r->loop;
    if (tasks->left != 0) {
        return "the loop has more tasks than are read";
    }
    if (tasks->others != 0) {
        return "the loop has tasks of classes that are not read";
    }
    if (loop->left != 0) {
        return "the loop's tasks wait in more places than are shown";
    }
    return loop->is_cut || r->python.is_cut
               ? "the loop's tasks have more frames, or are awaited by more tasks, than are shown"
               : NULL;
}

static const char *group_tasks(struct sonde__runtime *r, const struct python_loop *tasks,
                               struct sonde__script *script)
{
    struct sonde__runtime_loop *loop = r->loop;
    if (!list_items(loop, tasks)) {
        return "out of memory for the tasks of the loop";
    }
    link_items(r, loop);
    group_items(r, loop, false);
    group_items(r, loop, true);
    name_groups(r, loop, script);
    return find_doubt(r, tasks);
}

void sonde__runtime_loop_done(struct sonde__runtime *runtime)
{
    sonde__mem_free(runtime->loop);
    runtime->loop = NULL;
}

static void forget_items(struct sonde__runtime_loop *loop)
{
    sonde__mem_free(loop->items);
    sonde__mem_table_done(&loop->by_task);
    loop->items = NULL;
    loop->by_task = (struct sonde__mem_table){0};
    loop->item_count = loop->group_count = 0;
    loop->left = 0;
    loop->is_cut = false;
}

static bool runs_a_task(const struct sonde__script *script)
{
    for (uint32_t i = 0; i < script->count; i++) {
        if (script->frames[i].task != NULL) {
            return true;
        }
    }
    return false;
}

void sonde__runtime_read_loop(struct sonde__runtime *runtime, struct sonde__script *script)
{
    struct python_loop tasks = {.loop = 0};
    const struct python *python = &runtime->python;
    if (script->state != SONDE__SCRIPT_READ || python->layout.task_coroutine == PYTHON_NO ||
        runs_a_task(script)) {
        return;
    }
    uint64_t address = python_loop_of(&runtime->python, &runtime->view, runtime->state);
    if (address == 0) {
        return;
    }
    runtime->loop =
        runtime->loop != NULL ? runtime->loop : sonde__mem_alloc_zeroed(sizeof *runtime->loop);
    if (runtime->loop == NULL) {
        script->doubt = "out of memory for the tasks of the loop";
        return;
    }
    const struct python_thread thread = {.state = runtime->state, .interp = python->interp};
    const char *why = python_read_loop(&runtime->python, &runtime->view, &thread, address, &tasks);
    why = why != NULL ? why : group_tasks(runtime, &tasks, script);
    script->doubt = why != NULL ? why : script->doubt;
    forget_items(runtime->loop);
    python_loop_done(&tasks);
}
