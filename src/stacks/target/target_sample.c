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
}

bool sonde__sample_keep(struct sonde__sample *sample)
{
    struct sonde_stack *stack = &sample->stack;
    size_t count = stack->count;
    uint64_t *pcs = sonde__mem_alloc_array(count + 1, sizeof *stack->pcs + sizeof *stack->how);
    if (pcs == NULL) {
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
    memset(sample, 0, sizeof *sample);
}

bool sonde__sample_is_same(const struct sonde__sample *a, const struct sonde__sample *b)
{
    const struct sonde_stack *x = &a->stack, *y = &b->stack;
    return x->count == y->count && x->end == y->end && x->lost_count == y->lost_count &&
           a->capture.syscall == b->capture.syscall && a->capture.by == b->capture.by &&
           (a->thread.letter == 'D') == (b->thread.letter == 'D') &&
           memcmp(x->pcs, y->pcs, x->count * sizeof *x->pcs) == 0 &&
           strcmp(a->capture.waits_for, b->capture.waits_for) == 0;
}
