// SPDX-License-Identifier: Apache-2.0
/* Watch an event loop: one of its turns takes too long, and the function that blocked it is
 * printed. With an argument, also writes a report to that file, for `sonde show` and
 * report_read.c. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <sonde/watch.h>

/* Called on the watch's thread, when the loop runs again. */
static void print_stall(void *ctx, const struct sonde_stall *stall)
{
    int *count = ctx;
    ++*count;
    printf("thread %d held its loop up for %llu ms, in turn %llu\n%s", (int)stall->tid,
           (unsigned long long)(stall->duration_ns / 1000000), (unsigned long long)stall->turns + 1,
           stall->text);
}

static __attribute__((noinline)) void save_document(void)
{
    const struct timespec slow_disk = {.tv_nsec = 600000000};
    nanosleep(&slow_disk, NULL);
}

static void run_loop(void)
{
    for (int turn = 0; turn < 20; turn++) {
        sonde_idle_enter();
        poll(NULL, 0, 5); /* the loop's own wait may take any time */
        sonde_idle_leave();
        if (turn == 10) {
            save_document();
        }
    }
    sonde_idle_enter(); /* the loop has ended, but the thread has not */
}

int main(int argc, char **argv)
{
    int count = 0;
    int fd = argc > 1 ? open(argv[1], O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600) : -1;
    const struct sonde_watch_options options = {
        .struct_bytes = sizeof options,
        .threshold_ns = 200000000,
        .report_fd = fd,
        .on_stall = print_stall,
        .ctx = &count,
    };
    struct sonde_watch *watch;
    struct sonde_error error;
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK) {
        fprintf(stderr, "no watch: %s\n", error.what);
        return 1;
    }
    run_loop();
    sonde_watch_stop(watch);
    printf("stalls: %d\n", count);
    if (fd >= 0) {
        close(fd);
    }
    return 0;
}
