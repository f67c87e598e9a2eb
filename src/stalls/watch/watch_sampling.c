// SPDX-License-Identifier: Apache-2.0
#include "watch_sampling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base_math.h"
#include "host_clock.h"
#include "host_run.h"
#include "image_cfi.h"
#include "probe_turn.h"
#include "report_model.h"
#include "watch_cause.h"
#include "watch_live.h"
#include "watch_most.h"
#include "watch_outside.h"
#include "watch_sampler.h"
#include "watch_scopes.h"

#define MS 1000000ull

/* From here on the probe records the end of the turn, which may fall between two looks. */
void sonde__watch_begin_turn(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__probe_slot *slot = loop->slot;
    sonde__watch_stall_done(&loop->stall);
    loop->turns = atomic_load(&slot->turns);
    loop->nested = atomic_load(&slot->nested);
    loop->loop_changes = slot->loop_changes;
    loop->first = loop->look;
    loop->begun = loop->account;
    loop->waits[0] = '\0';
    if (loop->look.state != 'R') {
        (void)sonde__host_thread_channel(s->pid, loop->tid, loop->waits, sizeof loop->waits);
    }
    atomic_store(&slot->ended_ns, 0);
    atomic_store(&slot->stamp, SONDE__PROBE_STAMP_END);
}

static bool may_trace(const struct sonde__watch_session *s)
{
    return s->options.sampler == SONDE__WATCH_SAMPLER_AUTO ||
           s->options.sampler == SONDE__WATCH_SAMPLER_PERF;
}

void sonde__watch_await_turn(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                             uint64_t now_ns)
{
    bool waits = loop->decision.phase == SONDE__WATCH_IDLE && loop->tid != 0;
    if (now_ns >= s->crowded_ns && waits && s->trace.who == loop) {
        sonde__watch_trace_rest(&s->trace, loop);
        sonde__watch_sampler_pause(s->sampler);
    } else if (now_ns < s->crowded_ns && waits && may_trace(s) && s->sampler != NULL &&
               loop->kind == SONDE__REPORT_STALL_LOOP) {
        sonde__watch_trace_await(&s->trace, loop, s->pid, loop->tid);
        if (s->trace.who == loop) {
            sonde__watch_expect(s->sampler, loop->tid);
        }
    }
}

static void begin_sampling(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                           uint64_t now_ns)
{
    loop->begin_cpu_ns = sonde__host_cpu_ns();
    loop->head = loop->account;
    loop->sampled = loop->first;
    loop->unread = false;
    struct sonde__host_switches before;
    if (s->trace.who == loop) { /* since before the turn */
        (void)sonde__watch_trace_read(&s->trace, loop, loop->decision.since_ns, NULL, &before);
    } else if (may_trace(s)) {
        sonde__watch_trace_begin(&s->trace, loop, s->pid, loop->tid, loop->look.state == 'R');
    }
    sonde__watch_load_begin(&loop->load, s->pid, loop->tid, sonde__host_monotonic_ns());
    if (sonde__watch_open_sampler(s, now_ns)) {
        sonde__watch_sampler_refresh(s->sampler);
    }
}

/* Is the thread still in the sampled turn? A sample of the loop's own wait is never kept. */
static bool is_still_busy(const struct sonde__watch_loop *loop)
{
    return atomic_load(&loop->slot->beat) ==
           sonde__probe_beat(loop->decision.since_ns, SONDE__PROBE_BUSY);
}

/* How long the thread ran between two looks; UINT64_MAX: it has waited in between. Waiting for a
 * CPU does not move a thread. */
static uint64_t moved_between(const struct sonde__host_thread_look *from,
                              const struct sonde__host_thread_look *to)
{
    if (from->voluntary != to->voluntary || from->state == '\0') {
        return UINT64_MAX;
    }
    if (from->switches == to->switches && from->state == to->state &&
        (to->state == 'S' || to->state == 'D')) {
        return 0;
    }
    uint64_t ran_ns = to->cpu_ns > from->cpu_ns ? to->cpu_ns - from->cpu_ns : 0;
    return ran_ns > 0 ? ran_ns : 1;
}

