// SPDX-License-Identifier: Apache-2.0
/* Deadlines for parts of a program, and a heartbeat. A worker without an event loop handles
 * requests, one of which takes too long. The report has its label and the function that took the
 * time. */
#include <stdio.h>
#include <time.h>

#include <sonde/scope.h>
#include <sonde/watch.h>

/* Called on the watch's thread. */
static void print_stall(void *ctx, const struct sonde_stall *stall)
{
    int *count = ctx;
    ++*count;
    printf("%s took %llu ms: %s\n%s", stall->kind == SONDE_STALL_SCOPE ? "scope" : "turn",
           (unsigned long long)(stall->duration_ns / 1000000), stall->scope, stall->text);
}

static void work(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static __attribute__((noinline)) void render_page(long ms)
{
    SONDE_SCOPE("page", 200000000); /* left at the end of the function */
    work(ms);
}

static void handle_request(int number)
{
    uint32_t request = sonde_scope_enter("request", 2000000000);
    for (int page = 0; page < 3; page++) {
        render_page(number == 2 && page == 1 ? 600 : 2);
    }
    if (number == 3) {
        sonde_scope_ignore(); /* the request asks the user, so it has no deadline any more */
        work(10);
    }
    sonde_scope_leave(request);
}

int main(void)
{
    int count = 0;
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = 5000000000,
                                                .on_stall = print_stall,
                                                .ctx = &count};
    struct sonde_watch *watch;
    struct sonde_error error;
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK) {
        fprintf(stderr, "no watch: %s\n", error.what);
        return 1;
    }
    for (int number = 0; number < 5; number++) {
        sonde_beat(); /* a worker that hangs outside of its scopes stalls after five seconds */
        handle_request(number);
    }
    sonde_idle_enter(); /* the worker has ended, but the thread has not */
    sonde_watch_stop(watch);
    printf("stalls: %d\n", count);
    return 0;
}
