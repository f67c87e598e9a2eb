// SPDX-License-Identifier: Apache-2.0
/* Captures one thread of another process, and disturbs it as little as possible.
 *
 * blocked   registers from /proc/PID/task/TID/syscall (stack pointer and pc only), the stack by
 *           memory reads, then the same file and the scheduler's counters again. If they have not
 *           changed, the thread did not run in between, and what was read is one state. The thread
 *           is neither signalled nor stopped.
 * running   a perf event: registers and stack at one instant, while the thread runs. Where perf is
 *           refused, ptrace; where that is refused, too, a signal. The thread may enter a wait
 *           between the last check and the stop. Four of 17 kinds of waits then return early (by a
 *           signal: 13), so only a thread that has run for a while is stopped, and calls that ended
 *           early are reported. See target_signal.c.
 * stopped   ptrace: all registers; no call is disturbed that SIGSTOP did not disturb before. */
#include <string.h>

#include "base_status.h"
#include "host_denied.h"
#include "host_pin.h"
#include "host_process.h"
#include "host_ptrace.h"
#include "host_wait.h"
#include "mem_heap.h"
#include "os.h"
#include "os_context.h"
#include "target_process.h"
#include "target_running.h"
#include "unwind_walk.h"

enum {
    ATTEMPTS = 12, /* enough to find a thread at rest that wakes thousands of times a second */
    PTRACE_WAIT_NS = 1000000000,
};

/* --- blocked --- */

struct proof {
    int32_t pid;
    uint64_t tid;
    int32_t syscall_fd, schedstat_fd; /* schedstat: -1: the kernel has none */
    struct sonde__os_wait wait;
    struct sonde__os_schedstat schedstat;
};

static enum sonde_status look(struct proof *proof)
{
    if (proof->schedstat_fd >= 0 &&
        sonde__os_read_schedstat(proof->schedstat_fd, &proof->schedstat, NULL) != SONDE_OK) {
        memset(&proof->schedstat, 0, sizeof proof->schedstat);
    }
    enum sonde_status status = sonde__os_read_wait(proof->syscall_fd, &proof->wait, NULL);
    if (status == SONDE_OK) {
        sonde__host_wait_resumed(proof->pid, proof->tid, &proof->wait);
    }
    return status;
}

static bool unchanged(const struct proof *a, const struct proof *b)
{
    return sonde__os_wait_is_same(&a->wait, &b->wait) &&
           sonde__os_schedstat_is_same(&a->schedstat, &b->schedstat);
}

static bool memory_is_readable(const struct sonde__target_process *p)
{
    char byte;
    for (uint32_t i = 0; i < p->maps.count; i++) {
        if ((p->maps.items[i].flags & SONDE__MAP_READ) != 0) {
            return sonde__os_read_process(p->base.pid, p->maps.items[i].start, &byte, 1, NULL) == 1;
        }
    }
    return false;
}

/* The file with a blocked thread's system call cannot be read. If memory can be read, this is
 * not for lack of permission. */
static enum outcome lacks_wait(struct sonde__target_process *p, uint64_t tid,
                               enum sonde_status status, struct sonde__capture *capture)
{
    if (status == SONDE_ABSENT && sonde__host_thread_ended(p->base.pid, tid)) {
        return AGAIN;
    }
    capture->status = status == SONDE_ABSENT ? SONDE_UNSUPPORTED : status;
    if (status == SONDE_DENIED && !memory_is_readable(p)) {
        return REFUSED;
    }
    char why[160];
    sonde__host_explain_no_wait(p->base.pid, tid, status, why, sizeof why);
    sonde__target_note(capture, "%s", why);
    return REFUSED;
}