static struct sonde__watch_gap gap_of(const struct sonde__watch_session *s,
                                      const struct sonde__watch_loop *loop)
{
    uint64_t head_ns = sonde__base_minus(loop->first_ns, loop->decision.since_ns);
    const struct sonde__watch_head head = {.ns = head_ns,
                                           .cpu_ns = loop->begun.turn_cpu_ns,
                                           .runqueue_ns = loop->begun.turn_runqueue_ns,
                                           .state = loop->first.state};
    return (struct sonde__watch_gap){
        .step_ns = loop->decision.sample_ns,
        .apart_ns = loop->decision.apart_ns,
        .moved_ns = moved_between(&loop->sampled, &loop->look),
        .still_ns = head_ns,
        .even = sonde__watch_stall_is_even(&head, loop->decision.sample_ns),
        .reason = loop->unread                    ? SONDE__REPORT_UNCOVERED_UNREAD
                  : s->means == SONDE__WATCH_POOR ? SONDE__REPORT_UNCOVERED_BUDGET
                                                  : SONDE__REPORT_UNCOVERED_LATE,
        .cpu_ns = loop->head.turn_cpu_ns,
        .runqueue_ns = loop->head.turn_runqueue_ns,
        .waits = loop->waits,
    };
}

/* Add how the thread moved since the look: the watch or the thread may have waited for a CPU until
 * the sample. Only a supervisor (s->waiter) keeps the counters open; it read them for the look. */
static uint64_t with_more(uint64_t moved_ns, struct sonde__watch_session *s,
                          struct sonde__watch_loop *loop, const struct sonde__sample *sample)
{
    const struct sonde__os_schedstat at_look = loop->clock.stat;
    bool waits = loop->look.state == 'S' || loop->look.state == 'D' ||
                 sample->thread.letter == 'S' || sample->thread.letter == 'D';
    return s->waiter != NULL && sonde__watch_clock_read(&loop->clock, s->pid, loop->tid)
               ? sonde__watch_stall_moved(moved_ns, waits, &at_look, &loop->clock.stat)
               : moved_ns;
}

/* Has the thread only run, or waited for a CPU, from the begin of its turn to its first sample, at
 * counted_ns? At the first look the kernel had not counted a wait that went on; by now it has. */
static bool has_only_run(const struct sonde__watch_loop *loop, uint64_t counted_ns,
                         uint64_t step_ns)
{
    const struct sonde__watch_account *a = &loop->account;
    const struct sonde__os_schedstat *now = &loop->clock.stat;
    const struct sonde__watch_head head = {
        .ns = counted_ns,
        .cpu_ns = a->turn_cpu_ns + sonde__base_minus(now->cpu_ns, a->cpu_ns),
        .runqueue_ns = a->turn_runqueue_ns + sonde__base_minus(now->runqueue_ns, a->runqueue_ns),
        .state = loop->first.state};
    return head.state == 'R' && sonde__watch_stall_is_even(&head, step_ns);
}

/* Where is the function at `pc`? ctx: the images. */
static bool find_bounds(const void *ctx, uint64_t pc, uint64_t *ret_start, uint64_t *ret_end)
{
    const struct sonde__image *image = sonde__image_find(ctx, pc);
    if (image == NULL ||
        !sonde__cfi_fde_bounds(&image->cfi, image->arch, pc - image->bias, ret_start, ret_end)) {
        return false;
    }
    *ret_start += image->bias;
    *ret_end += image->bias;
    return true;
}

static void begin_border(const struct sonde__watch_session *s,
                         const struct sonde__watch_stall *stall, const struct sonde__sample *sample,
                         struct sonde__watch_border *border)
{
    static const struct sonde_stack none;
    const struct sonde__image_set *images = sonde__watch_sampler_images(s->sampler);
    bool known = stall->count > 0 && sample != NULL && images != NULL;
    const struct sonde_stack *from = known ? &stall->samples[stall->count - 1].sample.stack : &none;
    sonde__watch_border_begin(border, from, known ? &sample->stack : &none, find_bounds, images);
}

static bool is_wait(const struct sonde__sample *sample)
{
    return sample->capture.by == SONDE__CAPTURED_PASSIVE && sample->stack.end != SONDE_END_MOVED;
}

/* Find when the thread left the place of the last sample, and came to that of the next one (null:
 * the stall ends). counted_ns is the decision's time at at_ns. */
