// SPDX-License-Identifier: Apache-2.0
/* What do all threads do at one moment? Running threads are parked until all have been captured. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sonde/text.h>
#include <sonde/thread.h>

enum { DEPTH = 256, OUTER = 64 };

static int is_over;
static int fds[2];

static void *work(void *arg)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
    }
    return arg;
}

static int print_thread(void *ctx, const struct sonde_thread *thread,
                        const struct sonde_stack *stack, const struct sonde_captured *captured)
{
    char text[16384];
    if (captured->status != SONDE_OK) {
        printf("%s: %s (%s)\n", thread->name, sonde_status_text(captured->status), captured->note);
        return 0;
    }
    if (sonde_stack_text(ctx, SONDE_STYLE_SONDE, stack, text, sizeof text, NULL) != SONDE_OK) {
        return 1;
    }
    printf("%s: %s\n%s", thread->name, thread->state == SONDE_THREAD_RUNNING ? "ran" : "waits",
           text);
    return 0;
}

/* A separate thread takes the snapshot. */
static void *take_snapshot(void *symbolizer)
{
    uint64_t pcs[DEPTH];
    uint8_t how[DEPTH];
    struct sonde_stack stack;
    struct sonde_snapshot snapshot = {.struct_bytes = sizeof snapshot};
    usleep(200000); /* let main come to its poll() */
    sonde_stack_init(&stack, pcs, how, DEPTH, OUTER);
    if (sonde_threads_snapshot(NULL, &stack, print_thread, symbolizer, &snapshot) == SONDE_OK) {
        printf("%u threads, %u of them held for %.3f ms%s\n", (unsigned)snapshot.threads,
               (unsigned)snapshot.held, (double)snapshot.stop_ns / 1e6,
               snapshot.consistent ? "" : "; not all of one moment");
    }
    close(fds[1]); /* ends that poll() */
    return NULL;
}

int main(void)
{
    struct sonde_symbolizer *symbolizer;
    pthread_t busy, taker;
    pthread_setname_np(pthread_self(), "main");
    if (pipe(fds) != 0 || sonde_symbolizer_create(&symbolizer) != SONDE_OK ||
        pthread_create(&busy, NULL, work, NULL) != 0) {
        return 1;
    }
    pthread_setname_np(busy, "busy");
    if (pthread_create(&taker, NULL, take_snapshot, symbolizer) != 0) {
        return 1;
    }
    (void)poll(&(struct pollfd){.fd = fds[0], .events = POLLIN}, 1, -1);
    pthread_join(taker, NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    pthread_join(busy, NULL);
    sonde_symbolizer_destroy(symbolizer);
    return 0;
}
