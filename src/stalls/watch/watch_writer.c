// SPDX-License-Identifier: Apache-2.0
#include "watch_writer.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host_self.h"
#include "os.h"
#include "target.h"

enum item_kind { LINE, STALL, BEGIN, STACKS, LOOK, PLUGIN, TIDY };

#define LINE_BYTES  480        /* the limit of a line of the output */
#define STACK_BYTES (4u << 20) /* names are decoded on it */

struct item {
    struct item *next;
    enum item_kind kind;
    bool all;           /* LOOK */
    const void *memory; /* LOOK, PLUGIN */
    const char *why;    /* STACKS */
    struct sonde__sampler_stall stall;
    struct sonde__entry_ended ended; /* STALL; STACKS: its images */
    char line[LINE_BYTES];
};

struct sonde__watch_writer {
    struct sonde__watch_output *output;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    _Atomic uint64_t tid; /* 0: there is no thread */
    bool has_failed;      /* the thread could not start */
    /* under the lock: */
    struct item *first, **last;
    uint32_t items, samples; /* queued, including the one being written */
    bool closing;
    uint64_t stalls_lost, others_lost; /* dropped, and not reported yet */
};

enum sonde_status sonde__watch_writer_create(const struct sonde__watch_options *options,
                                             int32_t pid, struct sonde__watch_writer **ret_writer)
{
    struct sonde__watch_writer *writer = calloc(1, sizeof *writer);
    enum sonde_status status = SONDE_MEMORY;
    if (writer != NULL) {
        status = sonde__watch_output_create(options, pid, &writer->output);
    }
    if (status != SONDE_OK) {
        free(writer);
        return status;
    }
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    writer->last = &writer->first;
    *ret_writer = writer;
    return SONDE_OK;
}

/* --- the thread --- */

static void drop_item(struct item *item)
{
    sonde__sampler_stall_done(&item->stall);
    sonde__target_close(item->ended.images);
    free(item);
}

static void write_item(struct sonde__watch_output *output, struct item *item)
{
    switch (item->kind) {
    case LINE:
        sonde__watch_output_print(output, "%s", item->line);
        break;
    case STALL:
        item->ended.stall = &item->stall;
        sonde__watch_output_stall(output, &item->ended);
        break;
    case BEGIN:
        item->ended.stall = &item->stall;
        sonde__watch_output_begin(output, &item->stall, &item->ended);
        break;
    case STACKS:
        sonde__watch_output_stacks(output, &item->stall, item->ended.images, item->why);
        break;
    case LOOK:
        sonde__watch_output_look(output, item->memory, item->all);
        break;
    case PLUGIN:
        sonde__watch_output_plugin(output, item->memory);
        break;
    case TIDY:
        sonde__watch_output_tidy(output);
        break;
    }
}

static uint32_t samples_of(const struct item *item)
{
    uint32_t child = item->stall.child != NULL ? item->stall.child->thread_count : 0;
    return item->stall.count + item->stall.thread_count + child;
}

static void print_lost(struct sonde__watch_output *output, uint64_t stalls, uint64_t others)
{
    if (stalls > 0) {
        sonde__watch_output_print(
            output,
            "%llu stalls were found and are not in the report: they came faster "
            "than they can be written",
            (unsigned long long)stalls);
    }
    if (others > 0) {
        sonde__watch_output_print(output, "%llu messages were dropped", (unsigned long long)others);
    }
}

/* Call it under the lock, which is released while the item is written. */
static void write_first(struct sonde__watch_writer *writer)
{
    struct item *item = writer->first;
    uint64_t stalls = writer->stalls_lost, others = writer->others_lost;
    writer->stalls_lost = writer->others_lost = 0;
    writer->first = item->next;
    if (writer->first == NULL) {
        writer->last = &writer->first;
    }
    pthread_mutex_unlock(&writer->lock);
    uint32_t samples = samples_of(item);
    write_item(writer->output, item);
    print_lost(writer->output, stalls, others);
    drop_item(item);
    pthread_mutex_lock(&writer->lock);
    writer->items--;
    writer->samples -= samples;
    pthread_cond_broadcast(&writer->changed);
}

