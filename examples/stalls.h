// SPDX-License-Identifier: Apache-2.0
/* Shared by the examples of watched loops: the injected stall, and a callback that prints. */
#ifndef EXAMPLE_STALLS_H
#define EXAMPLE_STALLS_H

#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sonde/watch.h>

static inline long long stalls_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The function to look for in stacks. Prints the true duration. */
static __attribute__((noinline)) void save_document(long ms)
{
    long long begin_ms = stalls_now_ms();
    while (stalls_now_ms() - begin_ms < ms) {
        const struct timespec part = {.tv_nsec = 10000000};
        nanosleep(&part, NULL);
    }
    printf("injected %lld ms in thread %d\n", stalls_now_ms() - begin_ms, (int)syscall(SYS_gettid));
}

static inline void print_stall(void *ctx, const struct sonde_stall *stall)
{
    int *count = ctx;
    ++*count;
    printf("found %llu ms in thread %d\n%s", (unsigned long long)(stall->duration_ns / 1000000),
           (int)stall->tid, stall->text);
}

/* Null: there is no watch, and a message says why. */
static inline struct sonde_watch *start_watch(int *count)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = 200000000,
                                                .on_stall = print_stall,
                                                .ctx = count};
    struct sonde_watch *watch = NULL;
    struct sonde_error error;
    if (sonde_watch_start(&options, &watch, &error) != SONDE_OK) {
        fprintf(stderr, "no watch: %s\n", error.what);
    }
    return watch;
}

#endif
