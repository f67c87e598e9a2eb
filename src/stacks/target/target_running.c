// SPDX-License-Identifier: Apache-2.0
#include "target_running.h"

#include "base_status.h"
#include "host_pin.h"
#include "host_process.h"
#include "host_wait.h"
#include "mem_heap.h"
#include "os.h"

enum {
    PERF_PERIOD_NS = 200000,
    PERF_SLICE_NS = 10000000,
    PERF_WAIT_NS = 300000000, /* a runnable thread gets a CPU by then, even on a busy machine */
};

static bool still_running(struct sonde__target_process *p, uint64_t tid)
{
    struct sonde__host_thread now;
    return sonde__target_process_state(p, tid, &now) == SONDE_OK && now.letter == 'R';
}

/* Wait for a sample while the thread runs. We may be on its processor, so the first look at its
 * state comes after a time in which any running thread is sampled. */
static enum outcome await_sample(struct sonde__target_process *p, uint64_t tid,
                                 struct sonde__host_perf *perf)
{
    uint64_t begin_ns = sonde__os_now_ns();
    for (bool is_late = false; !sonde__host_perf_has_sample(perf); is_late = true) {
        if (sonde__os_now_ns() - begin_ns > PERF_WAIT_NS) {
            return REFUSED; /* it runs in the kernel, or gets no CPU */
        }
        if (is_late && !still_running(p, tid)) {
            return AGAIN;
        }
        if (sonde__host_wait_readable(perf->fd, PERF_SLICE_NS) == SONDE_OS) {
            return REFUSED;
        }
    }
    return DONE;
}

void sonde__target_process_rest(struct sonde__target *target)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    if (p->perf_tid != 0) {
        sonde__host_perf_close(&p->perf);
        p->perf_tid = 0;
        p->expects = false;
    }
}

void sonde__target_process_pause(struct sonde__target *target)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    if (p->perf_tid != 0) {
        sonde__host_perf_pause(&p->perf, true);
        p->expects = false;
    }
}

/* Keep the event open, paused between two samples: it costs half a millisecond to open. */
static enum sonde_status start_event(struct sonde__target_process *p, uint64_t tid,
                                     int32_t *ret_os_error)
{
    if (p->perf_tid == tid) {
        return SONDE_OK;
    }
    sonde__target_process_rest(&p->base);
    SONDE_TRY(sonde__host_perf_open(p->base.pid, tid, PERF_PERIOD_NS, &p->perf, ret_os_error));
    p->perf_tid = tid;
    return SONDE_OK;
}

static bool has_room(struct sonde__target_process *p)
{
    p->sample = p->sample != NULL ? p->sample : sonde__mem_alloc(sizeof *p->sample);
    return p->sample != NULL;
}

/* Walk the stack of the sample that was taken. */
static void walk_sample(struct sonde__target_process *p, struct sonde_stack *stack,
                        struct sonde__capture *capture)
{
    capture->status = SONDE_OK;
    capture->by = SONDE__CAPTURED_PERF;
    capture->regs = p->sample->regs;
    capture->time_ns = p->sample->time_ns;
    sonde__target_walk_copy(p, p->sample->stack, p->sample->stack_address, p->sample->stack_size,
                            stack, capture);
}

/* A sample of a running thread. */
struct taking {
    uint64_t tid;
    bool script;               /* its script frames are read, too */
    struct sonde_stack *stack; /* room for a walk */
    enum { SEEN, SEEN_TORN, SEEN_BETWEEN } seen;
};

static struct sonde__runtime_moment moment_of(const struct sonde__host_perf_sample *sample)
{
    return (struct sonde__runtime_moment){
        .regs = &sample->regs,
        .stack = sample->stack,
        .address = sample->stack_address,
        .size = sample->stack_size,
        .is_cut = sample->stack_size == sizeof sample->stack,
    };
}

/* Read functions that are found by the native stack. Its frame pointers are the shortest way.
 * Native code without them (OpenSSL's) hides the functions that called it: then the stack is
 * walked. */
static void read_by_sample(struct sonde__target_process *p, struct taking *t)
{
    const struct sonde__runtime_moment moment = moment_of(p->sample);
    struct sonde__capture capture = {.syscall = -1};
    sonde__target_read_sampled(&p->base, t->tid, &moment);
    if (sonde__target_script(&p->base)->script.state == SONDE__SCRIPT_NONE) {
        walk_sample(p, t->stack, &capture);
        sonde__target_read_script(&p->base, t->tid, t->stack);
    }
}

/* Read the script frames of the thread, which waits for the processor that we are on. */
static void read_waiting(struct sonde__target_process *p, struct taking *t)
{
    uint64_t off = sonde__host_perf_off(&p->perf);
    if (p->base.scripts.runtime != NULL && sonde__runtime_is_by_stack(p->base.scripts.runtime) &&
        sonde__host_perf_peek_sample(&p->perf, p->sample)) {
        read_by_sample(p, t);
    } else {
        sonde__target_read_script(&p->base, t->tid, NULL);
        if (sonde__target_script(&p->base)->script.state == SONDE__SCRIPT_NONE &&
            sonde__target_has_script(&p->base) &&
            sonde__host_perf_peek_sample(&p->perf, p->sample)) {
            const struct sonde__runtime_moment moment = moment_of(p->sample);
            sonde__target_read_sampled(&p->base, t->tid, &moment);
        }
    }
    bool rested = off != 0 && sonde__host_perf_off(&p->perf) == off;
    bool fits = sonde__target_script(&p->base)->script.state != SONDE__SCRIPT_DAMAGED;
    t->seen = !rested ? SEEN_TORN : fits ? SEEN : SEEN_BETWEEN;
}