static void *run(void *arg)
{
    struct sonde__watch_writer *writer = arg;
    sonde__host_name_thread("sonde-writer");
    pthread_mutex_lock(&writer->lock);
    atomic_store(&writer->tid, sonde__os_tid());
    pthread_cond_broadcast(&writer->changed);
    while (writer->first != NULL || !writer->closing) {
        if (writer->first == NULL) {
            pthread_cond_wait(&writer->changed, &writer->lock);
        } else {
            write_first(writer);
        }
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* --- the queue --- */

/* Its stack is bounded, because the supervisor has the program's limit of memory. */
static bool start_thread(struct sonde__watch_writer *writer)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    bool has_started = pthread_create(&writer->thread, &attr, run, writer) == 0;
    pthread_attr_destroy(&attr);
    return has_started;
}

/* Call it under the lock. Waits until the thread has stored its tid, so that lists of threads can
 * leave it out. */
static bool has_thread(struct sonde__watch_writer *writer)
{
    if (atomic_load(&writer->tid) != 0 || writer->has_failed) {
        return !writer->has_failed;
    }
    writer->has_failed = !start_thread(writer);
    while (!writer->has_failed && atomic_load(&writer->tid) == 0) {
        pthread_cond_wait(&writer->changed, &writer->lock);
    }
    return !writer->has_failed;
}

/* Under the lock. */
static bool has_room(const struct sonde__watch_writer *writer, const struct item *item)
{
    return writer->items < SONDE__WATCH_QUEUE_ITEMS &&
           (writer->samples == 0 ||
            writer->samples + samples_of(item) <= SONDE__WATCH_QUEUE_SAMPLES);
}

static void push(struct sonde__watch_writer *writer, struct item *item)
{
    pthread_mutex_lock(&writer->lock);
    bool queues = has_thread(writer);
    bool fits = !queues || has_room(writer, item);
    if (queues && fits) {
        *writer->last = item;
        writer->last = &item->next;
        writer->items++;
        writer->samples += samples_of(item);
        pthread_cond_broadcast(&writer->changed);
    } else if (!fits) {
        writer->stalls_lost += item->kind == STALL;
        writer->others_lost += item->kind != STALL;
    }
    pthread_mutex_unlock(&writer->lock);
    if (!queues) {
        write_item(writer->output, item);
    }
    if (!queues || !fits) {
        drop_item(item);
    }
}

/* Null: memory ran out; the loss is counted. */
static struct item *make_item(struct sonde__watch_writer *writer, enum item_kind kind)
{
    struct item *item = calloc(1, sizeof *item);
    if (item != NULL) {
        item->kind = kind;
        return item;
    }
    pthread_mutex_lock(&writer->lock);
    writer->stalls_lost += kind == STALL;
    writer->others_lost += kind != STALL;
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

void sonde__watch_print(struct sonde__watch_writer *writer, const char *format, ...)
{
    struct item *item = make_item(writer, LINE);
    va_list list;
    if (item != NULL) {
        va_start(list, format);
        vsnprintf(item->line, sizeof item->line, format, list);
        va_end(list);
        push(writer, item);
    }
}

static void push_ended(struct sonde__watch_writer *writer, enum item_kind kind,
                       struct sonde__sampler_stall *stall, const struct sonde__entry_ended *ended)
{
    struct item *item = make_item(writer, kind);
    if (item == NULL) {
        sonde__sampler_stall_done(stall);
        sonde__target_close(ended->images);
        return;
    }
    item->stall = *stall;
    item->ended = *ended;
    sonde__sampler_stall_init(stall);
    push(writer, item);
}

void sonde__watch_writer_stall(struct sonde__watch_writer *writer,
                               struct sonde__sampler_stall *stall,
                               const struct sonde__entry_ended *ended)
{
    push_ended(writer, STALL, stall, ended);
}

void sonde__watch_writer_begin(struct sonde__watch_writer *writer,
                               struct sonde__sampler_stall *threads,
                               const struct sonde__entry_ended *ended)
{
    push_ended(writer, BEGIN, threads, ended);
}

void sonde__watch_writer_stacks(struct sonde__watch_writer *writer,
                                struct sonde__sampler_stall *threads, struct sonde__target *images,
                                const char *why)
{
    struct item *item = make_item(writer, STACKS);
    if (item == NULL) {
        sonde__sampler_stall_done(threads);
        sonde__target_close(images);
        return;
    }
    item->stall = *threads;
    item->ended.images = images;
    item->why = why;
    sonde__sampler_stall_init(threads);
    push(writer, item);
}

static void push_plugin(struct sonde__watch_writer *writer, enum item_kind kind, const void *memory,
                        bool all)
{
    struct item *item = make_item(writer, kind);
    if (item != NULL) {
        item->memory = memory;
        item->all = all;
        push(writer, item);
    }
}

void sonde__watch_writer_look(struct sonde__watch_writer *writer, const void *memory, bool all)
{
    push_plugin(writer, LOOK, memory, all);
}

void sonde__watch_writer_plugin(struct sonde__watch_writer *writer, const void *memory)
{
    push_plugin(writer, PLUGIN, memory, false);
}

void sonde__watch_writer_tidy(struct sonde__watch_writer *writer)
{
    push_plugin(writer, TIDY, NULL, false);
}

const struct sonde__report *sonde__watch_writer_report(const struct sonde__watch_writer *writer)
{
    return sonde__watch_output_report(writer->output);
}

bool sonde__watch_writer_is_idle(struct sonde__watch_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool is_idle = writer->items == 0;
    pthread_mutex_unlock(&writer->lock);
    return is_idle;
}

void sonde__watch_writer_settle(struct sonde__watch_writer *writer, uint32_t seconds)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&writer->lock);
    while (writer->items != 0 &&
           pthread_cond_timedwait(&writer->changed, &writer->lock, &until) == 0) {
    }
    pthread_mutex_unlock(&writer->lock);
}

uint64_t sonde__watch_writer_tid(struct sonde__watch_writer *writer)
{
    return atomic_load(&writer->tid);
}

void sonde__watch_writer_finish(struct sonde__watch_writer *writer, uint64_t turns,
                                uint64_t watched_ns, const struct sonde__decide_turns *lengths)
{
    if (atomic_load(&writer->tid) != 0) {
        pthread_mutex_lock(&writer->lock);
        writer->closing = true;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->lock);
        pthread_join(writer->thread, NULL);
    }
    print_lost(writer->output, writer->stalls_lost, writer->others_lost);
    sonde__watch_output_finish(writer->output, turns, watched_ns, lengths);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
