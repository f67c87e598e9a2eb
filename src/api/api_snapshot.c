// SPDX-License-Identifier: Apache-2.0
/* The public half of snapshots: who may take one, and the result for each thread.
 *
 * The lock is only tried. While threads may be parked, the calling thread blocks all signals: a
 * handler of the program could leave by longjmp or wait for a parked thread. */
#include <pthread.h>
#include <signal.h>

#include "api_thread.h"
#include "base_mem.h"
#include "base_sized.h"
#include "base_status.h"
#include "base_text.h"
#include "capture_park.h"
#include "capture_snapshot.h"
#include "capture_thread.h"
#include "capture_walk.h"
#include "os.h"
#include "target_self.h"

enum {
    FILES_LOW = 64, /* files that a snapshot may have open, even if fewer are kept */
    /* frames of the calling thread searched for a signal frame, and the step */
    HANDLER_FRAMES = 4096,
    HANDLER_BLOCK = 128,
};

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sonde__roster roster; /* guarded by mutex */

/* The open files belong to the parent's threads. */
static void after_fork_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    sonde__capture_roster_done(&roster);
    sonde__capture_park_forget();
    sonde__api_signal_after_fork();
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_child);
}

/* Is there a signal frame among the caller's frames? Safe in a handler. */
static bool is_in_handler(const struct sonde__regs *caller)
{
    uint64_t pcs[HANDLER_BLOCK];
    uint8_t how[HANDLER_BLOCK];
    struct sonde_stack stack;
    for (uint32_t skip = 0; skip < HANDLER_FRAMES; skip += HANDLER_BLOCK) {
        sonde_stack_init(&stack, pcs, how, HANDLER_BLOCK, 0);
        sonde__capture_walk(&stack, caller, false, skip, SONDE__CAPTURE_OWN);
        for (uint32_t i = 0; i < stack.count; i++) {
            if ((how[i] & SONDE_HOW_SIGNAL) != 0) {
                return true;
            }
        }
        if (stack.end != SONDE_END_DEPTH) {
            break;
        }
    }
    return false;
}

/* --- delivery --- */

static void describe_capture(const struct sonde__roster_thread *thread,
                             struct sonde_captured *captured)
{
    sonde__base_mem_set(captured, 0, sizeof *captured);
    captured->struct_bytes = sizeof *captured;
    captured->syscall = -1;
    switch (thread->phase) {
    case SONDE__ROSTER_READ:
        captured->by = SONDE_CAPTURED_PASSIVE;
        captured->syscall = thread->call.number;
        sonde__base_mem_copy(captured->syscall_args, thread->call.args,
                             sizeof captured->syscall_args);
        break;
    case SONDE__ROSTER_PARKED:
        captured->by = SONDE_CAPTURED_SIGNAL;
        break;
    case SONDE__ROSTER_SELF:
        captured->by = SONDE_CAPTURED_SELF;
        break;
    default:
        captured->status = (enum sonde_status)thread->status;
        if (thread->note != NULL) {
            struct sonde__text note;
            sonde__base_text_init(&note, captured->note, sizeof captured->note);
            sonde__base_text_str(&note, thread->note);
        }
    }
}

/* The state is as of the snapshot. */
static void describe_thread(const struct sonde__roster_thread *known, bool is_bare, uint64_t main,
                            struct sonde_thread *thread)
{
    bool is_blocked = known->phase == SONDE__ROSTER_READ;
    bool ran = known->phase == SONDE__ROSTER_PARKED || known->phase == SONDE__ROSTER_SELF;
    sonde__base_mem_set(thread, 0, sizeof *thread);
    thread->struct_bytes = sizeof *thread;
    thread->letter = '?';
    thread->state = SONDE_THREAD_UNKNOWN;
    const struct sonde__os_stop of = {.tid = known->tid};
    if (!is_bare && sonde__api_thread_describe(&of, thread) != SONDE_OK) {
        is_bare = true; /* it has ended */
    }
    thread->tid = known->tid;
    thread->is_main = known->tid == main;
    thread->is_self = known->phase == SONDE__ROSTER_SELF;
    if (ran) {
        thread->letter = 'R';
        thread->state = SONDE_THREAD_RUNNING;
    } else if (is_blocked && (is_bare || thread->state == SONDE_THREAD_RUNNING)) {
        thread->letter = 'S';
        thread->state = SONDE_THREAD_BLOCKED;
    }
}

static void deliver_locked(bool is_bare, struct sonde_stack *stack, sonde_thread_each each,
                           void *ctx)
{
    uint64_t main = sonde__os_main_tid();
    for (uint32_t i = 0; i < roster.count; i++) {
        const struct sonde__roster_thread *known = &roster.threads[i];
        struct sonde_captured captured;
        struct sonde_thread thread;
        if (known->phase == SONDE__ROSTER_GONE) {
            continue;
        }
        describe_thread(known, is_bare, main, &thread);
        describe_capture(known, &captured);
        sonde__api_stack_copy(&known->stack, stack);
        if (each(ctx, &thread, stack, &captured) != 0) {
            return;
        }
    }
}

