// SPDX-License-Identifier: Apache-2.0
#include "watches.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sonde/report.h>

#include "test.h"

static void *allocate(void *barrier)
{
    void *volatile block = malloc(1000);
    free(block);
    pthread_barrier_wait(barrier);
    return NULL;
}

/* glibc keeps the arenas of the first threads that allocate, which would look like leaks: one for
 * the watch, one for its writer. So would the time zone, which the first date asks for. */
static __attribute__((constructor)) void warm_heap(void)
{
    pthread_barrier_t barrier;
    pthread_t threads[2];
    unsigned n = 0;
    tzset();
    pthread_barrier_init(&barrier, NULL, 3);
    while (n < 2 && pthread_create(&threads[n], NULL, allocate, &barrier) == 0) {
        n++;
    }
    if (n == 2) {
        pthread_barrier_wait(&barrier);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
}

uint64_t watches_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The injected functions: their names are what the tests look for. */
__attribute__((noinline)) void watch_test_burns(uint64_t for_ns)
{
    uint64_t end_ns = watches_now_ns() + for_ns;
    while (watches_now_ns() < end_ns) {
        for (volatile unsigned i = 0; i < 100000; i++) {
        }
    }
}

static inline __attribute__((always_inline)) void watch_test_inlined(struct timespec *t)
{
    while (nanosleep(t, t) != 0) {
    }
}

__attribute__((noinline)) void watch_test_blocks(uint64_t for_ns)
{
    struct timespec t = {(time_t)(for_ns / 1000000000u), (long)(for_ns % 1000000000u)};
    watch_test_inlined(&t);
}

void wait_idle(int timeout_ms)
{
    sonde_idle_enter();
    poll(NULL, 0, timeout_ms);
    sonde_idle_leave();
}

void watches_on_stall(void *ctx, const struct sonde_stall *stall)
{
    struct told *told = ctx;
    pthread_mutex_lock(&told->mutex);
    free(told->text);
    told->last = *stall;
    told->text = strdup(stall->text);
    CHECK_EQ(strlen(stall->text), stall->text_bytes);
    told->count++;
    pthread_mutex_unlock(&told->mutex);
}

struct sonde_watch *watches_start(const struct sonde_watch_options *options)
{
    struct sonde_watch *watch = NULL;
    struct sonde_error error = {0};
    enum sonde_status status = sonde_watch_start(options, &watch, &error);
    if (status == SONDE_UNSUPPORTED || status == SONDE_DENIED) {
        SKIP("%s", error.what);
    }
    if (status != SONDE_OK) {
        FAIL("%s: %s", sonde_status_name(status), error.what);
    }
    return watch;
}

struct sonde_watch *start(struct told *told, uint64_t threshold_ns, int report_fd)
{
    const struct sonde_watch_options options = {.struct_bytes = sizeof options,
                                                .threshold_ns = threshold_ns,
                                                .report_fd = report_fd,
                                                .build = "7.1",
                                                .device = "lab-9",
                                                .on_stall = told != NULL ? watches_on_stall : NULL,
                                                .ctx = told};
    return watches_start(&options);
}

void stall_until_told(struct told *told, void (*stall)(uint64_t for_ns))
{
    unsigned before = told->count;
    wait_idle(1);
    for (unsigned i = 0; i < 40 && told->count == before; i++) {
        stall(500 * MS);
        wait_idle(100);
    }
    sonde_idle_enter();
    CHECK(told->count > before);
}

static int append(void *ctx, const void *bytes, size_t size)
{
    char *text = ctx;
    size_t length = strlen(text);
    CHECK(length + size < 1u << 18);
    memcpy(text + length, bytes, size);
    text[length + size] = '\0';
    return 0;
}

char *watches_show_report(const char *path)
{
    struct sonde_report *report;
    struct sonde_error error;
    size_t size;
    char *bytes = test_read_file(path, &size);
    char *text = calloc(1, 1u << 18);
    CHECK_OK(sonde_report_read(bytes, size, &report, &error));
    CHECK_OK(sonde_report_text(report, append, text, &error));
    sonde_report_destroy(report);
    free(bytes);
    return text;
}
