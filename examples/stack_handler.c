// SPDX-License-Identifier: Apache-2.0
/* What was the program doing when the signal came? The handler captures; main prints. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/stack.h>
#include <sonde/text.h>

enum { DEPTH = 64 };

static uint64_t pcs[DEPTH];
static uint8_t how[DEPTH];
static struct sonde_stack stack;

static void on_alarm(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    (void)info;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_stack_capture_ucontext(&stack, ucontext, 0) != SONDE_OK) {
        stack.count = 0;
    }
}

static int compare(const void *a, const void *b)
{
    if (stack.count == 0) {
        raise(SIGALRM);
    }
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    int numbers[] = {3, 1, 2};
    char text[8192];
    struct sonde_symbolizer *symbolizer;
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};

    sigaction(SIGALRM, &action, NULL);
    qsort(numbers, 3, sizeof numbers[0], compare);

    if (sonde_symbolizer_create(&symbolizer) != SONDE_OK ||
        sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL) !=
            SONDE_OK) {
        return 1;
    }
    fputs(text, stdout);
    sonde_symbolizer_destroy(symbolizer);
    return 0;
}
