// SPDX-License-Identifier: Apache-2.0
#include "watch_stalled.h"

#include <stdlib.h>
#include <string.h>

#include "base_math.h"
#include "host_clock.h"
#include "host_run.h"
#include "image_cfi.h"
#include "probe_turn.h"
#include "report_model.h"
#include "sampler_cause.h"
#include "watch_early.h"
#include "watch_live.h"
#include "watch_most.h"
#include "watch_release.h"
#include "watch_sampler.h"
#include "watch_sampling.h"
#include "watch_scopes.h"
#include "watch_unread.h"

#define MS 1000000ull
/* The counters tell of a stall if they were read at most this part of it before its end. */
#define UNREAD_PART 8u

/* Capture the stacks of the child that the thread waits for. */
static void look_at_child(struct sonde__watch_session *s, struct sonde__sampler_stall *stall)
{
    bool perf = s->options.sampler == SONDE__WATCH_SAMPLER_AUTO ||
                s->options.sampler == SONDE__WATCH_SAMPLER_PERF;
    for (uint32_t i = 0; i < stall->cause_count && stall->child == NULL; i++) {
        const struct sonde__cause *cause = &stall->causes[i];
        if (cause->kind == SONDE__CAUSE_CHILD && cause->owner_pid > 0 &&
            cause->owner_pid != s->pid) {
            stall->child = sonde__sampler_child_take(cause->owner_pid, perf, NULL);
            s->waited_ns += stall->child != NULL ? sonde__sampler_waited(stall->child->sampler) : 0;
        }
    }
}

/* Circles are reported at once: a deadlock has no end at which to report it. */
static void find_causes(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__cause_circle circle;
    bool search = s->searched_ns == 0 ||
                  loop->decision.tick_ns - s->searched_ns >= SONDE__SAMPLER_CAUSE_SEARCH_PERIOD_NS;
    s->searched_ns = search ? loop->decision.tick_ns : s->searched_ns;
    if (sonde__sampler_cause_begin(s->sampler, &loop->stall, search, &circle)) {
        sonde__watch_print(s->writer, "%s", circle.text);
    }
    if (search) {
        look_at_child(s, &loop->stall);
    }
}

static void find_later_causes(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__cause_circle circle;
    if (s->sampler != NULL &&
        sonde__sampler_cause_again(s->sampler, &loop->stall, loop->decision.counted_ns, &circle)) {
        sonde__watch_print(s->writer, "%s", circle.text);
    }
}

/* missed: the turn, if no look saw it; else null. */
static struct sonde__entry_ended make_ended(struct sonde__watch_session *s,
                                            const struct sonde__watch_loop *loop,
                                            const struct sonde__probe_long *missed,
                                            uint64_t duration_ns, bool open)
{
    uint64_t since_ns = missed != NULL ? missed->begin_ns : loop->decision.since_ns;
    uint64_t turns = missed != NULL ? missed->turns : loop->turns;
    bool is_scope = loop->kind == SONDE__REPORT_STALL_SCOPE;
    /* the program may write here: load once, check what was loaded */
    const volatile struct sonde__probe_candidate *wait = &loop->slot->loop;
    struct sonde__entry_ended ended = {
        .images = s->sampler != NULL ? sonde__sampler_freeze(s->sampler) : NULL,
        .way = s->sampler != NULL ? sonde__sampler_way(s->sampler) : 0,
        .loop = {.kind = wait->kind},
        .tid = loop->tid,
        .main = sonde__watch_is_main(s, loop->tid),
        .kind = loop->kind,
        .open = open && !s->killed,
        .killed = open && s->killed,
        .watch_ns = s->begin_ns,
        .begin_ns = since_ns > s->begin_ns ? since_ns - s->begin_ns : 0,
        .duration_ns = duration_ns,
        .turns = turns > 0 ? turns - 1 : 0,
    };
    if (!is_scope) {
        ended.loop.object = wait->object;
        ended.loop.caller = wait->caller;
    } else if (missed != NULL) { /* the scope that is open now may have been entered elsewhere */
        sonde__watch_scope_name(missed, ended.scope, sizeof ended.scope);
    } else {
        ended.loop.caller = loop->scope_caller;
        memcpy(ended.scope, loop->scope, sizeof ended.scope);
    }
    return ended;
}

/* Keep what the program tells about itself now. If memory runs out, nothing is kept. */
static void note_program(struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                         struct sonde__sampler_stall *stall)
{
    if (s->annotate == NULL || stall->notes != NULL) {
        return;
    }
    stall->notes = calloc(1, sizeof *stall->notes);
    if (stall->notes != NULL && !s->annotate(loop->slot, stall->notes)) {
        free(stall->notes);
        stall->notes = NULL;
    }
}

