// SPDX-License-Identifier: Apache-2.0
/* Finds the tasks of a thread's frames, and the tasks that await the innermost one. */
#include "runtime_private.h"

/* Is frame i the outermost of its run? Where each frame has its own run, of its coroutines. */
static bool is_outermost(const struct sonde__runtime *r, uint32_t count, uint32_t i)
{
    const struct sonde__script_frame *f = &r->frames[i];
    bool is_alone = r->python.layout.frames == PYTHON_FRAME_OBJECTS;
    return i + 1 == count ||
           (f[1].run != f->run && !(is_alone && f[1].kind == SONDE__SCRIPT_COROUTINE));
}

static const char *name_of(struct sonde__runtime *r, uint64_t task)
{
    char *name = r->task_names[r->task_count];
    r->python.is_cut |= r->task_count == SONDE__RUNTIME_TASKS;
    if (r->task_count == SONDE__RUNTIME_TASKS ||
        !python_task_name(&r->python, &r->view, task, name, sizeof r->task_names[0])) {
        return NULL;
    }
    r->task_count++;
    return name;
}

/* Add the frames of a waiting task. False: unreadable. */
static bool add_waiting(struct sonde__runtime *r, uint64_t task, uint32_t *count)
{
    struct python_frame found[SONDE__RUNTIME_WAITING];
    uint32_t first = *count;
    uint32_t n =
        python_task_frames(&r->python, &r->view, task, found, SONDE__RUNTIME_WAITING - first);
    r->python.is_cut |= n == SONDE__RUNTIME_WAITING - first;
    for (uint32_t i = n; i > 0; i--) {
        if (!sonde__runtime_name_frame(r, &found[i - 1], &r->waiting[*count]) ||
            r->waiting[*count].function == NULL) {
            *count = first;
            return false;
        }
        ++*count;
    }
    if (*count > first) {
        r->waiting[*count - 1].task = name_of(r, task);
    }
    if (*count == first || r->waiting[*count - 1].task == NULL) {
        *count = first;
        return false;
    }
    return true;
}

static bool is_seen(const uint64_t *seen, uint32_t count, uint64_t task)
{
    for (uint32_t i = 0; i < count; i++) {
        if (seen[i] == task) {
            return true;
        }
    }
    return false;
}

void sonde__runtime_add_tasks(struct sonde__runtime *r, struct sonde__script *script)
{
    enum { AWAITERS_MAX = 64, STACK = 4096 };
    uint64_t innermost = 0, seen[AWAITERS_MAX];
    uint32_t waiting = 0, seen_count = 0;
    r->task_count = 0;
    for (uint32_t i = 0; i < script->count; i++) {
        struct sonde__script_frame *f = &r->frames[i];
        if (f->kind != SONDE__SCRIPT_COROUTINE || !is_outermost(r, script->count, i)) {
            continue;
        }
        uint64_t high = i + 1 < script->count ? f[1].anchor : f->anchor + STACK;
        uint64_t task = python_task_of(&r->python, &r->view, f->at, f->anchor, high);
        f->task = task != 0 ? name_of(r, task) : NULL;
        innermost = innermost == 0 && f->task != NULL ? task : innermost;
    }
    for (uint64_t task = innermost; task != 0 && seen_count < AWAITERS_MAX;) {
        seen[seen_count++] = task;
        task = python_waiter_of(&r->python, &r->view, task);
        if (task == 0 || is_seen(seen, seen_count, task) || !add_waiting(r, task, &waiting)) {
            break;
        }
    }
    r->python.is_cut |= seen_count == AWAITERS_MAX;
    script->doubt =
        r->python.is_cut ? "more tasks may run here, or await these: a limit was reached" : NULL;
    script->waiting = r->waiting;
    script->waiting_count = waiting;
}
