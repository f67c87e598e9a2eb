// SPDX-License-Identifier: Apache-2.0
#include "target_sample.h"

#include <string.h>

#include "mem_heap.h"
#include "target_cause.h"

void sonde__sample_take(struct sonde__target *target, const struct sonde__thread *thread,
                        const struct sonde_stack *stack, struct sonde__sample *ret_sample)
{
    memset(&ret_sample->capture, 0, sizeof ret_sample->capture);
    ret_sample->thread = *thread;
    ret_sample->stack = *stack;
    sonde__target_capture(target, thread, &ret_sample->stack, &ret_sample->capture);
    sonde__target_cause(target, &ret_sample->capture, ret_sample->capture.waits_for,
                        sizeof ret_sample->capture.waits_for);
    ret_sample->script = *sonde__target_script(target);
}

/* Copy it to `*at`, which moves behind its end. */
static const char *put_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    const char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

/* The frames and then their texts, in one block. */
static bool keep_script(struct sonde__script *script)
{
    size_t bytes = 0;
    if (script->count == 0) {
        script->frames = NULL;
        return true;
    }
    for (uint32_t i = 0; i < script->count; i++) {
        bytes += strlen(script->frames[i].function) + strlen(script->frames[i].file) + 2;
    }
    struct sonde__script_frame *frames = sonde__mem_alloc(script->count * sizeof *frames + bytes);
    if (frames == NULL) {
        return false;
    }
    char *text = (char *)(frames + script->count);
    for (uint32_t i = 0; i < script->count; i++) {
        frames[i] = script->frames[i];
        frames[i].function = put_text(&text, frames[i].function);
        frames[i].file = put_text(&text, frames[i].file);
    }
    script->frames = frames;
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

static bool is_same_script(const struct sonde__target_script *a,
                           const struct sonde__target_script *b)
{
    const struct sonde__script *x = &a->script, *y = &b->script;
    if (x->state != y->state || x->count != y->count || a->joined != b->joined) {
        return false;
    }
    for (uint32_t i = 0; i < x->count; i++) {
        if (x->frames[i].line != y->frames[i].line || x->frames[i].run != y->frames[i].run ||
            strcmp(x->frames[i].function, y->frames[i].function) != 0 ||
            strcmp(x->frames[i].file, y->frames[i].file) != 0) {
            return false;
        }
    }
    return true;
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