/* Report the begin of the stall to the program, with the stack of the thread. */
static void notify_begin(struct sonde__watch_session *s, const struct sonde__watch_loop *loop)
{
    struct sonde__sampler_stall threads;
    struct sonde__sample sample;
    if (s->options.on_begin == NULL) {
        return;
    }
    sonde__sampler_stall_init(&threads);
    if (s->sampler != NULL && sonde__sampler_take(s->sampler, loop->tid, NULL, &sample)) {
        threads.threads = calloc(1, sizeof sample);
        if (threads.threads == NULL || !sonde__watch_is_still_busy(loop)) {
            sonde__sample_done(&sample);
        } else {
            threads.threads[0] = sample;
            threads.thread_count = threads.thread_total = 1;
        }
    }
    const struct sonde__entry_ended ended =
        make_ended(s, loop, NULL, loop->decision.counted_ns, true);
    sonde__watch_writer_begin(s->writer, &threads, &ended);
}

static void begin_stall(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    note_program(s, loop, &loop->stall);
    atomic_store(&s->page->unfinished, 1);
    if (s->options.verbose && !loop->early.is_turn) {
        sonde__watch_print(s->writer, "thread %llu has not been back in its loop for %llu ms",
                           (unsigned long long)loop->tid,
                           (unsigned long long)(loop->decision.counted_ns / MS));
    }
    if (s->sampler != NULL) {
        sonde__sampler_leave_out(s->sampler, sonde__watch_writer_tid(s->writer));
        sonde__sampler_stall_add_threads(&loop->stall, s->sampler, loop->tid);
        find_causes(s, loop);
    }
    notify_begin(s, loop);
}

/* Code that is no loop may wait on a condition or sleep repeatedly, and then go on with something
 * else. Only a return to the same wait proves that it was a loop. A thread that hangs until it is
 * killed is reported, too; if the program exits by itself, the thread has left its loop. */
static bool has_left(const struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                     bool open)
{
    const struct sonde__probe_slot *slot = loop->slot;
    return sonde__probe_is_weak(slot->loop.kind) &&
           (open ? atomic_load(&s->page->exited_ns) != 0 : atomic_load(&slot->ended_ns) == 0);
}

static void push_stall(struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                       struct sonde__sampler_stall *stall, const struct sonde__probe_long *missed,
                       uint64_t duration_ns, bool open)
{
    const struct sonde__entry_ended ended = make_ended(s, loop, missed, duration_ns, open);
    s->stalls++;
    if (loop->kind == SONDE__REPORT_STALL_LOOP) {
        s->longest_ns = duration_ns > s->longest_ns ? duration_ns : s->longest_ns;
    }
    sonde__watch_print_scripts(s, stall);
    sonde__watch_writer_stall(s->writer, stall, &ended);
}

/* What the thread did with its time. Nothing is known if the counters were read last long before
 * the end: what is not counted would seem to be a wait. */
static void note_account(const struct sonde__watch_loop *loop, uint64_t end_ns,
                         struct sonde__sampler_stall *stall)
{
    uint64_t unread_ns = sonde__base_minus(end_ns, loop->account.at_ns);
    bool is_known = unread_ns <= loop->decision.counted_ns / UNREAD_PART;
    stall->cpu_ns = is_known ? loop->account.turn_cpu_ns : 0;
    stall->runqueue_ns = is_known ? loop->account.turn_runqueue_ns : 0;
}

