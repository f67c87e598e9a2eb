// SPDX-License-Identifier: Apache-2.0
/* Snapshots on a system that can stop threads: all are stopped, walked and released. What needs
 * memory is allocated before. */
#include "api_thread_stop.h"
#include "base_sized.h"
#include "base_status.h"
#include "capture_walk.h"
#include "mem_heap.h"
#include "os.h"
#include "target_self.h"

struct moment {
    struct sonde__api_together together;
    struct sonde__os_stop *stops;
    struct sonde__api_told *told; /* as of just before the stop */
    uint64_t *pcs;
    uint8_t *how;
    uint64_t *async_pcs; /* null: none wanted */
};

static void free_moment(const struct moment *moment)
{
    sonde__mem_free(moment->together.threads);
    sonde__api_threads_close(moment->stops, moment->together.count);
    sonde__mem_free(moment->told);
    sonde__mem_free(moment->pcs);
    sonde__mem_free(moment->how);
    sonde__mem_free(moment->async_pcs);
}

static bool alloc_moment(struct moment *moment, size_t count, const struct sonde_stack *stack)
{
    *moment = (struct moment){.stops = NULL};
    moment->together.threads = sonde__mem_alloc_array(count, sizeof *moment->together.threads);
    moment->told = sonde__mem_alloc_array(count, sizeof *moment->told);
    moment->pcs = sonde__mem_alloc_array(count, stack->capacity * sizeof *moment->pcs);
    moment->how = sonde__mem_alloc_array(count, stack->capacity);
    moment->async_pcs =
        sonde__mem_alloc_array(count, stack->async_capacity * sizeof *moment->async_pcs);
    return moment->together.threads != NULL && moment->told != NULL && moment->pcs != NULL &&
           moment->how != NULL && moment->async_pcs != NULL;
}

/* Refer to all threads, in the order of delivery. */
static enum sonde_status open_moment(struct moment *moment, const struct sonde_stack *stack)
{
    struct sonde__os_stop *stops;
    size_t count;
    SONDE_TRY(sonde__api_threads_open(&stops, &count));
    bool has_memory = alloc_moment(moment, count, stack);
    moment->stops = stops;
    moment->together.count = (uint32_t)count;
    if (!has_memory) {
        free_moment(moment);
        return SONDE_MEMORY;
    }
    return SONDE_OK;
}

static void prepare_threads(struct moment *moment, const struct sonde_stack *stack, bool is_bare)
{
    for (uint32_t i = 0; i < moment->together.count; i++) {
        struct sonde__stopped *thread = &moment->together.threads[i];
        *thread = (struct sonde__stopped){.stop = moment->stops[i]};
        sonde_stack_init(&thread->stack, moment->pcs + (size_t)i * stack->capacity,
                         moment->how + (size_t)i * stack->capacity, stack->capacity, stack->outer);
        if (stack->async_capacity > 0) {
            thread->stack.async_pcs = moment->async_pcs + (size_t)i * stack->async_capacity;
            thread->stack.async_capacity = stack->async_capacity;
        }
        moment->told[i] = (struct sonde__api_told){.text.letter = '?'};
        if (!is_bare) { /* of a thread that has ended nothing is known, and it is left out */
            (void)!sonde__api_stop_ask(&thread->stop, &moment->told[i]);
        }
    }
}

static void capture_caller(struct moment *moment, const struct sonde__regs *caller, uint32_t skip)
{
    for (uint32_t i = 0; i < moment->together.count; i++) {
        struct sonde__stopped *thread = &moment->together.threads[i];
        if (thread->stop.tid == sonde__os_tid()) {
            sonde__capture_walk(&thread->stack, caller, false, skip, SONDE__CAPTURE_OWN);
            thread->status = SONDE_OK;
        }
    }
}

/* A thread that is there now and was not stopped may have run. */
static bool has_new_thread(const struct moment *moment)
{
    struct sonde__os_stop *now;
    size_t count;
    bool is_new = true;
    if (sonde__api_threads_open(&now, &count) != SONDE_OK) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        is_new = true;
        for (uint32_t k = 0; k < moment->together.count && is_new; k++) {
            is_new = moment->stops[k].tid != now[i].tid;
        }
        if (is_new) {
            break;
        }
    }
    sonde__api_threads_close(now, count);
    return is_new;
}

static struct sonde_snapshot sum_up(const struct moment *moment)
{
    struct sonde_snapshot sum = {.stop_ns = moment->together.stop_ns};
    for (uint32_t i = 0; i < moment->together.count; i++) {
        const struct sonde__stopped *thread = &moment->together.threads[i];
        sum.threads += thread->status == SONDE_OK;
        sum.held += thread->status == SONDE_OK && thread->stop.tid != sonde__os_tid();
        sum.unread += thread->status != SONDE_OK && thread->status != SONDE_ABSENT;
    }
    sum.consistent = sum.unread == 0 && !has_new_thread(moment);
    return sum;
}

static void deliver(const struct moment *moment, struct sonde_stack *stack, sonde_thread_each each,
                    void *ctx)
{
    for (uint32_t i = 0; i < moment->together.count; i++) {
        const struct sonde__stopped *stopped = &moment->together.threads[i];
        struct sonde_captured captured = {.struct_bytes = sizeof captured, .syscall = -1};
        struct sonde_thread thread;
        if (stopped->status == SONDE_ABSENT) {
            continue;
        }
        sonde__api_stop_describe(stopped->stop.tid, &moment->told[i], &thread);
        sonde__api_stop_explain(&moment->together, stopped, &captured);
        if (thread.is_self) {
            captured.by = SONDE_CAPTURED_SELF;
        }
        sonde__api_stack_copy(&stopped->stack, stack);
        if (each(ctx, &thread, stack, &captured) != 0) {
            return;
        }
    }
}

enum sonde_status sonde__api_threads_snapshot(const struct sonde_capture_options *given,
                                              struct sonde_stack *stack, sonde_thread_each each,
                                              void *ctx, struct sonde_snapshot *ret_snapshot,
                                              const struct sonde__regs *caller)
{
    struct sonde_capture_options options;
    struct moment moment;
    uint64_t begin_ns = sonde__os_now_ns();
    if (!sonde__capture_is_usable(stack) || each == NULL ||
        (ret_snapshot != NULL && !sonde__base_sized_is_set(ret_snapshot)) ||
        !sonde__api_capture_options(given, SONDE_SNAPSHOT_TIMEOUT_NS, &options)) {
        return SONDE_USAGE;
    }
    SONDE_TRY(sonde__target_self_refresh(false));
    SONDE_TRY(open_moment(&moment, stack));
    prepare_threads(&moment, stack, (options.flags & SONDE_CAPTURE_BARE) != 0);
    sonde__api_stop_together(&moment.together);
    capture_caller(&moment, caller, options.skip);
    struct sonde_snapshot sum = sum_up(&moment);
    sum.total_ns = sonde__os_now_ns() - begin_ns;
    deliver(&moment, stack, each, ctx);
    free_moment(&moment);
    if (ret_snapshot != NULL) {
        sonde__base_sized_give(ret_snapshot, &sum, sizeof sum);
    }
    return SONDE_OK;
}
