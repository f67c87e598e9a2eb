// SPDX-License-Identifier: Apache-2.0
/* Write the stack that a signal interrupted as text, in the handler. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sonde/text.h>

enum { DEPTH = 64 };

static struct sonde_symbolizer *symbolizer;

/* write(2) may be called in a handler. */
static int write_line(void *ctx, const void *bytes, size_t size)
{
    (void)ctx;
    return write(STDOUT_FILENO, bytes, size) == (ssize_t)size ? 0 : 1;
}

static void on_signal(int signal, siginfo_t *info, void *ucontext)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    (void)signal;
    (void)info;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_stack_capture_ucontext(&stack, ucontext, 0) != SONDE_OK) {
        _exit(1);
    }
    if (sonde_stack_write(symbolizer, SONDE_STYLE_CALLSTACK, &stack, write_line, NULL) !=
        SONDE_OK) {
        _exit(1);
    }
}

static int compare(const void *a, const void *b)
{
    static int raised;
    if (!raised) {
        raised = 1;
        raise(SIGUSR1);
    }
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    int numbers[] = {3, 1, 2};
    action.sa_sigaction = on_signal;
    /* open symbol files now: the handler may not */
    if (sonde_symbolizer_create(&symbolizer) != SONDE_OK ||
        sonde_symbolizer_prepare(symbolizer) != SONDE_OK ||
        sigaction(SIGUSR1, &action, NULL) != 0) {
        return 1;
    }
    qsort(numbers, 3, sizeof numbers[0], compare);
    sonde_symbolizer_destroy(symbolizer);
    return 0;
}
