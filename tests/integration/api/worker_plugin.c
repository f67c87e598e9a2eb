// SPDX-License-Identifier: Apache-2.0
/* Its constructor runs on the thread that loads it, and captures the main thread. */
#include <stdio.h>
#include <stdlib.h>

#include <sonde/text.h>
#include <sonde/thread.h>

enum { DEPTH = 64 };

static void print_thread(const char *title, uint64_t tid)
{
    static char text[16384];
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    struct sonde_captured captured = {.struct_bytes = sizeof captured};
    struct sonde_symbolizer *symbolizer;
    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    if (sonde_thread_capture(tid, NULL, &stack, &captured) != SONDE_OK) {
        printf("%s: %s (%s)\n", title, sonde_status_text(captured.status), captured.note);
        return;
    }
    if (sonde_symbolizer_create(&symbolizer) == SONDE_OK) {
        if (sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL) ==
            SONDE_OK) {
            printf("%s:\n%s", title, text);
        }
        sonde_symbolizer_destroy(symbolizer);
    }
}

static void at_end(void)
{
    print_thread("at exit", sonde_thread_self());
}

static __attribute__((constructor)) void at_load(void)
{
    print_thread("main thread", sonde_thread_main());
    print_thread("this thread", sonde_thread_self());
    atexit(at_end);
}
