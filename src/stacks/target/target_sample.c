// SPDX-License-Identifier: Apache-2.0
#include "target_sample.h"

#include <stdio.h>
#include <string.h>

#include "arch_syscall.h"
#include "host_wait.h"
#include "mem_heap.h"
#include "target_cause.h"
#include "target_private.h"

/* The thread that holds the interpreter's lock, as the kernel numbers it for us; 0: unknown. */
static uint64_t holder_of(const struct sonde__target *target, const struct sonde__script *script)
{
    return script->lock_holder != 0 && target->scripts.other_numbers
               ? sonde__host_thread_of_inner(target->pid, script->lock_holder)
               : script->lock_holder;
}

/* Add the interpreter's lock to what the call waits for: a thread that holds it keeps all others
 * from running the interpreter's code, even while it is blocked. */
static void add_lock(struct sonde__target *target, struct sonde__sample *sample)
{
    const struct sonde__script *script = &sample->script.script;
    struct sonde__capture *capture = &sample->capture;
    const char *call = capture->syscall >= 0
                           ? sonde__arch_syscall_name(sonde__target_arch(target), capture->syscall)
                           : NULL;
    char *text = capture->waits_for;
    size_t size = strlen(text), room = sizeof capture->waits_for;
    uint64_t at = capture->syscall_args[0];
    if (call == NULL || script->state != SONDE__SCRIPT_READ) {
        return;
    }
    if (script->lock == SONDE__SCRIPT_LOCK_HELD) {
        snprintf(text + size, room - size, "%swith %s's lock (GIL)", size != 0 ? ", " : "",
                 script->language);
    } else if (strcmp(call, "futex") == 0 && at >= script->lock_start && at < script->lock_end) {
        size = (size_t)snprintf(text, room, "%s's lock (GIL)", script->language);
        uint64_t holder = holder_of(target, script);
        if (holder != 0) {
            snprintf(text + size, room - size, ", held by thread %llu", (unsigned long long)holder);
        }
    }
}

void sonde__sample_describe_call(struct sonde__target *target, struct sonde__sample *sample)
{
    struct sonde__capture *capture = &sample->capture;
    sonde__target_cause(target, capture, capture->waits_for, sizeof capture->waits_for);
    add_lock(target, sample);
}

/* It may have woken up since it was listed. */
static void take_state(struct sonde__sample *sample)
{
    const struct sonde__capture *capture = &sample->capture;
    if (capture->queue[0] != '\0') {
        memcpy(sample->thread.queue, capture->queue, sizeof sample->thread.queue);
    }
    sample->thread.qos = capture->qos != 0 ? capture->qos : sample->thread.qos;
    if (sample->capture.letter != 0) {
        sample->thread.letter = sample->capture.letter;
        sample->thread.state = (uint8_t)sonde__target_thread_state(sample->capture.letter);
    }
}

bool sonde__sample_meet(struct sonde__target *target, uint64_t tid, const struct sonde_stack *stack,
                        struct sonde__sample *ret_sample)
{
    ret_sample->stack = *stack;
    if (!sonde__target_met(target, tid, &ret_sample->stack, &ret_sample->capture) ||
        sonde__target_thread(target, tid, &ret_sample->thread) != SONDE_OK) {
        return false;
    }
    ret_sample->script = *sonde__target_script(target);
    take_state(ret_sample);
    return true;
}

void sonde__sample_take(struct sonde__target *target, const struct sonde__thread *thread,
                        const struct sonde_stack *stack, struct sonde__sample *ret_sample)
{
    memset(&ret_sample->capture, 0, sizeof ret_sample->capture);
    ret_sample->thread = *thread;
    ret_sample->stack = *stack;
    sonde__target_capture(target, thread, &ret_sample->stack, &ret_sample->capture);
    take_state(ret_sample);
    ret_sample->script = *sonde__target_script(target);
    sonde__sample_describe_call(target, ret_sample);
}

/* Copy a text to *at, and move *at behind it. */
static const char *put_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    const char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static size_t text_bytes(const struct sonde__script_frame *frames, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += strlen(frames[i].function) + strlen(frames[i].file) + 2;
        const struct sonde__script_creator *created = &frames[i].created;
        bytes += frames[i].task != NULL ? strlen(frames[i].task) + 1 : 0;
        bytes +=
            created->function != NULL ? strlen(created->function) + strlen(created->file) + 2 : 0;
    }
    return bytes;
}

static void copy_frames(struct sonde__script_frame *to, const struct sonde__script_frame *from,
                        uint32_t count, char **text)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[i];
        to[i].function = put_text(text, from[i].function);
        to[i].file = put_text(text, from[i].file);
        to[i].task = from[i].task != NULL ? put_text(text, from[i].task) : NULL;
        if (from[i].created.function != NULL) {
            to[i].created.function = put_text(text, from[i].created.function);
            to[i].created.file = put_text(text, from[i].created.file);
        }
    }
}

