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

bool sonde__runtime_put_task(struct sonde__runtime *r, uint64_t task,
                             struct sonde__runtime_texts *texts, struct sonde__script_frame *frame)
{
    uint32_t line = 0;
    if (!python_task_name(&r->python, &r->view, task, texts->name, sizeof texts->name)) {
        return false;
    }
    frame->task = texts->name;
    if (python_task_creator(&r->python, &r->view, task, texts->function, sizeof texts->function,
                            texts->file, sizeof texts->file, &line)) {
        frame->created = (struct sonde__script_creator){texts->function, texts->file, line};
    }
    return true;
}

static bool put_task(struct sonde__runtime *r, uint64_t task, struct sonde__script_frame *frame)
{
    r->python.is_cut |= r->task_count == SONDE__RUNTIME_TASKS;
    if (r->task_count == SONDE__RUNTIME_TASKS ||
        !sonde__runtime_put_task(r, task, &r->task_texts[r->task_count], frame)) {
        return false;
    }
    r->task_count++;
    return true;
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
    if (*count == first || !put_task(r, task, &r->waiting[*count - 1])) {
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
    bool is_created = false;
    r->task_count = 0;
    for (uint32_t i = 0; i < script->count; i++) {
        struct sonde__script_frame *f = &r->frames[i];
        if (f->kind != SONDE__SCRIPT_COROUTINE || !is_outermost(r, script->count, i)) {
            continue;
        }
        uint64_t high = i + 1 < script->count ? f[1].anchor : f->anchor + STACK;
        uint64_t task = python_task_of(&r->python, &r->view, f->at, f->anchor, high);
        if (task != 0 && put_task(r, task, f) && innermost == 0) {
            innermost = task;
            is_created = f->created.function != NULL;
        }
    }
    for (uint64_t task = innermost; task != 0 && seen_count < AWAITERS_MAX;) {
        seen[seen_count++] = task;
        task = python_waiter_of(&r->python, &r->view, task);
        if (task == 0 || is_seen(seen, seen_count, task) || !add_waiting(r, task, &waiting)) {
            break;
        }
    }
    r->python.is_cut |= seen_count == AWAITERS_MAX;
    if (r->python.is_cut) {
        script->doubt = "more tasks may run here, or await these: a limit was reached";
    } else if (innermost != 0 && !is_created && waiting == 0) {
        script->doubt = "what created a task is not known: asyncio notes it in debug mode "
                        "(PYTHONASYNCIODEBUG=1)";
    } else {
        script->doubt = NULL;
    }
    script->waiting = r->waiting;
    script->waiting_count = waiting;
}
