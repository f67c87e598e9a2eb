// SPDX-License-Identifier: Apache-2.0
/* Mode STOP: halts all threads together, for one consistent snapshot.
 *
 * All threads are seized and interrupted before the first wait. A running thread may start new
 * ones meanwhile, so the list is read until it has no unknown thread; a halted thread starts
 * none, so this ends. A thread in an uninterruptible wait (a disk, a vfork parent) stops only
 * when that ends: it is not waited for, but read passively. The end of the tracer's thread
 * releases all at once, including late ones and those that have exited. */
#include "base_status.h"
#include "host_denied.h"
#include "host_process.h"
#include "host_ptrace.h"
#include "mem_heap.h"
#include "os.h"
#include "target_process.h"

enum {
    ROUNDS_MAX = 64, /* a process that outruns this starts threads faster than they can be listed */
    HALT_WAIT_NS = 500000000,
    HALT_LOOK_FIRST_NS = 20000,
    HALT_LOOK_MAX_NS = 1000000,
    /* Longer than most disk waits; a thread that still waits will not stop soon. */
    DISK_WAIT_NS = 20000000,
};

static bool is_known(const struct sonde__target_process *p, uint64_t tid)
{
    for (uint32_t i = 0; i < p->stopped_count; i++) {
        if (p->stopped[i].tid == tid) {
            return true;
        }
    }
    return false;
}

static enum sonde_status seize(struct sonde__target_process *p, uint64_t tid,
                               struct sonde_error *ret_error)
{
    char why[160];
    enum sonde_status status;
    status = sonde__target_seize(p, tid);
    p->strayed = status == SONDE_BUSY;
    if (p->strayed || (status != SONDE_OK && sonde__host_thread_ended(p->base.pid, tid))) {
        return SONDE_OK; /* ended meanwhile; for a moment the refusal is EPERM */
    }
    if (status == SONDE_DENIED && sonde__host_explain_tracer(tid, why, sizeof why)) {
        return sonde__base_fail(ret_error, SONDE_BUSY, "cannot stop the threads", why, 0,
                                (uint64_t)tid);
    }
    if (status == SONDE_DENIED) {
        sonde__host_explain_denied(p->base.pid, why, sizeof why);
        return sonde__base_fail(ret_error, status, "cannot stop the threads", why, 0,
                                (uint64_t)tid);
    }
    if (status != SONDE_OK) {
        return sonde__base_fail(ret_error, status, "cannot stop the threads",
                                sonde_status_text(status), 0, (uint64_t)tid);
    }
    p->stopped[p->stopped_count++] = (struct sonde__target_stopped){.tid = tid};
    status = sonde__host_ptrace_interrupt(tid);
    if (status == SONDE_OK || status == SONDE_ABSENT) {
        return SONDE_OK; /* ended: the wait notices */
    }
    return sonde__base_fail(ret_error, status, "cannot stop the threads", sonde_status_text(status),
                            0, (uint64_t)tid);
}

/* Is the thread in an uninterruptible wait, or a main thread that ended before the others? */
static bool stays_away(const struct sonde__target_process *p, uint64_t tid)
{
    struct sonde__host_thread now;
    return sonde__host_thread_read(p->base.pid, tid, &now) == SONDE_OK &&
           (now.letter == 'D' || now.letter == 'Z');
}

/* Check once. False: it may still stop. */
static bool has_settled(struct sonde__target_process *p, struct sonde__target_stopped *thread,
                        uint64_t waited_ns)
{
    int32_t signal; /* the kernel keeps it */
    enum sonde_status status = sonde__host_ptrace_wait(thread->tid, 0, &signal);
    thread->halted = status == SONDE_OK;
    return status != SONDE_TIMEOUT || waited_ns >= HALT_WAIT_NS ||
           (waited_ns >= DISK_WAIT_NS && stays_away(p, thread->tid));
}

/* Check all in turns until each has stopped, has ended, or will not stop soon. Sleep between the
 * turns, not for each thread: they stop together, on the CPUs that we leave to them. */
static void await_halts(struct sonde__target_process *p, uint32_t first)
{
    uint64_t begin_ns = sonde__os_now_ns(), pause_ns = HALT_LOOK_FIRST_NS;
    uint32_t settled = first;
    for (;;) {
        uint64_t waited_ns = sonde__os_now_ns() - begin_ns;
        for (uint32_t i = settled; i < p->stopped_count; i++) {
            if (has_settled(p, &p->stopped[i], waited_ns)) { /* move it to the front */
                struct sonde__target_stopped thread = p->stopped[i];
                p->stopped[i] = p->stopped[settled];
                p->stopped[settled++] = thread;
            }
        }
        if (settled == p->stopped_count) {
            return;
        }
        sonde__host_sleep(pause_ns);
        pause_ns = pause_ns * 2 < HALT_LOOK_MAX_NS ? pause_ns * 2 : HALT_LOOK_MAX_NS;
    }
}

struct round {
    struct sonde__target_process *process;
    const uint64_t *tids;
    size_t count;
    enum sonde_status status;
    struct sonde_error *ret_error;
};

/* Runs on the tracer's thread. */
static void seize_and_await(void *ctx)
{
    struct round *round = ctx;
    struct sonde__target_process *p = round->process;
    uint32_t first = p->stopped_count;
    for (size_t i = 0; round->status == SONDE_OK && !p->strayed && i < round->count; i++) {
        if (!is_known(p, round->tids[i])) {
            round->status = seize(p, round->tids[i], round->ret_error);
        }
    }
    if (round->status == SONDE_OK && !p->strayed) {
        await_halts(p, first);
    }
}