static enum outcome walk_blocked(struct sonde__target_process *p, uint64_t tid,
                                 struct proof *before, struct sonde_stack *stack,
                                 struct sonde__capture *capture)
{
    struct proof after;
    struct sonde__regs regs;
    enum sonde_status status = look(before);
    if (status == SONDE_DENIED) {
        return lacks_wait(p, tid, status, capture);
    }
    if (status != SONDE_OK || !sonde__os_wait_is_blocked(&before->wait)) {
        capture->status = status;
        return AGAIN;
    }
    capture->time_ns = sonde__os_now_ns();
    struct sonde__os_call call = sonde__os_wait_call(&before->wait);
    sonde__os_wait_regs(&before->wait, &regs);
    sonde__window_forget(p->window);
    sonde__target_walk(&p->base, &regs, true, sonde__window_read, p->window, stack);
    sonde__target_read_resting(&p->base, tid, stack);
    sonde__target_join_script(&p->base, NULL, stack);
    after = *before;
    status = look(&after);
    capture->by = SONDE__CAPTURED_PASSIVE;
    capture->regs = regs;
    capture->syscall = call.number;
    memcpy(capture->syscall_args, call.args, sizeof capture->syscall_args);
    if (status != SONDE_OK || !unchanged(before, &after)) {
        stack->end = SONDE_END_MOVED;
        capture->status = SONDE_OK;
        return AGAIN;
    }
    capture->status = SONDE_OK;
    return DONE;
}

static enum outcome capture_blocked(struct sonde__target_process *p, uint64_t tid,
                                    struct sonde_stack *stack, struct sonde__capture *capture)
{
    enum sonde_status status = sonde__target_files_wait(&p->files, p->base.pid);
    if (status != SONDE_OK) {
        return status == SONDE_BUSY ? AGAIN : lacks_wait(p, tid, status, capture);
    }
    struct proof proof = {.pid = p->base.pid,
                          .tid = tid,
                          .syscall_fd = p->files.syscall,
                          .schedstat_fd = p->files.schedstat};
    return walk_blocked(p, tid, &proof, stack, capture);
}

/* --- stopped --- */

struct stop {
    struct sonde__target_process *process;
    uint64_t tid;
    struct sonde_stack *stack;
    struct sonde__capture *capture;
    enum sonde_status status;
    bool seized, traced; /* traced: still */
};

/* Runs on the tracer's thread. */
static void stop_and_read(void *ctx)
{
    struct stop *stop = ctx;
    int32_t signal = 0;
    stop->status = sonde__target_seize(stop->process, stop->tid);
    bool strayed = stop->status == SONDE_BUSY;
    stop->seized = stop->traced = stop->status == SONDE_OK || strayed;
    if (stop->status != SONDE_OK) {
        stop->status = strayed ? SONDE_ABSENT : stop->status;
        return;
    }
    uint64_t begin_ns = sonde__os_now_ns();
    stop->status = sonde__host_ptrace_interrupt(stop->tid);
    if (stop->status == SONDE_OK) {
        stop->status = sonde__host_ptrace_wait(stop->tid, PTRACE_WAIT_NS, &signal);
    }
    if (stop->status == SONDE_OK) {
        sonde__target_read_stopped(stop->process, stop->tid, stop->stack, stop->capture);
        stop->traced = !sonde__host_ptrace_detach(stop->tid, signal);
        stop->capture->pause_ns = sonde__os_now_ns() - begin_ns;
    }
}

static enum outcome capture_ptrace(struct sonde__target_process *p, uint64_t tid, bool was_running,
                                   struct sonde_stack *stack, struct sonde__capture *capture)
{
    struct stop stop = {.process = p, .tid = tid, .stack = stack, .capture = capture};
    capture->status = sonde__target_need_tracer(p);
    if (capture->status != SONDE_OK) {
        return REFUSED;
    }
    sonde__host_tracer_run(p->tracer, stop_and_read, &stop);
    if (stop.traced) {
        sonde__target_release(p);
    }
    if (stop.status == SONDE_OK) {
        capture->early = capture->by == SONDE__CAPTURED_PTRACE && was_running &&
                         sonde__target_ended_early(p, &capture->regs);
        return DONE;
    }
    capture->status = stop.status;
    return stop.seized ? (stop.status == SONDE_ABSENT ? AGAIN : REFUSED)
                       : (sonde__host_thread_ended(p->base.pid, tid) ? AGAIN : REFUSED);
}