static void report_stall(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                         uint64_t duration_ns, bool open)
{
    struct sonde__sampler_stall *stall = &loop->stall;
    const struct sonde__decision *d = &loop->decision;
    bool replaced = loop->slot->loop_changes != loop->loop_changes;
    bool early = loop->early.is_turn;
    if (early && (open || !sonde__watch_early_has_end(loop))) {
        sonde__watch_early_tell(s, loop, duration_ns);
        sonde__sampler_stall_done(stall);
        return;
    }
    if (replaced || has_left(s, loop, open)) {
        /* a poll whose first turns wait by different paths is taken for another loop, too */
        sonde__watch_print(s->writer, "thread %llu: %s; what looked like a stall of %llu ms %s",
                           (unsigned long long)loop->tid,
                           replaced ? "another wait proved to be its loop" : "it has left its loop",
                           (unsigned long long)(duration_ns / MS),
                           replaced ? "may have been one, and is not reported" : "was none");
        sonde__watch_live_take_back(s, loop);
        sonde__sampler_stall_done(stall);
        return;
    }
    if (loop->kind == SONDE__REPORT_STALL_SCOPE && !sonde__watch_scope_reports(loop, duration_ns)) {
        sonde__watch_live_take_back(s, loop);
        sonde__sampler_stall_done(stall);
        return;
    }
    if (d->samples == 0) {
        sonde__watch_begin_sampling(s, loop, d->tick_ns);
    }
    note_program(s, loop, stall);
    sonde__watch_end_samples(s, loop, duration_ns);
    if (!open && !early && loop->kind == SONDE__REPORT_STALL_LOOP) {
        sonde__watch_note_release(s, loop);
    }
    uint64_t end_ns = d->since_ns + d->counted_ns + d->excluded_ns;
    note_account(loop, end_ns, stall);
    sonde__sampler_load_end(&loop->load, s->pid, loop->tid, d->since_ns, end_ns,
                            sonde__host_monotonic_ns(), &stall->load);
    stall->overhead_ns = sonde__host_cpu_ns() - loop->begin_cpu_ns;
    sonde__watch_print_unread(s, stall);
    if (early) {
        const struct sonde__entry_ended ended = make_ended(s, loop, NULL, duration_ns, false);
        sonde__watch_early_keep(s, loop, stall, &ended, d->since_ns, duration_ns + d->doubt_ns);
        return;
    }
    sonde__watch_live_end(s, loop, duration_ns, open);
    push_stall(s, loop, stall, NULL, duration_ns, open);
    sonde__watch_print_most(s, loop->tid, duration_ns, duration_ns + d->doubt_ns);
}

void sonde__watch_report_missed(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                                const struct sonde__probe_long *turn, uint64_t duration_ns,
                                const struct sonde__decide_spent *spent)
{
    struct sonde__sampler_stall stall;
    const struct sonde__sampler_gap gap = {.moved_ns = UINT64_MAX,
                                           .reason = SONDE__REPORT_UNCOVERED_LATE,
                                           .cpu_ns = spent->cpu_ns,
                                           .runqueue_ns = spent->runqueue_ns,
                                           .waits = ""};
    sonde__sampler_stall_init(&stall);
    sonde__sampler_stall_end(&stall, duration_ns, &gap);
    stall.cpu_ns = spent->cpu_ns;
    stall.runqueue_ns = spent->runqueue_ns;
    note_program(s, loop, &stall);
    if (turn->early) {
        const struct sonde__entry_ended ended = make_ended(s, loop, turn, duration_ns, false);
        sonde__watch_early_keep(s, loop, &stall, &ended, turn->begin_ns,
                                turn->end_ns - turn->begin_ns);
        return;
    }
    if (loop->kind == SONDE__REPORT_STALL_LOOP) {
        sonde__decide_turns_add(&s->turns, duration_ns);
    }
    push_stall(s, loop, &stall, turn, duration_ns, false);
}

void sonde__watch_act(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                      enum sonde__decide_action action, uint64_t now_ns)
{
    struct sonde__decision *d = &loop->decision;
    switch (action) {
    case SONDE__DECIDE_NOTHING:
        sonde__watch_live_doubt(s, loop);
        return;
    case SONDE__DECIDE_SAMPLE:
    case SONDE__DECIDE_BEGIN:
        if (d->samples == 1) {
            sonde__watch_begin_sampling(s, loop, now_ns);
        }
        sonde__watch_take_sample(s, loop, now_ns);
        if (sonde__watch_is_still_busy(loop)) {
            sonde__sampler_load_look(&loop->load, s->pid, loop->tid, now_ns);
        }
        if (action == SONDE__DECIDE_BEGIN) {
            begin_stall(s, loop);
            if (!loop->early.is_turn) {
                sonde__watch_live_begin(s, loop);
            }
        } else {
            find_later_causes(s, loop);
            sonde__watch_live_go_on(s, loop);
        }
        break;
    case SONDE__DECIDE_DROP:
        sonde__watch_live_take_back(s, loop);
        sonde__sampler_stall_done(&loop->stall);
        sonde__sampler_trace_rest(&s->trace, loop);
        break;
    case SONDE__DECIDE_END:
        report_stall(s, loop, d->duration_ns, false);
        s->trace.stalled = loop->kind == SONDE__REPORT_STALL_LOOP ? loop : s->trace.stalled;
        sonde__sampler_trace_rest(&s->trace, loop);
        break;
    }
    if (s->sampler != NULL && (action == SONDE__DECIDE_DROP || action == SONDE__DECIDE_END)) {
        sonde__sampler_pause(s->sampler);
    }
}

void sonde__watch_report_open(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    report_stall(s, loop, loop->decision.counted_ns, true);
}
