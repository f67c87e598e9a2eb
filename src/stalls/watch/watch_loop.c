// SPDX-License-Identifier: Apache-2.0
#include "watch_loop.h"

#include <stdio.h>
#include <string.h>

#include "host_clock.h"
#include "host_run.h"

#define MS 1000000ull
/* The pause after a failed attempt to open the program. */
#define SAMPLER_RETRY_NS (1000 * MS)
/* Without a turn for this long, during this many other waits, a loop is given up for another. */
#define ABANDON_NS    (30000 * MS)
#define ABANDON_WAITS 32u

bool sonde__watch_open_sampler(struct sonde__watch_session *s, uint64_t now_ns)
{
    struct sonde_error error = {0};
    if (s->sampler != NULL) {
        return true;
    }
    if (now_ns < s->sampler_retry_ns) {
        return false;
    }
    static const uint32_t ways[] = {
        [SONDE__WATCH_SAMPLER_PERF] = SONDE__TARGET_BY_PERF,
        [SONDE__WATCH_SAMPLER_PTRACE] = SONDE__TARGET_BY_PTRACE,
        [SONDE__WATCH_SAMPLER_SIGNAL] = SONDE__TARGET_BY_SIGNAL,
        [SONDE__WATCH_SAMPLER_NONE] = 0,
    };
    const struct sonde__target_options options = {
        .mode = SONDE__TARGET_PASSIVE,
        .restricted = s->options.sampler != SONDE__WATCH_SAMPLER_AUTO,
        .ways = ways[s->options.sampler],
        .sample = &s->page->sample,
    };
    if (sonde__watch_sampler_open(s->pid, &options, s->options.symbols, &s->sampler, &error) ==
        SONDE_OK) {
        return true;
    }
    s->sampler = NULL;
    s->sampler_retry_ns = now_ns + SAMPLER_RETRY_NS;
    if (!s->sampler_said) {
        s->sampler_said = true;
        sonde__watch_say(s->output, "stacks cannot be read: %s", error.what);
    }
    return false;
}

/* From here on the probe records the end of the turn, which no tick may observe. */
static void begin_sampling(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                           uint64_t now_ns)
{
    struct sonde__probe_slot *slot = loop->slot;
    struct sonde__watch_stall *stall = &loop->stall;
    sonde__watch_stall_done(stall);
    stall->begin_cpu_ns = sonde__host_cpu_ns();
    (void)sonde__host_look_thread(s->pid, loop->tid, &stall->begin);
    loop->turns = atomic_load(&slot->turns);
    loop->nested = atomic_load(&slot->nested);
    loop->loop_changes = slot->loop_changes;
    atomic_store(&slot->ended_ns, 0);
    atomic_store(&slot->stamp, 1);
    if (sonde__watch_open_sampler(s, now_ns)) {
        sonde__watch_sampler_refresh(s->sampler);
    }
}

/* Is it still in the turn that is being sampled? A sample of the loop's own wait is never kept. */
static bool is_still_busy(const struct sonde__watch_loop *loop)
{
    return atomic_load(&loop->slot->beat) ==
           sonde__probe_beat(loop->decision.since_ns, SONDE__PROBE_BUSY);
}

static void take_sample(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__sample sample;
    if (s->sampler == NULL || !sonde__watch_take(s->sampler, loop->tid, &sample)) {
        return;
    }
    if (!is_still_busy(loop)) {
        sonde__sample_done(&sample);
        return;
    }
    sonde__watch_stall_add(&loop->stall, &sample, loop->decision.counted_ns);
}

static void begin_stall(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    atomic_store(&s->page->unfinished, 1);
    if (s->options.verbose) {
        sonde__watch_say(s->output, "thread %u has not been back in its loop for %llu ms",
                         (unsigned)loop->tid, (unsigned long long)(loop->decision.counted_ns / MS));
    }
    if (s->sampler != NULL) {
        sonde__watch_stall_add_threads(&loop->stall, s->sampler, loop->tid);
    }
}

/* Why a stall has no stack; why one lacks samples, each reason once per watch. */
static void say_unread(struct sonde__watch_session *s, const struct sonde__watch_stall *stall)
{
    const char *note = NULL;
    bool seen = false;
    for (uint32_t n = 0; n < stall->count; n++) {
        const struct sonde__sample *sample = &stall->samples[n].sample;
        const char *why = sample->capture.note;
        seen = seen || sample->stack.count > 0;
        note = sample->stack.count == 0 && why[0] != '\0' ? why : note;
    }
    if (note != NULL && !seen) {
        sonde__watch_say(s->output, "stacks cannot be read: %s", note);
    } else if (note != NULL && strcmp(note, s->unread) != 0) {
        snprintf(s->unread, sizeof s->unread, "%s", note);
        sonde__watch_say(s->output, "a part of the samples is missing: %s", note);
    }
}

