// SPDX-License-Identifier: Apache-2.0
/* The calling thread's stack as strings: allocated for the caller, or made once and kept. */
#include <stdio.h>
#include <stdlib.h>

#include <sonde/text.h>

enum { DEPTH = 64 };

static __attribute__((noinline)) const char *const *asked_often(uint32_t *ret_count)
{
    return sonde_callstack_strings(DEPTH, ret_count);
}

int main(int argc, char **argv)
{
    const char *const *first = NULL;
    const char *const *lines;
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    struct sonde_symbolizer *symbolizer;
    uint32_t count;
    char **symbols = sonde_callstack_symbols(DEPTH, &count);
    (void)argv;
    for (uint32_t i = 0; i < count; i++) {
        puts(symbols[i]);
    }
    free((void *)symbols);

    for (int i = 0; i < 2 + argc; i++) {
        lines = asked_often(&count); /* nothing to free */
        printf("%s\n", first == NULL ? "made" : lines == first ? "the same strings" : "others");
        first = lines;
    }

    /* any stack, in any style */
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_stack_capture(&stack, 0) != SONDE_OK ||
        sonde_symbolizer_create(&symbolizer) != SONDE_OK) {
        return 1;
    }
    if (sonde_stack_strings(symbolizer, SONDE_STYLE_GLIBC, &stack, &lines, &count) == SONDE_OK) {
        for (uint32_t i = 0; i < count; i++) {
            puts(lines[i]);
        }
    }
    sonde_symbolizer_destroy(symbolizer);
    return 0;
}