static struct sonde_snapshot sum_up_locked(const struct sonde__snapshot *snapshot,
                                           uint64_t total_ns)
{
    struct sonde_snapshot sum = {.stop_ns = snapshot->stop_ns,
                                 .total_ns = total_ns,
                                 .unchanged = snapshot->unchanged,
                                 .consistent = snapshot->is_consistent};
    for (uint32_t i = 0; i < roster.count; i++) {
        uint8_t phase = roster.threads[i].phase;
        sum.held += phase == SONDE__ROSTER_PARKED;
        sum.unread += phase == SONDE__ROSTER_FAILED;
        sum.threads += phase == SONDE__ROSTER_PARKED || phase == SONDE__ROSTER_READ ||
                       phase == SONDE__ROSTER_SELF;
    }
    return sum;
}

static bool has_unanswered_locked(void)
{
    for (uint32_t i = 0; i < roster.count; i++) {
        if (roster.threads[i].is_unanswered) {
            return true;
        }
    }
    return false;
}

/* --- taking --- */

struct take {
    struct sonde__snapshot *snapshot;
    enum sonde_status status;
};

/* The loader's lock is taken before any thread is parked, so no parked thread holds it. Threads
 * that wait for it are blocked, and are read as such. */
static void take_with_images(void *ctx)
{
    struct take *take = ctx;
    take->status = sonde__capture_snapshot(take->snapshot);
}

static enum sonde_status take_locked(const struct sonde_capture_options *options,
                                     const struct sonde_stack *stack,
                                     const struct sonde__regs *caller,
                                     struct sonde__snapshot *snapshot)
{
    sigset_t all, before;
    struct take take = {.status = SONDE_UNSUPPORTED};
    enum sonde_status status;
    *snapshot = (struct sonde__snapshot){
        .roster = &roster,
        .caller = caller,
        .skip = options->skip,
        .may_signal = (options->flags & SONDE_CAPTURE_PASSIVE_ONLY) == 0,
        .signal = SONDE__API_SIGNAL,
        .timeout_ns = options->timeout_ns,
        .set_handler = sonde__api_signal_set,
    };
    roster.files_max = options->files_kept > FILES_LOW ? options->files_kept : FILES_LOW;
    SONDE_TRY(sonde__capture_passive_check());
    SONDE_TRY(sonde__capture_roster_prepare(&roster, stack));
    SONDE_TRY(sonde__api_signal_begin(options->timeout_ns));
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    take.snapshot = snapshot;
    sonde__target_self_hold_images(take_with_images, &take);
    status = take.status;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sonde__api_signal_end(snapshot->is_handler_set, has_unanswered_locked());
    return status;
}

static enum sonde_status snapshot_locked(const struct sonde_capture_options *options,
                                         struct sonde_stack *stack, sonde_thread_each each,
                                         void *ctx, struct sonde_snapshot *ret_snapshot,
                                         const struct sonde__regs *caller)
{
    struct sonde__snapshot snapshot;
    uint64_t begin_ns = sonde__os_now_ns();
    enum sonde_status status = take_locked(options, stack, caller, &snapshot);
    if (status == SONDE_OK) {
        struct sonde_snapshot sum = sum_up_locked(&snapshot, sonde__os_now_ns() - begin_ns);
        deliver_locked((options->flags & SONDE_CAPTURE_BARE) != 0, stack, each, ctx);
        if (ret_snapshot != NULL) {
            sonde__base_sized_give(ret_snapshot, &sum, sizeof sum);
        }
    }
    if (options->files_kept == 0) {
        sonde__capture_roster_done(&roster);
    } else {
        sonde__capture_roster_close(&roster, options->files_kept);
    }
    return status;
}

enum sonde_status sonde__api_threads_snapshot(const struct sonde_capture_options *given,
                                              struct sonde_stack *stack, sonde_thread_each each,
                                              void *ctx, struct sonde_snapshot *ret_snapshot,
                                              const struct sonde__regs *caller)
{
    struct sonde_capture_options options;
    enum sonde_status status;
    if (!sonde__capture_is_usable(stack) || each == NULL ||
        (ret_snapshot != NULL && !sonde__base_sized_is_set(ret_snapshot)) ||
        !sonde__api_capture_options(given, SONDE_SNAPSHOT_TIMEOUT_NS, &options) ||
        is_in_handler(caller)) {
        return SONDE_USAGE;
    }
    if (pthread_mutex_trylock(&mutex) != 0) {
        return SONDE_BUSY;
    }
    pthread_once(&fork_once, watch_forks);
    status = sonde__target_self_refresh(false);
    if (status == SONDE_OK) {
        status = snapshot_locked(&options, stack, each, ctx, ret_snapshot, caller);
    }
    pthread_mutex_unlock(&mutex);
    return status;
}