static uint32_t parked_frames(const struct sonde__script *script)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < script->parked_count; i++) {
        count += script->parked[i].count;
    }
    return count;
}

static size_t script_text_bytes(const struct sonde__script *script)
{
    size_t bytes = text_bytes(script->frames, script->count) +
                   text_bytes(script->waiting, script->waiting_count);
    for (uint32_t i = 0; i < script->parked_count; i++) {
        bytes += text_bytes(script->parked[i].frames, script->parked[i].count);
    }
    return bytes;
}

static void copy_parked(struct sonde__script *script, struct sonde__script_parked *to,
                        struct sonde__script_frame *frames, char **text)
{
    for (uint32_t i = 0; i < script->parked_count; i++) {
        to[i] = script->parked[i];
        copy_frames(frames, to[i].frames, to[i].count, text);
        to[i].frames = frames;
        frames += to[i].count;
    }
    script->parked = to;
}

/* Copy the frames, the waiting ones, those of parked tasks, and then their texts, into one
 * block. */
static bool keep_script(struct sonde__script *script)
{
    if (script->count == 0) {
        script->frames = script->waiting = NULL;
        script->waiting_count = script->parked_count = 0;
        return true;
    }
    size_t first = (size_t)script->count + script->waiting_count;
    size_t count = first + parked_frames(script);
    size_t parked_bytes = script->parked_count * sizeof(struct sonde__script_parked);
    struct sonde__script_frame *frames =
        sonde__mem_alloc(count * sizeof *frames + parked_bytes + script_text_bytes(script));
    if (frames == NULL) {
        return false;
    }
    struct sonde__script_parked *parked = (struct sonde__script_parked *)(frames + count);
    char *text = (char *)(parked + script->parked_count);
    copy_frames(frames, script->frames, script->count, &text);
    copy_frames(frames + script->count, script->waiting, script->waiting_count, &text);
    copy_parked(script, parked, frames + first, &text);
    script->frames = frames;
    script->waiting = frames + script->count;
    return true;
}

bool sonde__sample_keep(struct sonde__sample *sample)
{
    struct sonde_stack *stack = &sample->stack;
    size_t count = stack->count;
    uint64_t *pcs = sonde__mem_alloc_array(count + 1, sizeof *stack->pcs + sizeof *stack->how);
    if (pcs == NULL || !keep_script(&sample->script.script)) {
        sonde__mem_free(pcs);
        return false;
    }
    uint8_t *how = (uint8_t *)(pcs + count);
    memcpy(pcs, stack->pcs, count * sizeof *stack->pcs);
    memcpy(how, stack->how, count * sizeof *stack->how);
    stack->pcs = pcs;
    stack->how = how;
    stack->capacity = stack->count;
    return true;
}

void sonde__sample_done(struct sonde__sample *sample)
{
    sonde__mem_free(sample->stack.pcs);
    sonde__mem_free((void *)(uintptr_t)sample->script.script.frames);
    memset(sample, 0, sizeof *sample);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool are_same_frames(const struct sonde__script_frame *x,
                            const struct sonde__script_frame *y, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (x[i].line != y[i].line || x[i].run != y[i].run ||
            !is_same_text(x[i].function, y[i].function) || !is_same_text(x[i].file, y[i].file) ||
            !is_same_text(x[i].task, y[i].task) || x[i].created.line != y[i].created.line ||
            !is_same_text(x[i].created.file, y[i].created.file)) {
            return false;
        }
    }
    return true;
}

static bool is_same_script(const struct sonde__target_script *a,
                           const struct sonde__target_script *b)
{
    const struct sonde__script *x = &a->script, *y = &b->script;
    return x->state == y->state && x->count == y->count && a->joined == b->joined &&
           x->waiting_count == y->waiting_count &&
           are_same_frames(x->frames, y->frames, x->count) &&
           are_same_frames(x->waiting, y->waiting, x->waiting_count);
}

bool sonde__sample_is_same(const struct sonde__sample *a, const struct sonde__sample *b)
{
    const struct sonde_stack *x = &a->stack, *y = &b->stack;
    return x->count == y->count && x->end == y->end && x->lost_count == y->lost_count &&
           a->capture.syscall == b->capture.syscall && a->capture.by == b->capture.by &&
           (a->thread.letter == 'D') == (b->thread.letter == 'D') &&
           memcmp(x->pcs, y->pcs, x->count * sizeof *x->pcs) == 0 &&
           strcmp(a->capture.waits_for, b->capture.waits_for) == 0 &&
           is_same_script(&a->script, &b->script);
}