static void find_borders(struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                         const struct sonde__sample *sample, uint64_t at_ns, uint64_t counted_ns,
                         struct sonde__watch_gap *gap)
{
    struct sonde__host_switches moves;
    struct sonde__watch_border border;
    begin_border(s, &loop->stall, sample, &border);
    if (!sonde__watch_trace_read(&s->trace, loop, at_ns, &border, &moves)) {
        return;
    }
    const struct sonde__watch_stall *stall = &loop->stall;
    if (moves.count == 0 && sample != NULL && stall->count > 0 && is_wait(sample) &&
        is_wait(&stall->samples[stall->count - 1].sample)) {
        gap->moved_ns = 0; /* the same wait, whatever the thread has done since */
    } else if (moves.count > 0 && at_ns - moves.first_ns < counted_ns) {
        gap->left_ns = counted_ns - (at_ns - moves.first_ns);
        gap->came_ns = counted_ns - (at_ns - moves.last_ns);
    } else if (moves.count == 0 &&
               sonde__watch_border_find(&border,
                                        at_ns - sonde__base_minus(counted_ns, stall->last_ns),
                                        at_ns, &moves.first_ns, &moves.last_ns)) {
        uint64_t left_ago_ns = at_ns - moves.first_ns;
        uint64_t came_ago_ns = at_ns - sonde__base_min(moves.last_ns, at_ns);
        gap->left_ns =
            sonde__base_max(sonde__base_minus(counted_ns, left_ago_ns), loop->stall.last_ns);
        gap->came_ns = sonde__base_minus(counted_ns, came_ago_ns);
    }
}

/* If the thread waits, it is sampled when it runs again: it may have gone on by the next look. The
 * switch records then tell what that sample covers. */
static void expect_move(struct sonde__watch_session *s, const struct sonde__watch_loop *loop)
{
    const struct sonde__watch_stall *stall = &loop->stall;
    if (s->sampler != NULL && s->trace.who == loop && stall->count > 0 &&
        is_wait(&stall->samples[stall->count - 1].sample)) {
        sonde__watch_expect(s->sampler, loop->tid);
    }
}

/* Add what the thread did when it ran, up to until_ns. at_ns: when the decision counted
 * counted_ns. False: it is not known. */
static bool add_met(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                    uint64_t until_ns, uint64_t at_ns, uint64_t counted_ns)
{
    struct sonde__watch_gap gap = gap_of(s, loop);
    struct sonde__sample sample;
    if (s->sampler == NULL || s->trace.who != loop ||
        !sonde__watch_take_met(s->sampler, loop->tid, &sample)) {
        return false;
    }
    uint64_t met_ns = sample.capture.time_ns;
    uint64_t ago_ns = sonde__base_minus(at_ns, met_ns);
    if (met_ns > until_ns || ago_ns >= counted_ns) {
        sonde__sample_done(&sample); /* of another turn */
        return false;
    }
    gap.moved_ns = UINT64_MAX; /* it waited until then */
    find_borders(s, loop, &sample, met_ns, counted_ns - ago_ns, &gap);
    sonde__watch_stall_add(&loop->stall, &sample, counted_ns - ago_ns, &gap);
    return true;
}

/* Since the last sample the thread has run, or waited for a processor, for longer than a sample
 * covers; or it still does. */
static bool has_run(const struct sonde__watch_loop *loop, uint64_t step_ns)
{
    const struct sonde__host_thread_look *from = &loop->sampled, *to = &loop->look;
    return loop->stall.count == 0 || to->state == 'R' ||
           sonde__base_minus(to->cpu_ns + to->runqueue_ns, from->cpu_ns + from->runqueue_ns) >
               step_ns;
}

/* Has the thread hardly run since the last sample, and has no processor? Then it is still there,
 * and cannot be sampled. */
static bool lacks_processor(const struct sonde__watch_session *s,
                            const struct sonde__watch_loop *loop, uint64_t moved_ns)
{
    return loop->look.state == 'R' && moved_ns <= SONDE__WATCH_NEAR_NS &&
           sonde__watch_trace_is_off(&s->trace, loop);
}