/* Take one sample. With a script, our thread waits on the CPU of the sampled thread: it gets the
 * CPU when the sample is taken, and the sampled thread cannot run until we have read its frames
 * and leave. All that can be done later, as copying the sample, is. The event shows whether that
 * held: on a busy machine the thread may have moved to another CPU. Frames that do not fit together
 * come from a call that was just being made. */
static enum outcome take_sample(struct sonde__target_process *p, struct taking *t)
{
    struct sonde__host_pin pin = {.bytes = 0};
    struct sonde__host_thread now;
    if (t->script && sonde__target_process_state(p, t->tid, &now) == SONDE_OK) {
        (void)sonde__host_pin(&pin, now.processor);
    }
    p->expects = false;
    t->seen = SEEN;
    if (t->script) { /* the event goes on after the sample, to show whether the thread does */
        sonde__host_perf_restart(&p->perf);
    } else {
        sonde__host_perf_times(&p->perf, PERF_PERIOD_NS, 1);
    }
    enum outcome outcome = await_sample(p, t->tid, &p->perf);
    if (outcome == DONE && t->script) {
        read_waiting(p, t);
        sonde__host_perf_pause(&p->perf, true);
    }
    sonde__host_unpin(&pin);
    if (outcome == DONE && !sonde__host_perf_next(&p->perf, p->sample)) {
        return AGAIN; /* without registers: the thread ends */
    }
    return outcome;
}

/* Within a return, Python 3.12 and later have the caller's next instruction in no register yet, so
 * the sample does not show that the frames are its own. Most often another one does. */
static bool script_agrees(struct sonde__target_process *p)
{
    const struct sonde__runtime_moment moment = moment_of(p->sample);
    return sonde__target_script_agrees(&p->base, &moment);
}

enum outcome sonde__target_capture_running(struct sonde__target_process *p, uint64_t tid,
                                           struct sonde_stack *stack,
                                           struct sonde__capture *capture, int32_t *ret_os_error)
{
    enum { SAMPLES = 4, DISAGREE_MAX = 2 };
    enum outcome outcome = DONE;
    unsigned disagreed = 0;
    struct taking t = {.tid = tid,
                       .script = sonde__target_has_script(&p->base),
                       .stack = stack,
                       .seen = SEEN_TORN};
    *ret_os_error = 0;
    if (!has_room(p)) {
        return REFUSED;
    }
    if (start_event(p, tid, ret_os_error) != SONDE_OK) {
        return REFUSED;
    }
    for (unsigned i = 0; i < SAMPLES && outcome == DONE && t.seen != SEEN; i++) {
        outcome = take_sample(p, &t);
        if (outcome == DONE && t.seen == SEEN && disagreed < DISAGREE_MAX && !script_agrees(p)) {
            t.seen = SEEN_BETWEEN;
            disagreed++;
        }
    }
    if (outcome == REFUSED) {
        sonde__target_process_rest(&p->base); /* it may be of an earlier thread with this tid */
        return outcome;
    }
    if (outcome == AGAIN) {
        sonde__target_process_pause(&p->base);
        return outcome;
    }
    walk_sample(p, stack, capture);
    const struct sonde__runtime_moment moment = moment_of(p->sample);
    if (t.seen == SEEN_TORN) {
        sonde__target_tear_script(&p->base);
    }
    sonde__target_join_script(&p->base, &moment, stack);
    return DONE;
}

void sonde__target_process_expect(struct sonde__target *target, uint64_t tid, uint64_t after_ns,
                                  uint32_t count)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    if ((p->ways & SONDE__TARGET_BY_PERF) == 0 ||
        (p->expects && p->perf_tid == tid && p->after_ns == after_ns &&
         sonde__host_perf_awaits(&p->perf)) ||
        start_event(p, tid, NULL) != SONDE_OK) {
        return;
    }
    sonde__host_perf_times(&p->perf, after_ns, count);
    p->after_ns = after_ns;
    p->expects = true;
}

bool sonde__target_process_met(struct sonde__target *target, uint64_t tid,
                               struct sonde_stack *stack, struct sonde__capture *ret_capture)
{
    struct sonde__target_process *p = (struct sonde__target_process *)target;
    if (!p->expects || p->perf_tid != tid || !sonde__host_perf_has_sample(&p->perf) ||
        !has_room(p) || !sonde__host_perf_next(&p->perf, p->sample)) {
        return false;
    }
    p->expects = p->perf.left > 0; /* the next one comes by itself */
    *ret_capture = (struct sonde__capture){.syscall = -1, .letter = 'R'};
    target->scripts.last = (struct sonde__target_script){0};
    walk_sample(p, stack, ret_capture);
    sonde__target_read_script(target, tid, NULL); /* does it run any? */
    sonde__target_tear_script(target);
    return true;
}
