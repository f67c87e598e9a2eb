// SPDX-License-Identifier: Apache-2.0
/* Waits for ever (with "spin": computes for ever) in a function that code of a JIT called. Prints
 * the return addresses of that code, innermost first, in one line. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jit_code.h"

static int is_spin;
static volatile unsigned turns;

static __attribute__((noinline)) void leaf(void)
{
    while (is_spin) {
        turns++;
    }
    for (;;) {
        pause();
    }
}

static __attribute__((noinline)) void enter_jit(void (*code)(void))
{
    code();
    turns++;
}

int main(int argc, char **argv)
{
    is_spin = argc > 1 && strcmp(argv[1], "spin") == 0;
    struct jit_code code = jit_make(leaf, JIT_FUNCTIONS);
    for (unsigned i = JIT_FUNCTIONS; i-- > 0;) {
        printf("0x%llx ", (unsigned long long)code.returns[i]);
    }
    printf("\n");
    fflush(stdout);
    enter_jit(code.enter);
    return 0;
}
