// SPDX-License-Identifier: Apache-2.0
/* Print the stacks of all threads, as a debugger does, without waking or stopping blocked threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <sonde/text.h>
#include <sonde/thread.h>

enum { DEPTH = 256, OUTER = 64 };

static int fds[2];

static void *work(void *arg)
{
    char byte;
    return read(fds[0], &byte, 1) == 1 ? arg : NULL;
}

static int print_thread(void *ctx, const struct sonde_thread *thread,
                        const struct sonde_stack *stack, const struct sonde_captured *captured)
{
    char text[16384];
    printf("%s (read by: %s)\n", thread->name, sonde_captured_text(captured->by));
    if (captured->status != SONDE_OK) {
        printf("    not read: %s (%s)\n", sonde_status_text(captured->status), captured->note);
    }
    if (sonde_stack_text(ctx, SONDE_STYLE_SONDE, stack, text, sizeof text, NULL) != SONDE_OK) {
        return 1;
    }
    fputs(text, stdout);
    return 0;
}

int main(void)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    struct sonde_symbolizer *symbolizer;
    struct sonde_capture_options options = {0};
    pthread_t worker;
    enum sonde_status status;

    options.struct_bytes = sizeof options;
    options.flags = SONDE_CAPTURE_PASSIVE_ONLY; /* a running thread is left out */
    if (pipe(fds) != 0 || pthread_create(&worker, NULL, work, NULL) != 0 ||
        sonde_symbolizer_create(&symbolizer) != SONDE_OK) {
        return 1;
    }
    pthread_setname_np(worker, "worker");
    usleep(100000); /* let it come to its read() */
    sonde_stack_init(&stack, pcs, how, DEPTH, OUTER);
    status = sonde_threads_capture(&options, &stack, print_thread, symbolizer);
    sonde_symbolizer_destroy(symbolizer);
    if (write(fds[1], "x", 1) != 1) {
        return 1;
    }
    pthread_join(worker, NULL);
    return status == SONDE_OK ? 0 : 1;
}
