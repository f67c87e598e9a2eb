// SPDX-License-Identifier: Apache-2.0
/* The writer's queue: nobody waits for it, it loses nothing, and reports entries without room. */
#include "watch_writer.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define MS 1000000ull

/* An arena of the writer's thread would look like a leak. */
static __attribute__((constructor)) void use_one_arena(void)
{
    mallopt(M_ARENA_MAX, 1);
}

struct gate {
    pthread_mutex_t lock;
    _Atomic unsigned told;
    uint64_t last_ns; /* stalls come in order */
    bool disorder;
};

static void tell(void *ctx, const struct sonde__entry_ended *ended,
                 const struct sonde__report *report, const struct sonde__report_view *view,
                 uint32_t index)
{
    struct gate *gate = ctx;
    (void)report, (void)view, (void)index;
    pthread_mutex_lock(&gate->lock);
    gate->disorder = gate->disorder || ended->begin_ns < gate->last_ns;
    gate->last_ns = ended->begin_ns;
    gate->told++;
    pthread_mutex_unlock(&gate->lock);
}

static int report_fd(char *path, size_t capacity)
{
    snprintf(path, capacity, "%s/report", test_folder());
    return open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
}

static struct sonde__watch_writer *make(struct gate *gate, struct sonde__watch_options *options,
                                        int fd)
{
    struct sonde__watch_writer *writer = NULL;
    *options = (struct sonde__watch_options){
        .tool = "test", .threshold_ns = 250 * MS, .report_fd = fd, .on_stall = tell, .ctx = gate};
    CHECK_OK(sonde__watch_writer_create(options, (int32_t)getpid(), &writer));
    return writer;
}

static void push_stall(struct sonde__watch_writer *writer, uint64_t number, unsigned samples)
{
    struct sonde__sampler_stall stall;
    const struct sonde__sampler_gap gap = {.step_ns = 10 * MS, .moved_ns = UINT64_MAX};
    sonde__sampler_stall_init(&stall);
    for (unsigned i = 0; i < samples; i++) {
        uint64_t pc = i;
        uint8_t how = 0;
        struct sonde__sample sample = {
            .stack = {.pcs = &pc, .how = &how, .count = 1, .capacity = 1}};
        CHECK(sonde__sample_keep(&sample));
        sonde__sampler_stall_add(&stall, &sample, i * 10 * MS, &gap);
    }
    sonde__sampler_stall_end(&stall, samples * 10 * MS, &gap);
    const struct sonde__entry_ended ended = {
        .tid = 1, .begin_ns = number, .duration_ns = 1000 * MS};
    sonde__watch_writer_stall(writer, &stall, &ended);
    CHECK_EQ(stall.count, 0); /* the writer owns it now */
}

static bool file_has(const char *path, const char *part)
{
    size_t size;
    char *bytes = test_read_file(path, &size);
    bool has = memmem(bytes, size, part, strlen(part)) != NULL;
    free(bytes);
    return has;
}

TEST_TIMEOUT(all_that_is_queued_is_written, 60)
{
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sonde__watch_options options;
    char path[512];
    int fd = report_fd(path, sizeof path);
    struct sonde__watch_writer *writer = make(&gate, &options, fd);
    CHECK_EQ(sonde__watch_writer_tid(writer), 0); /* no thread while there is nothing to write */
    pthread_mutex_lock(&gate.lock);
    for (unsigned i = 0; i < 100; i++) {
        push_stall(writer, i, 10);
    }
    sonde__watch_print(writer, "a line behind %u stalls", 100u);
    CHECK(!sonde__watch_writer_is_idle(writer));
    CHECK(sonde__watch_writer_tid(writer) != 0);
    CHECK_EQ(gate.told, 0); /* nobody waited for the callback */
    pthread_mutex_unlock(&gate.lock);
    sonde__watch_writer_finish(writer, 1, 1, &(struct sonde__decide_turns){0});
    CHECK_EQ(gate.told, 100);
    CHECK(!gate.disorder);
    CHECK(file_has(path, "a line behind 100 stalls"));
    CHECK(!file_has(path, "not in the report"));
    close(fd);
}

/* The sum of all numbers before `what`: the writer repeats the message when it loses more. */
static unsigned sum_of(const char *path, const char *what)
{
    size_t size, length = strlen(what);
    unsigned sum = 0;
    char *bytes = test_read_file(path, &size);
    for (const char *at = bytes; (at = memmem(at, (size_t)(bytes + size - at), what, length));
         at++) {
        const char *digits = at;
        while (digits > bytes && digits[-1] >= '0' && digits[-1] <= '9') {
            digits--;
        }
        sum += (unsigned)strtoul(digits, NULL, 10);
    }
    free(bytes);
    return sum;
}

TEST_TIMEOUT(what_does_not_fit_is_counted, 60)
{
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sonde__watch_options options;
    char path[512];
    int fd = report_fd(path, sizeof path);
    struct sonde__watch_writer *writer = make(&gate, &options, fd);
    unsigned pushed = SONDE__WATCH_QUEUE_ITEMS + 50;
    pthread_mutex_lock(&gate.lock);
    for (unsigned i = 0; i < pushed; i++) {
        push_stall(writer, i, 1);
    }
    pthread_mutex_unlock(&gate.lock);
    sonde__watch_writer_finish(writer, 1, 1, &(struct sonde__decide_turns){0});
    CHECK_EQ(gate.told, SONDE__WATCH_QUEUE_ITEMS);
    CHECK_EQ(sum_of(path, " stalls were found and are not in the report"), pushed - gate.told);
    close(fd);
}

/* Few stalls of very many samples: memory is bounded, too. A single one always fits. */
TEST_TIMEOUT(samples_in_the_queue_are_bounded, 60)
{
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sonde__watch_options options;
    struct sonde__watch_writer *writer = make(&gate, &options, -1);
    pthread_mutex_lock(&gate.lock);
    for (unsigned i = 0; i < 6; i++) {
        push_stall(writer, i, SONDE__WATCH_QUEUE_SAMPLES / 4);
    }
    pthread_mutex_unlock(&gate.lock);
    sonde__watch_writer_finish(writer, 1, 1, &(struct sonde__decide_turns){0});
    CHECK_EQ(gate.told, 4);
}
