// SPDX-License-Identifier: Apache-2.0
/* Implements the part of api_thread.h about other threads. */
#include "api_thread_stop.h"

#include "base_status.h"
#include "base_text.h"
#include "os.h"
#include "os_images.h"
#include "target_self.h"
#include "unwind_walk.h"

static void stop_and_walk(void *ctx)
{
    struct sonde__api_together *together = ctx;
    uint64_t begin_ns = sonde__os_now_ns();
    sonde__capture_stopped(together->threads, together->count);
    together->stop_ns = sonde__os_now_ns() - begin_ns;
    together->lost_images = sonde__os_images_counts().lost;
}

void sonde__api_stop_together(struct sonde__api_together *together)
{
    sonde__target_self_hold_images(stop_and_walk, together);
}

void sonde__api_stop_explain(const struct sonde__api_together *together,
                             const struct sonde__stopped *thread, struct sonde_captured *captured)
{
    struct sonde__text note;
    sonde__base_text_init(&note, captured->note, sizeof captured->note);
    captured->status = thread->status;
    captured->by = thread->status == SONDE_OK ? SONDE_CAPTURED_STOP : SONDE_CAPTURED_NOT;
    if (thread->status == SONDE_OS) {
        sonde__base_text_str(&note,
                             "the kernel did not stop the thread, or not show its registers");
    } else if (thread->status == SONDE_OK && together->lost_images > 0) {
        sonde__base_text_dec(&note, together->lost_images);
        sonde__base_text_str(&note, " loaded images are not known: the list is full");
    }
}

/* --- one thread --- */

enum sonde_status sonde__api_thread_refer_all(struct sonde__os_stop *ret_threads, size_t capacity,
                                              size_t *ret_total)
{
    return sonde__os_stop_open_all(ret_threads, capacity, ret_total);
}

enum sonde_status sonde__api_thread_refer(uint64_t tid, struct sonde__os_stop *ret_thread)
{
    return sonde__os_stop_open(tid, ret_thread);
}

void sonde__api_thread_release(const struct sonde__os_stop *thread)
{
    sonde__os_stop_close(thread);
}

void sonde__api_signal_after_fork(void) {}

enum sonde_status sonde__api_other_check(void)
{
    return SONDE_OK;
}

enum sonde_status sonde__api_other_capture(const struct sonde__os_stop *thread,
                                           const struct sonde_capture_options *options,
                                           enum sonde_status check, struct sonde_stack *stack,
                                           struct sonde_captured *captured)
{
    struct sonde__stopped one = {.stop = *thread, .stack = *stack};
    struct sonde__api_together together = {.threads = &one, .count = 1};
    (void)options;
    (void)check;
    sonde__api_stop_together(&together);
    *stack = one.stack;
    sonde__api_stop_explain(&together, &one, captured);
    return one.status;
}

static void fit_name(const char *name, char *ret_name, size_t capacity)
{
    struct sonde__text text;
    sonde__base_text_init(&text, ret_name, capacity);
    sonde__base_text_str(&text, name);
    sonde__base_text_end_whole(&text); /* the system's copy may be cut, too */
}

enum sonde_status sonde__api_thread_name(const struct sonde__os_stop *thread, char *name,
                                         size_t capacity)
{
    struct sonde__os_stop_text text;
    SONDE_TRY(sonde__os_stop_describe(thread, &text));
    fit_name(text.name, name, capacity);
    return SONDE_OK;
}

struct reading {
    const struct sonde__os_stop *thread;
    char *queue;
    size_t size;
};

static void read_queue(void *ctx)
{
    struct reading *reading = ctx;
    bool is_self = reading->thread->tid == sonde__os_tid();
    if (!is_self && sonde__os_stop_begin(reading->thread) != SONDE_OK) {
        return;
    }
    sonde__os_stop_queue(reading->thread, reading->queue, reading->size);
    if (!is_self) {
        sonde__os_stop_end(reading->thread);
    }
}

enum sonde_status sonde__api_stop_ask(const struct sonde__os_stop *thread,
                                      struct sonde__api_told *ret_told)
{
    struct reading reading = {thread, ret_told->queue, sizeof ret_told->queue};
    ret_told->queue[0] = '\0';
    SONDE_TRY(sonde__os_stop_describe(thread, &ret_told->text));
    /* held: no two threads stop each other */
    sonde__target_self_hold_images(read_queue, &reading);
    return SONDE_OK;
}

void sonde__api_stop_describe(uint64_t tid, const struct sonde__api_told *told,
                              struct sonde_thread *ret_thread)
{
    const struct sonde__os_stop_text *text = &told->text;
    *ret_thread = (struct sonde_thread){.struct_bytes = sizeof *ret_thread,
                                        .tid = tid,
                                        .letter = text->letter,
                                        .state = (uint8_t)sonde__target_thread_state(text->letter),
                                        .is_main = tid == sonde__os_main_tid(),
                                        .is_self = tid == sonde__os_tid(),
                                        .stack_start = text->stack_start,
                                        .stack_end = text->stack_end};
    fit_name(text->name, ret_thread->name, sizeof ret_thread->name);
    fit_name(told->queue, ret_thread->queue, sizeof ret_thread->queue);
}

enum sonde_status sonde__api_thread_describe(const struct sonde__os_stop *thread,
                                             struct sonde_thread *ret_thread)
{
    struct sonde__api_told told;
    SONDE_TRY(sonde__api_stop_ask(thread, &told));
    sonde__api_stop_describe(thread->tid, &told, ret_thread);
    return SONDE_OK;
}
