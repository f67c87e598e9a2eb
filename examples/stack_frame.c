// SPDX-License-Identifier: Apache-2.0
/* A runtime records the frame pointer at each entry. The callers are found from it. */
#include <stdio.h>

#include <sonde/stack.h>
#include <sonde/text.h>

enum { DEPTH = 64 };

static uint64_t entry_frame; /* this runtime's record: the frame of enter() */

static __attribute__((noinline)) int work(void)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    char text[8192];
    struct sonde_stack stack;
    struct sonde_symbolizer *symbolizer;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_stack_capture_frame(&stack, entry_frame, 0) != SONDE_OK ||
        sonde_symbolizer_create(&symbolizer) != SONDE_OK) {
        return 1;
    }
    if (sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL) ==
        SONDE_OK) {
        fputs(text, stdout); /* starts at the caller of enter() */
    }
    sonde_symbolizer_destroy(symbolizer);
    return 0;
}

static __attribute__((noinline)) int enter(int (*function)(void))
{
    entry_frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    int result = function();
    entry_frame = 0;
    return result;
}

static __attribute__((noinline)) int run_script(void)
{
    int result = enter(work);
    __asm__ volatile("" : "+r"(result)); /* no tail call: keep this frame */
    return result;
}

int main(void)
{
    return run_script();
}