static void report_stall(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                         uint64_t duration_ns, bool open)
{
    struct sonde__watch_stall *stall = &loop->stall;
    const struct sonde__watch_decision *d = &loop->decision;
    struct sonde__host_thread_look look;
    if (loop->slot->loop_changes != loop->loop_changes) {
        sonde__watch_say(s->output,
                         "thread %u: another wait proved to be its loop; what looked like a stall "
                         "of %llu ms was none",
                         (unsigned)loop->tid, (unsigned long long)(duration_ns / MS));
        sonde__watch_stall_done(stall);
        return;
    }
    if (sonde__host_look_thread(s->pid, loop->tid, &look)) {
        stall->cpu_ns = look.cpu_ns - stall->begin.cpu_ns;
        stall->runqueue_ns = look.runqueue_ns - stall->begin.runqueue_ns;
    }
    stall->overhead_ns = sonde__host_cpu_ns() - stall->begin_cpu_ns;
    sonde__watch_stall_extend(stall, duration_ns);
    say_unread(s, stall);
    const struct sonde__watch_ended ended = {
        .stall = stall,
        .slot = loop->slot,
        .tid = loop->tid,
        .main = (int32_t)loop->tid == s->pid,
        .open = open,
        .begin_ns = d->since_ns > s->begin_ns ? d->since_ns - s->begin_ns : 0,
        .duration_ns = duration_ns,
        .turns = loop->turns > 0 ? loop->turns - 1 : 0,
    };
    sonde__watch_output_stall(s->output, s->sampler, &ended);
    sonde__watch_stall_done(stall);
    atomic_store(&s->page->unfinished, s->options.report_fd >= 0);
}

static void act(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                enum sonde__watch_action action, uint64_t now_ns)
{
    struct sonde__watch_decision *d = &loop->decision;
    switch (action) {
    case SONDE__WATCH_NOTHING:
        break;
    case SONDE__WATCH_SAMPLE:
    case SONDE__WATCH_BEGIN:
        if (d->samples == 1) {
            begin_sampling(s, loop, now_ns);
        }
        take_sample(s, loop);
        if (action == SONDE__WATCH_BEGIN) {
            begin_stall(s, loop);
        }
        break;
    case SONDE__WATCH_DROP:
        sonde__watch_stall_done(&loop->stall);
        break;
    case SONDE__WATCH_END:
        report_stall(s, loop, d->duration_ns, false);
        break;
    }
    if (d->phase == SONDE__WATCH_STALL && d->counted_ns > ABANDON_NS &&
        atomic_load(&loop->slot->nested) - loop->nested >= ABANDON_WAITS) {
        atomic_store(&loop->slot->abandon, 1);
    }
}

/* A loop whose descriptor is closed never turns again, and its thread keeps nobody waiting,
 * whatever it does: it read the output of a child to its end, or closed its event loop. A stall
 * right after such a close is missed; the alternative would be to report programs that only let
 * time pass. */
static bool is_over(const struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                    const struct sonde__watch_look *look)
{
    const struct sonde__probe_candidate *wait = &loop->slot->loop;
    bool epoll = wait->kind == SONDE__PROBE_EPOLL;
    if (look->now_ns < look->since_ns + s->options.threshold_ns / 2 ||
        (!epoll && wait->kind != SONDE__PROBE_POLL) || wait->object > INT32_MAX) {
        return false;
    }
    enum sonde__host_descriptor now =
        sonde__host_look_descriptor(s->pid, loop->tid, (int32_t)wait->object);
    return now == SONDE__HOST_CLOSED || now == SONDE__HOST_FILE ||
           (epoll && now == SONDE__HOST_OTHER);
}

uint64_t sonde__watch_loop_inspect(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                                   uint64_t now_ns, bool *ret_busy)
{
    struct sonde__probe_slot *slot = loop->slot;
    struct sonde__watch_decision *d = &loop->decision;
    uint32_t tid = atomic_load_explicit(&slot->tid, memory_order_acquire);
    uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_acquire);
    struct sonde__host_thread_look thread = {0};
    if (tid != loop->tid) {
        sonde__watch_stall_done(&loop->stall);
        sonde__watch_decide_init(d, s->options.threshold_ns);
        loop->tid = tid;
    }
    if (tid == 0) {
        return UINT64_MAX;
    }
    struct sonde__watch_look look = {
        .now_ns = now_ns,
        .busy = (beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_BUSY,
        .since_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK,
        .ended_ns = atomic_load_explicit(&slot->ended_ns, memory_order_relaxed),
    };
    if (look.busy) {
        if (!sonde__host_look_thread(s->pid, tid, &thread)) {
            look.busy = false; /* the thread has ended */
            atomic_compare_exchange_strong(&slot->tid, &tid, 0);
        }
        if (thread.confined) {
            atomic_store(&s->page->confined, 1);
        }
        look.held = thread.state == 'T' || thread.state == 't' || thread.tracer != 0;
        look.own_ns = thread.state != 'R' ? s->own_ns : 0;
    }
    if (look.busy && is_over(s, loop, &look)) {
        look.busy = false;
    }
    act(s, loop, sonde__watch_decide(d, &look), now_ns);
    *ret_busy = *ret_busy || look.busy;
    return sonde__watch_next_tick(d, sonde__host_monotonic_ns());
}

/* The thread may have come back to its wait after the last look. */
void sonde__watch_loop_finish(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__watch_decision *d = &loop->decision;
    uint64_t ended_ns = atomic_load(&loop->slot->ended_ns);
    const struct sonde__watch_look over = {.now_ns = ended_ns, .ended_ns = ended_ns};
    if (d->phase != SONDE__WATCH_STALL) {
        return;
    }
    if (ended_ns != 0 && sonde__watch_decide(d, &over) == SONDE__WATCH_END) {
        report_stall(s, loop, d->duration_ns, false);
    } else {
        report_stall(s, loop, d->counted_ns, true);
    }
}
