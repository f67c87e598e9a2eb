// SPDX-License-Identifier: Apache-2.0
/* The stack of a suspended coroutine, from its saved registers. Here the coroutine saves them
 * before it is suspended; a coroutine library keeps them in its own record. */
#include <stdio.h>
#include <ucontext.h>

#include <sonde/stack.h>
#include <sonde/text.h>

enum { DEPTH = 64, STACK_BYTES = 64 * 1024 };

static ucontext_t scheduler, fiber;
static char fiber_stack[STACK_BYTES];
static struct sonde_registers suspended;

static __attribute__((noinline)) void give_way(void)
{
    /* the caller of this function, as it will be after the return */
    suspended.pc = (uint64_t)__builtin_return_address(0);
    suspended.fp = *(uint64_t *)__builtin_frame_address(0);
    suspended.sp = (uint64_t)__builtin_frame_address(0) + 16;
    suspended.known = SONDE_REGISTERS_FP;
    swapcontext(&fiber, &scheduler);
}

static __attribute__((noinline)) void wait_for_work(void)
{
    give_way();
    puts("resumed");
}

static void fiber_main(void)
{
    wait_for_work();
    puts("work done");
}

int main(void)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    char text[8192];
    struct sonde_stack stack;
    struct sonde_symbolizer *symbolizer;

    getcontext(&fiber);
    fiber.uc_stack.ss_sp = fiber_stack;
    fiber.uc_stack.ss_size = sizeof fiber_stack;
    fiber.uc_link = &scheduler;
    makecontext(&fiber, fiber_main, 0);
    swapcontext(&scheduler, &fiber);

    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_stack_capture_registers(&stack, &suspended, 0) != SONDE_OK ||
        sonde_symbolizer_create(&symbolizer) != SONDE_OK ||
        sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL) !=
            SONDE_OK) {
        return 1;
    }
    fputs(text, stdout);
    sonde_symbolizer_destroy(symbolizer);
    swapcontext(&scheduler, &fiber);
    return 0;
}
