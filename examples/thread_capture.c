// SPDX-License-Identifier: Apache-2.0
/* What does the thread "worker" wait for? A thread is found by its name, its pthread_t or its tid.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <sonde/text.h>
#include <sonde/thread.h>

enum { DEPTH = 64 };

static int fds[2];

static void *work(void *arg)
{
    char byte;
    return read(fds[0], &byte, 1) == 1 ? arg : NULL;
}

static int print_thread(uint64_t tid)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    char text[8192];
    struct sonde_stack stack;
    struct sonde_captured captured = {.struct_bytes = sizeof captured};
    struct sonde_symbolizer *symbolizer;
    enum sonde_status status;

    sonde_stack_init(&stack, pcs, how, DEPTH, 0);
    status = sonde_thread_capture(tid, NULL, &stack, &captured);
    if (status != SONDE_OK) {
        printf("not read: %s (%s)\n", sonde_status_text(status), captured.note);
        return status == SONDE_UNSUPPORTED ? 0 : 1;
    }
    if (sonde_symbolizer_create(&symbolizer) != SONDE_OK ||
        sonde_stack_text(symbolizer, SONDE_STYLE_SONDE, &stack, text, sizeof text, NULL) !=
            SONDE_OK) {
        return 1;
    }
    printf("read by: %s, blocked in system call %" PRId64 "\n%s", sonde_captured_text(captured.by),
           captured.syscall, text);
    sonde_symbolizer_destroy(symbolizer);
    return 0;
}

int main(void)
{
    pthread_t worker;
    uint64_t by_handle, by_name;
    int result = 1;

    if (pipe(fds) != 0 || pthread_create(&worker, NULL, work, NULL) != 0) {
        return 1;
    }
    pthread_setname_np(worker, "worker");
    usleep(100000); /* let it come to its read() */
    if (sonde_thread_find_pthread(worker, &by_handle) == SONDE_OK &&
        sonde_thread_find_name("worker", &by_name) == SONDE_OK && by_handle == by_name) {
        result = print_thread(by_name);
    }
    if (sonde_thread_self() != sonde_thread_main()) {
        result = 1; /* main() runs on the main thread */
    }
    if (write(fds[1], "x", 1) != 1) {
        return 1;
    }
    pthread_join(worker, NULL);
    return result;
}