static bool reserve(struct sonde__target_process *p, size_t more)
{
    struct sonde__target_stopped *stopped =
        sonde__mem_resize_array(p->stopped, p->stopped_count + more + 1, sizeof *stopped);
    if (stopped == NULL) {
        return false;
    }
    p->stopped = stopped;
    return true;
}

/* One round: seize new threads, then wait for them. Reads only tids: states and names would
 * lengthen the pause several times. *ret_new: how many were new. */
static enum sonde_status stop_round(struct sonde__target_process *p, uint32_t *ret_new,
                                    struct sonde_error *ret_error)
{
    uint64_t *tids = NULL;
    struct round round = {.process = p, .ret_error = ret_error};
    uint32_t first = p->stopped_count;
    SONDE_TRY(sonde__host_tids_read(p->base.pid, &tids, &round.count, ret_error));
    if (!sonde__host_identity_holds(&p->process)) {
        sonde__mem_free(tids);
        return sonde__base_fail(ret_error, SONDE_ABSENT, "the process has ended", NULL, 0,
                                (uint64_t)p->base.pid);
    }
    round.tids = tids;
    /* not on the tracer's thread, for which libc would set up a heap */
    if (reserve(p, round.count)) {
        sonde__host_tracer_run(p->tracer, seize_and_await, &round);
    } else {
        round.status = sonde__base_fail(ret_error, SONDE_MEMORY, "threads", NULL, 0, 0);
    }
    sonde__mem_free(tids);
    *ret_new = p->stopped_count - first;
    return round.status;
}

enum sonde_status sonde__target_seize(const struct sonde__target_process *p, uint64_t tid)
{
    enum sonde_status status = sonde__host_ptrace_seize(p->base.pid, tid, NULL);
    return status == SONDE_OK && !sonde__host_identity_holds(&p->process) ? SONDE_BUSY : status;
}

enum sonde_status sonde__target_need_tracer(struct sonde__target_process *p)
{
    return p->tracer != NULL ? SONDE_OK : sonde__host_tracer_start(&p->tracer);
}

void sonde__target_release(struct sonde__target_process *p)
{
    sonde__host_tracer_end(p->tracer);
    p->tracer = NULL;
}

static enum sonde_status start_tracer(struct sonde__target_process *p,
                                      struct sonde_error *ret_error)
{
    enum sonde_status status = sonde__target_need_tracer(p);
    return status == SONDE_OK ? SONDE_OK
                              : sonde__base_fail(ret_error, status, "cannot stop the threads",
                                                 "a thread of our own could not be started", 0, 0);
}

/* Another process' thread is seized. Only the end of the tracer's thread releases it undisturbed,
 * and it releases all. */
static enum sonde_status start_over(struct sonde__target_process *p, struct sonde_error *ret_error)
{
    sonde__target_release(p);
    p->stopped_count = 0;
    p->strayed = false;
    return start_tracer(p, ret_error);
}

enum sonde_status sonde__target_process_stop(struct sonde__target *target,
                                             struct sonde_error *ret_error)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    uint64_t pause_ns;
    if (p->is_stopped) {
        return sonde__base_fail(ret_error, SONDE_BUSY, "already stopped", NULL, 0, 0);
    }
    SONDE_TRY(start_tracer(p, ret_error));
    p->is_stopped = true;
    p->stopped_at_ns = sonde__os_now_ns();
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        uint32_t fresh = 0;
        enum sonde_status status = stop_round(p, &fresh, ret_error);
        bool over_again = status == SONDE_OK && p->strayed;
        status = over_again ? start_over(p, ret_error) : status;
        if (status != SONDE_OK) {
            sonde__target_process_resume(target, &pause_ns);
            return status;
        }
        if (fresh == 0 && !over_again) {
            return SONDE_OK;
        }
    }
    sonde__target_process_resume(target, &pause_ns);
    return sonde__base_fail(ret_error, SONDE_LIMIT, "the process keeps starting threads", NULL, 0,
                            0);
}

void sonde__target_process_resume(struct sonde__target *target, uint64_t *ret_pause_ns)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    sonde__target_release(p);
    *ret_pause_ns = p->is_stopped ? sonde__os_now_ns() - p->stopped_at_ns : 0;
    p->stopped_count = 0;
    p->is_stopped = false;
}

struct look {
    struct sonde__target_process *process;
    uint64_t tid;
    struct sonde_stack *stack;
    struct sonde__capture *capture;
    bool done;
};

/* Runs on the tracer's thread. */
static void read_halted(void *ctx)
{
    struct look *look = ctx;
    struct sonde__target_process *p = look->process;
    for (uint32_t i = 0; i < p->stopped_count; i++) {
        struct sonde__target_stopped *thread = &p->stopped[i];
        if (thread->tid == look->tid) {
            if (!thread->halted) {
                (void)has_settled(p, thread, 0); /* a late one may have stopped by now */
            }
            look->done = thread->halted;
        }
    }
    if (look->done) {
        sonde__target_read_stopped(p, look->tid, look->stack, look->capture);
    }
}

bool sonde__target_capture_halted(struct sonde__target_process *p, uint64_t tid,
                                  struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    struct look look = {p, tid, stack, ret_capture, false};
    sonde__host_tracer_run(p->tracer, read_halted, &look);
    return look.done;
}