/* If the probe has no handler yet, ask for one. The probe sets it at the next turn of a loop. */
static enum outcome capture_asked(struct sonde__target_process *p, uint64_t tid,
                                  const struct sonde__host_signal_look *look,
                                  struct sonde_stack *stack, struct sonde__capture *capture)
{
    enum sonde_status status;
    atomic_store(&p->sample_of_probe->wanted, 1);
    status = sonde__target_ask(p, tid, look, stack, capture);
    return status == SONDE_OK ? DONE : status == SONDE_ABSENT ? AGAIN : REFUSED;
}

/* Explain why neither perf nor ptrace may read a running thread. */
static void note_no_way(const struct sonde__target_process *p, uint64_t tid, int32_t perf_error,
                        struct sonde__capture *capture)
{
    char why[sizeof capture->note];
    if (!sonde__host_explain_tracer(tid, why, sizeof why)) {
        sonde__host_explain_denied(p->base.pid, why, sizeof why);
    }
    if (perf_error != 0) {
        sonde__target_note(capture, "perf events are refused (errno %d), and so is ptrace: %s",
                           perf_error, why);
    } else {
        sonde__target_note(capture, "no perf sample came, and ptrace is refused: %s", why);
    }
}

static enum outcome capture_running(struct sonde__target_process *p, uint64_t tid,
                                    struct sonde_stack *stack, struct sonde__capture *capture)
{
    int32_t os_error = 0;
    enum outcome outcome = REFUSED;
    struct sonde__host_signal_look look;
    const char *how = "stopped";
    capture->status = SONDE_DENIED;
    capture->syscall = -1; /* a former attempt found it blocked */
    if ((p->ways & SONDE__TARGET_BY_PERF) != 0) {
        outcome = sonde__target_capture_running(p, tid, stack, capture, &os_error);
    }
    if (outcome != REFUSED) {
        return outcome;
    }
    if ((p->ways & ~(uint32_t)SONDE__TARGET_BY_PERF) == 0) {
        sonde__target_note(capture, p->ways == 0 ? "it runs, and running threads are left alone"
                                                 : "it runs, and no perf sample was to be had");
        return REFUSED;
    }
    switch (sonde__target_runs_on(p, tid, &look)) {
    case SONDE__TARGET_WAITS:
        return AGAIN;
    case SONDE__TARGET_STARVES:
        if ((p->ways & SONDE__TARGET_BY_PTRACE) != 0 || p->sample_of_probe == NULL ||
            sonde__target_may_ask(p, &look, capture)) {
            sonde__target_note(capture, "it could run, and had no CPU");
        }
        return REFUSED;
    case SONDE__TARGET_RUNS:
        break;
    }
    if ((p->ways & SONDE__TARGET_BY_PTRACE) != 0) {
        outcome = capture_ptrace(p, tid, true, stack, capture);
    }
    if (outcome == REFUSED && capture->status == SONDE_TIMEOUT) {
        return outcome; /* the last check is too old: a signal may interrupt a wait */
    }
    if (outcome == REFUSED && (p->ways & SONDE__TARGET_BY_SIGNAL) != 0 &&
        p->sample_of_probe != NULL) {
        how = "asked by a signal";
        outcome = capture_asked(p, tid, &look, stack, capture);
    } else if (outcome == REFUSED && capture->status == SONDE_DENIED) {
        note_no_way(p, tid, os_error, capture);
    }
    if (outcome == DONE && (p->ways & SONDE__TARGET_BY_PERF) != 0) {
        if (os_error != 0) {
            sonde__target_note(capture, "perf events are refused (errno %d), so it was %s",
                               os_error, how);
        } else {
            sonde__target_note(capture, "no perf sample came, so it was %s", how);
        }
    }
    return outcome;
}

/* --- any --- */

