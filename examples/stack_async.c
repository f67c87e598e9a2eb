// SPDX-License-Identifier: Apache-2.0
/* The stack of a program with Swift's async functions, as written in the source: the frames up to
 * the async function, then the functions that await it. Without async functions, the physical
 * stack. */
#include <inttypes.h>
#include <stdio.h>

#include <sonde/stack.h>

enum { DEPTH = 64, CHAIN = 64 };

int main(void)
{
    uint64_t pcs[DEPTH], resume[CHAIN];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    uint32_t physical;

    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    sonde_stack_set_async(&stack, resume, CHAIN);
    if (sonde_stack_capture(&stack, 0) != SONDE_OK) {
        return 1;
    }
    physical = stack.async_at == SONDE_NO_FRAME ? stack.count : stack.async_at + 1;
    for (uint32_t i = 0; i < physical; i++) {
        printf("0x%" PRIx64 "\n", pcs[i]);
    }
    for (uint32_t i = 0; i < stack.async_count; i++) {
        printf("0x%" PRIx64 " awaits (task %" PRIu64 ")\n", resume[i], stack.task_id);
    }
    printf("%" PRIu32 " frames, %s\n", physical, stack.async_met ? "async" : "no async function");
    return 0;
}
