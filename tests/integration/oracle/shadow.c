// SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <string.h>

#include "test.h"

void shadow_start(struct shadow *shadow, uint64_t sp)
{
    for (unsigned i = 0; i < SHADOW_STACKS_MAX; i++) {
        shadow->stacks[i].count = 0;
        shadow->stacks[i].region = 0;
    }
    shadow->now = &shadow->stacks[0];
    shadow->now->region = shadow->region(shadow->ctx, sp);
}

void shadow_push(struct shadow *shadow, struct shadow_frame frame)
{
    CHECK(shadow->now->count < SHADOW_FRAMES_MAX);
    shadow->now->frames[shadow->now->count++] = frame;
}

const struct shadow_frame *shadow_at(const struct shadow *shadow, unsigned index)
{
    const struct shadow_stack *now = shadow->now;
    return index < now->count ? &now->frames[now->count - 1 - index] : NULL;
}

/* True if this stack has a frame in that region. (Handlers run on stacks of their own.) */
static bool reaches(const struct shadow *shadow, const struct shadow_stack *stack, uint64_t region)
{
    for (unsigned i = 0; i < stack->count; i++) {
        if (shadow->region(shadow->ctx, stack->frames[i].sp - 1) == region) {
            return true;
        }
    }
    return stack->region == region;
}

static struct shadow_stack *stack_of(struct shadow *shadow, uint64_t region)
{
    if (reaches(shadow, shadow->now, region)) {
        return shadow->now;
    }
    for (unsigned i = 0; i < SHADOW_STACKS_MAX; i++) {
        struct shadow_stack *stack = &shadow->stacks[i];
        if (stack->region == 0) {
            stack->region = region;
            return stack;
        }
        if (reaches(shadow, stack, region)) {
            return stack;
        }
    }
    FAIL("more than %d stacks", SHADOW_STACKS_MAX);
}

/* Control arrived with this sp: frames below it are gone. */
static void arrive(struct shadow *shadow, uint64_t sp)
{
    uint64_t region = shadow->region(shadow->ctx, sp);
    struct shadow_stack *stack = stack_of(shadow, region);
    while (stack->count > 0) {
        const struct shadow_frame *top = &stack->frames[stack->count - 1];
        if (top->sp > sp && shadow->region(shadow->ctx, top->sp - 1) == region) {
            break;
        }
        stack->count--;
    }
    shadow->now = stack;
    if (stack->count == 0 && stack != &shadow->stacks[0]) {
        shadow_push(shadow, shadow->made_root(shadow->ctx, sp));
    }
}

bool shadow_return(struct shadow *shadow, uint64_t pc, uint64_t sp)
{
    struct shadow_stack *now = shadow->now;
    const struct shadow_frame *top = shadow_at(shadow, 0);
    if (top != NULL && top->pc == pc && top->sp == sp) {
        now->count--;
        return false;
    }
    arrive(shadow, sp);
    return true;
}

bool shadow_jump(struct shadow *shadow, uint64_t pc, uint64_t sp)
{
    const struct shadow_frame *top = shadow_at(shadow, 0);
    (void)pc;
    if (top == NULL) {
        return false;
    }
    /* If calls store the return address, it belongs to the frame until it is popped. */
    bool inside = shadow->pushes_return ? sp < top->sp : sp <= top->sp;
    bool same = top->sp - sp < 65536 ||
                shadow->region(shadow->ctx, sp) == shadow->region(shadow->ctx, top->sp - 1);
    if (inside && same) {
        return false;
    }
    arrive(shadow, sp);
    return true;
}