static enum outcome capture_once(struct sonde__target_process *p, uint64_t tid, char letter,
                                 struct sonde_stack *stack, struct sonde__capture *capture)
{
    enum outcome outcome;
    switch (letter) {
    case 'R':
        return capture_running(p, tid, stack, capture);
    case 'T':
    case 't':
        outcome = capture_ptrace(p, tid, false, stack, capture);
        /* another tracer has it: read it passively */
        return outcome == REFUSED ? capture_blocked(p, tid, stack, capture) : outcome;
    default:
        return capture_blocked(p, tid, stack, capture);
    }
}

static void note_refused(struct sonde__target_process *p, uint64_t tid,
                         struct sonde__capture *capture)
{
    char why[sizeof capture->note];
    if (capture->note[0] != '\0') {
        return; /* the refusal already has a note */
    }
    if (capture->status == SONDE_TIMEOUT) {
        sonde__target_note(capture,
                           "it did not stop within %u ms (one long call of the kernel, or no CPU) "
                           "and was released",
                           (unsigned)(PTRACE_WAIT_NS / 1000000));
    } else if (capture->status != SONDE_DENIED) {
        sonde__target_note(capture, "it could not be stopped: %s",
                           sonde_status_text(capture->status));
    } else if (sonde__host_explain_tracer(tid, why, sizeof why)) {
        sonde__target_note(capture, "%s", why);
    } else {
        sonde__host_explain_denied(p->base.pid, why, sizeof why);
        sonde__target_note(capture, "%s", why);
    }
}

static void note_dead(struct sonde__capture *capture, bool zombie)
{
    capture->status = SONDE_ABSENT;
    sonde__target_note(capture, zombie ? "the thread has ended, the process has not (zombie)"
                                       : "the thread has ended");
}

/* A look-up of the thread has just read it. */
static enum sonde_status first_state(struct sonde__target_process *p, uint64_t tid,
                                     struct sonde__host_thread *ret_now)
{
    if (p->files.is_fresh && p->files.tid == tid) {
        p->files.is_fresh = false;
        *ret_now = p->files.now;
        return SONDE_OK;
    }
    return sonde__target_process_state(p, tid, ret_now);
}

void sonde__target_process_capture(struct sonde__target *target, const struct sonde__thread *thread,
                                   struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    struct sonde__host_thread now = {.letter = '?'};
    if (p->is_stopped && sonde__target_capture_halted(p, thread->tid, stack, ret_capture)) {
        return;
    }
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        enum sonde_status status = i == 0 ? first_state(p, thread->tid, &now)
                                          : sonde__target_process_state(p, thread->tid, &now);
        enum outcome outcome;
        if (p->is_stopped && now.letter == 't' &&
            sonde__target_capture_halted(p, thread->tid, stack, ret_capture)) {
            return; /* a late one that has stopped by now */
        }
        if (status != SONDE_OK || now.letter == 'Z' || now.letter == 'X') {
            sonde__stack_reset(stack);
            note_dead(ret_capture, status == SONDE_OK);
            return;
        }
        ret_capture->time_ns = 0;
        outcome = capture_once(p, thread->tid, now.letter, stack, ret_capture);
        if (outcome == REFUSED) {
            note_refused(p, thread->tid, ret_capture);
            return;
        }
        bool is_proven = ret_capture->by == SONDE__CAPTURED_PASSIVE; /* by its own files */
        if (outcome == DONE && (is_proven || sonde__host_identity_holds(&p->process))) {
            if (ret_capture->by != SONDE__CAPTURED_PTRACE) {
                ret_capture->letter = now.letter;
            }
            if (now.letter == 'D') {
                sonde__target_note(ret_capture, "in an uninterruptible wait of the kernel (D)");
            }
            return;
        }
        ret_capture->note[0] = '\0';
    }
    ret_capture->status = SONDE_OK;
    stack->end = SONDE_END_MOVED;
    sonde__target_note(ret_capture, "it ran each of %d times that it was read", (int)ATTEMPTS);
}