static void take_sample(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                        uint64_t now_ns)
{
    struct sonde__watch_gap gap = gap_of(s, loop);
    struct sonde__sample sample;
    bool stays = loop->stall.count > 0 && gap.moved_ns == 0;
    bool met = !stays && has_run(loop, gap.step_ns) && is_still_busy(loop) &&
               add_met(s, loop, now_ns, now_ns, loop->decision.counted_ns);
    if (stays || (loop->stall.count > 0 && lacks_processor(s, loop, gap.moved_ns))) {
        sonde__watch_stall_stay(&loop->stall, loop->decision.counted_ns, gap.step_ns);
        loop->sampled = stays ? loop->look : loop->sampled;
        expect_move(s, loop);
        return;
    }
    /* it may have waited since the first look, but was met before that, elsewhere */
    gap.moved_ns = met ? UINT64_MAX : gap.moved_ns;
    if (!sonde__watch_stall_wants(&loop->stall, loop->decision.counted_ns, &gap)) {
        return;
    }
    if (s->sampler == NULL || !sonde__watch_take(s->sampler, loop->tid, &sample)) {
        loop->unread = true;
        return;
    }
    if (sample.capture.letter == 'T') {
        /* It has been stopped since the look. Reading it woke it for a moment, so that the next
         * look may find it ready to run. */
        sonde__sample_done(&sample);
        loop->held_ns = now_ns;
        loop->decision.held = true;
        return;
    }
    /* the thread may have gone on before the watch did */
    uint64_t time_ns = sample.capture.time_ns,
             taken_ns = time_ns != 0 ? time_ns : sonde__host_monotonic_ns();
    if (s->outside != NULL) {
        sonde__watch_outside_look_again(s, loop);
    }
    if (!is_still_busy(loop)) {
        sonde__sample_done(&sample);
        return;
    }
    gap.moved_ns = with_more(gap.moved_ns, s, loop, &sample);
    uint64_t counted_ns = loop->decision.counted_ns + sonde__base_minus(taken_ns, now_ns);
    gap.even = gap.even || (loop->stall.count == 0 && has_only_run(loop, counted_ns, gap.step_ns));
    find_borders(s, loop, &sample, taken_ns, counted_ns, &gap);
    sonde__watch_stall_add(&loop->stall, &sample, counted_ns, &gap);
    loop->sampled = loop->look;
    loop->unread = false;
    expect_move(s, loop);
    sonde__watch_cause_change(s->sampler, &loop->stall);
}

/* Capture the stacks of the child that the thread waits for. */
static void look_at_child(struct sonde__watch_session *s, struct sonde__watch_stall *stall)
{
    bool perf = s->options.sampler == SONDE__WATCH_SAMPLER_AUTO ||
                s->options.sampler == SONDE__WATCH_SAMPLER_PERF;
    for (uint32_t i = 0; i < stall->cause_count && stall->child == NULL; i++) {
        const struct sonde__cause *cause = &stall->causes[i];
        if (cause->kind == SONDE__CAUSE_CHILD && cause->owner_pid > 0 &&
            cause->owner_pid != s->pid) {
            stall->child = sonde__watch_child_take(cause->owner_pid, perf, NULL);
        }
    }
}

/* Circles are reported at once: a deadlock has no end at which to report it. */
static void find_causes(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__cause_circle circle;
    bool search = s->searched_ns == 0 ||
                  loop->decision.tick_ns - s->searched_ns >= SONDE__WATCH_CAUSE_SEARCH_PERIOD_NS;
    s->searched_ns = search ? loop->decision.tick_ns : s->searched_ns;
    if (sonde__watch_cause_begin(s->sampler, &loop->stall, search, &circle)) {
        sonde__watch_print(s->writer, "%s", circle.text);
    }
    if (search) {
        look_at_child(s, &loop->stall);
    }
}

/* missed: the turn, if no look saw it; else null. */
static struct sonde__watch_ended make_ended(struct sonde__watch_session *s,
                                            const struct sonde__watch_loop *loop,
                                            const struct sonde__probe_long *missed,
                                            uint64_t duration_ns, bool open)
{
    uint64_t since_ns = missed != NULL ? missed->begin_ns : loop->decision.since_ns;
    uint64_t turns = missed != NULL ? missed->turns : loop->turns;
    bool is_scope = loop->kind == SONDE__REPORT_STALL_SCOPE;
    /* the program may write here: load once, check what was loaded */
    const volatile struct sonde__probe_candidate *wait = &loop->slot->loop;
    struct sonde__watch_ended ended = {
        .images = s->sampler != NULL ? sonde__watch_sampler_freeze(s->sampler) : NULL,
        .way = s->sampler != NULL ? sonde__watch_sampler_way(s->sampler) : 0,
        .loop = {.kind = wait->kind},
        .tid = loop->tid,
        .main = (int32_t)loop->tid == s->pid,
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
                         struct sonde__watch_stall *stall)
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
    struct sonde__watch_stall threads;
    struct sonde__sample sample;
    if (s->options.on_begin == NULL) {
        return;
    }
    sonde__watch_stall_init(&threads);
    if (s->sampler != NULL && sonde__watch_take(s->sampler, loop->tid, &sample)) {
        threads.threads = calloc(1, sizeof sample);
        if (threads.threads == NULL || !is_still_busy(loop)) {
            sonde__sample_done(&sample);
        } else {
            threads.threads[0] = sample;
            threads.thread_count = threads.thread_total = 1;
        }
    }
    const struct sonde__watch_ended ended =
        make_ended(s, loop, NULL, loop->decision.counted_ns, true);
    sonde__watch_writer_begin(s->writer, &threads, &ended);
}

