// SPDX-License-Identifier: Apache-2.0
#include <sonde/stack.h>

#include "api_thread.h"
#include "capture_memo.h"
#include "capture_walk.h"
#include "mem_heap.h"
#include "target_self.h"

/* Enough for most stacks; each further size is four times the last. */
#define WHOLE_FRAMES_FIRST 256u

enum { ONCE_FRAMES = 64 };

/* Capture once, so that all code for it is paged in, including the kernel's setup for new
 * threads. */
static __attribute__((noinline)) void capture_once(void)
{
    uint64_t pcs[ONCE_FRAMES];
    uint8_t how[ONCE_FRAMES];
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, ONCE_FRAMES, 0);
    if (sonde_stack_capture(&stack, 0) != SONDE_OK) {
        return; /* fails for wrong arguments only */
    }
}

enum sonde_status sonde_stack_prepare(void)
{
    enum sonde_status status = sonde__target_self_refresh(true);
    if (status == SONDE_OK) {
        sonde__capture_memo_prepare();
        capture_once();
    }
    return status;
}

bool sonde__api_stack_alloc(struct sonde_stack *ret_stack, uint32_t capacity, uint32_t outer)
{
    uint64_t *pcs = sonde__mem_alloc_array(capacity, sizeof *pcs);
    uint8_t *how = sonde__mem_alloc_array(capacity, sizeof *how);
    if (pcs == NULL || how == NULL) {
        sonde__mem_free(pcs);
        sonde__mem_free(how);
        return false;
    }
    sonde_stack_init(ret_stack, pcs, how, capacity, outer);
    return true;
}

void sonde_stack_free(struct sonde_stack *stack)
{
    if (stack != NULL) {
        sonde__mem_free(stack->pcs);
        sonde__mem_free(stack->how);
        stack->pcs = NULL;
        stack->how = NULL;
        stack->capacity = stack->count = 0;
    }
}

/* The C half of sonde_stack_capture_whole (api_entry.S): `caller` is frame 0. */
enum sonde_status sonde__api_stack_capture_whole(struct sonde_stack *ret_stack, uint32_t skip,
                                                 const struct sonde__regs *caller);

enum sonde_status sonde__api_stack_capture_whole(struct sonde_stack *ret_stack, uint32_t skip,
                                                 const struct sonde__regs *caller)
{
    if (ret_stack == NULL) {
        return SONDE_USAGE;
    }
    for (uint32_t capacity = WHOLE_FRAMES_FIRST;; capacity *= 4) {
        bool is_last = capacity >= SONDE_WHOLE_FRAMES_MAX;
        struct sonde_stack stack;
        if (!sonde__api_stack_alloc(&stack, capacity, is_last ? SONDE_OUTER_FRAMES : 0)) {
            return SONDE_MEMORY;
        }
        sonde__capture_walk(&stack, caller, false, skip, SONDE__CAPTURE_OWN);
        if (is_last || stack.end != SONDE_END_DEPTH) {
            *ret_stack = stack;
            return SONDE_OK;
        }
        sonde_stack_free(&stack);
    }
}