static void begin_stall(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    note_program(s, loop, &loop->stall);
    atomic_store(&s->page->unfinished, 1);
    if (s->options.verbose) {
        sonde__watch_print(s->writer, "thread %u has not been back in its loop for %llu ms",
                           (unsigned)loop->tid,
                           (unsigned long long)(loop->decision.counted_ns / MS));
    }
    if (s->sampler != NULL) {
        sonde__watch_sampler_leave_out(s->sampler, sonde__watch_writer_tid(s->writer));
        sonde__watch_stall_add_threads(&loop->stall, s->sampler, loop->tid);
        find_causes(s, loop);
    }
    notify_begin(s, loop);
}

/* Report why a stall has no stack or lacks samples, each reason once per watch. */
static void print_unread(struct sonde__watch_session *s, const struct sonde__watch_stall *stall)
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
        sonde__watch_print(s->writer, "stacks cannot be read: %s", note);
    } else if (note != NULL && strcmp(note, s->unread) != 0) {
        snprintf(s->unread, sizeof s->unread, "%s", note);
        sonde__watch_print(s->writer, "a part of the samples is missing: %s", note);
    }
}

/* It is not known what a thread did after the last look if it was blocked then. */
static void end_samples(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                        uint64_t duration_ns)
{
    struct sonde__watch_gap gap = gap_of(s, loop);
    if (gap.moved_ns == 0 && loop->stall.count > 0) {
        sonde__watch_stall_stay(
            &loop->stall, loop->seen_ns < duration_ns ? loop->seen_ns : duration_ns, gap.step_ns);
        gap.moved_ns = UINT64_MAX;
    }
    const struct sonde__watch_decision *d = &loop->decision;
    uint64_t end_ns = d->since_ns + duration_ns + d->excluded_ns;
    if (gap.moved_ns != 0 && duration_ns > loop->stall.last_ns + gap.step_ns) {
        (void)add_met(s, loop, end_ns, end_ns, duration_ns);
    }
    find_borders(s, loop, NULL, end_ns, duration_ns, &gap);
    sonde__watch_stall_end(&loop->stall, duration_ns, &gap);
}

/* Code that is no loop may wait on a condition or sleep repeatedly, and then go on with something
 * else. Only a return to the same wait proves that it was a loop. A thread that hangs until it is
 * killed is reported, too; if the program exits by itself, the thread has left its loop. */
static bool has_left(const struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                     bool open)
{
    const struct sonde__probe_slot *slot = loop->slot;
    return sonde__probe_is_weak(slot->loop.kind) &&
           (open ? atomic_load(&s->page->exiting) != 0 : atomic_load(&slot->ended_ns) == 0);
}

static void push_stall(struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                       struct sonde__watch_stall *stall, const struct sonde__probe_long *missed,
                       uint64_t duration_ns, bool open)
{
    const struct sonde__watch_ended ended = make_ended(s, loop, missed, duration_ns, open);
    s->stalls++;
    if (loop->kind == SONDE__REPORT_STALL_LOOP) {
        s->longest_ns = duration_ns > s->longest_ns ? duration_ns : s->longest_ns;
    }
    sonde__watch_writer_stall(s->writer, stall, &ended);
}

static void report_stall(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                         uint64_t duration_ns, bool open)
{
    struct sonde__watch_stall *stall = &loop->stall;
    const struct sonde__watch_decision *d = &loop->decision;
    bool replaced = loop->slot->loop_changes != loop->loop_changes;
    if (replaced || has_left(s, loop, open)) {
        sonde__watch_print(s->writer, "thread %u: %s; what looked like a stall of %llu ms was none",
                           (unsigned)loop->tid,
                           replaced ? "another wait proved to be its loop" : "it has left its loop",
                           (unsigned long long)(duration_ns / MS));
        sonde__watch_live_take_back(s, loop);
        sonde__watch_stall_done(stall);
        return;
    }
    if (loop->kind == SONDE__REPORT_STALL_SCOPE && !sonde__watch_scope_reports(loop, duration_ns)) {
        sonde__watch_live_take_back(s, loop);
        sonde__watch_stall_done(stall);
        return;
    }
    if (d->samples == 0) {
        begin_sampling(s, loop, d->tick_ns);
    }
    note_program(s, loop, stall);
    end_samples(s, loop, duration_ns);
    stall->cpu_ns = loop->account.turn_cpu_ns;
    stall->runqueue_ns = loop->account.turn_runqueue_ns;
    sonde__watch_load_end(&loop->load, s->pid, loop->tid, d->since_ns,
                          d->since_ns + d->counted_ns + d->excluded_ns, sonde__host_monotonic_ns(),
                          &stall->load);
    stall->overhead_ns = sonde__host_cpu_ns() - loop->begin_cpu_ns;
    print_unread(s, stall);
    sonde__watch_live_end(s, loop, duration_ns, open);
    push_stall(s, loop, stall, NULL, duration_ns, open);
    sonde__watch_print_most(s, loop->tid, duration_ns, duration_ns + d->doubt_ns);
}

void sonde__watch_report_missed(struct sonde__watch_session *s,
                                const struct sonde__watch_loop *loop,
                                const struct sonde__probe_long *turn, uint64_t duration_ns,
                                const struct sonde__watch_spent *spent)
{
    struct sonde__watch_stall stall;
    const struct sonde__watch_gap gap = {.moved_ns = UINT64_MAX,
                                         .reason = SONDE__REPORT_UNCOVERED_LATE,
                                         .cpu_ns = spent->cpu_ns,
                                         .runqueue_ns = spent->runqueue_ns,
                                         .waits = ""};
    sonde__watch_stall_init(&stall);
    sonde__watch_stall_end(&stall, duration_ns, &gap);
    stall.cpu_ns = spent->cpu_ns;
    stall.runqueue_ns = spent->runqueue_ns;
    note_program(s, loop, &stall);
    if (loop->kind == SONDE__REPORT_STALL_LOOP) {
        sonde__watch_turns_add(&s->turns, duration_ns);
    }
    push_stall(s, loop, &stall, turn, duration_ns, false);
}

void sonde__watch_act(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                      enum sonde__watch_action action, uint64_t now_ns)
{
    struct sonde__watch_decision *d = &loop->decision;
    switch (action) {
    case SONDE__WATCH_NOTHING:
        return;
    case SONDE__WATCH_SAMPLE:
    case SONDE__WATCH_BEGIN:
        if (d->samples == 1) {
            begin_sampling(s, loop, now_ns);
        }
        take_sample(s, loop, now_ns);
        if (is_still_busy(loop)) {
            sonde__watch_load_look(&loop->load, s->pid, loop->tid, now_ns);
        }
        if (action == SONDE__WATCH_BEGIN) {
            begin_stall(s, loop);
            sonde__watch_live_begin(s, loop);
        } else {
            sonde__watch_live_go_on(s, loop);
        }
        break;
    case SONDE__WATCH_DROP:
        sonde__watch_live_take_back(s, loop);
        sonde__watch_stall_done(&loop->stall);
        sonde__watch_trace_rest(&s->trace, loop);
        break;
    case SONDE__WATCH_END:
        report_stall(s, loop, d->duration_ns, false);
        s->trace.stalled = loop->kind == SONDE__REPORT_STALL_LOOP ? loop : s->trace.stalled;
        sonde__watch_trace_rest(&s->trace, loop);
        break;
    }
    if (s->sampler != NULL && (action == SONDE__WATCH_DROP || action == SONDE__WATCH_END)) {
        sonde__watch_sampler_pause(s->sampler);
    }
}

void sonde__watch_report_open(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    report_stall(s, loop, loop->decision.counted_ns, true);
}
