// SPDX-License-Identifier: Apache-2.0
#include "watch_sampling.h"

#include <string.h>

#include "base_math.h"
#include "host_clock.h"
#include "host_run.h"
#include "image_cfi.h"
#include "probe_turn.h"
#include "report_model.h"
#include "sampler_cause.h"
#include "target_script.h"
#include "watch_outside.h"
#include "watch_sampler.h"

/* What ends a wait, and leads to the next work, takes less CPU time. */
#define MEET_AFTER_NS 1000000u
/* So much CPU time before a look a thread that runs on is sampled, so that the look finds the
 * sample; and the time until then is rounded to so many parts of a power of two. */
#define RUN_ON_LEAD_NS 1000000u
#define RUN_ON_PARTS   8u
#define RUN_ON_UNIT_NS 65536u
/* How many of them are asked for at once: it costs an interrupt of the thread's processor. Each
 * comes a little earlier before its look than the last one. */
#define RUN_ON_SAMPLES 4u
/* A look is long ago after so many planned samples. A thread that did not wait for more than this
 * part of the time since its last sample only ran, or lacked a processor. */
#define UNSEEN_STEPS 2u
#define UNSEEN_PART  8u

/* From here on the probe records the end of the turn, which may fall between two looks. */
void sonde__watch_begin_turn(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__probe_slot *slot = loop->slot;
    sonde__sampler_stall_done(&loop->stall);
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
    bool waits = loop->decision.phase == SONDE__DECIDE_IDLE && loop->tid != 0;
    if (now_ns >= s->crowded_ns && waits && s->trace.who == loop) {
        sonde__sampler_trace_rest(&s->trace, loop);
        if (s->sampler != NULL) {
            sonde__sampler_pause(s->sampler);
        }
    } else if (now_ns < s->crowded_ns && waits && may_trace(s) && s->sampler != NULL &&
               loop->kind == SONDE__REPORT_STALL_LOOP) {
        sonde__sampler_trace_await(&s->trace, loop, s->pid, loop->tid);
        if (s->trace.who == loop) {
            sonde__sampler_expect(s->sampler, loop->tid, MEET_AFTER_NS, 1);
        }
    }
}

void sonde__watch_begin_sampling(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                                 uint64_t now_ns)
{
    loop->begin_cpu_ns = sonde__host_cpu_ns();
    loop->head = loop->account;
    loop->sampled = loop->first;
    loop->unread = false;
    struct sonde__host_switches before;
    if (s->trace.who == loop) { /* since before the turn */
        s->trace.awaits = false;
        (void)sonde__sampler_trace_read(&s->trace, loop, loop->decision.since_ns, NULL, &before);
    } else if (may_trace(s)) {
        sonde__sampler_trace_begin(&s->trace, loop, s->pid, loop->tid, loop->look.state == 'R');
    }
    sonde__sampler_load_begin(&loop->load, s->waiter != NULL ? &s->load_files : NULL, s->pid,
                              loop->tid, sonde__host_monotonic_ns());
    if (sonde__watch_open_sampler(s, now_ns)) {
        sonde__sampler_refresh(s->sampler);
    }
}

bool sonde__watch_is_still_busy(const struct sonde__watch_loop *loop)
{
    return atomic_load(&loop->slot->beat) ==
           sonde__probe_beat(loop->decision.since_ns,
                             loop->early.is_turn ? SONDE__PROBE_EARLY : SONDE__PROBE_BUSY);
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

static struct sonde__sampler_gap gap_of(const struct sonde__watch_session *s,
                                        const struct sonde__watch_loop *loop)
{
    uint64_t head_ns = sonde__base_minus(loop->first_ns, loop->decision.since_ns);
    const struct sonde__sampler_head head = {.ns = head_ns,
                                             .cpu_ns = loop->begun.turn_cpu_ns,
                                             .runqueue_ns = loop->begun.turn_runqueue_ns,
                                             .state = loop->first.state};
    return (struct sonde__sampler_gap){
        .step_ns = loop->decision.sample_ns,
        .apart_ns = loop->decision.apart_ns,
        .moved_ns = moved_between(&loop->sampled, &loop->look),
        .still_ns = head_ns,
        .even = sonde__sampler_stall_is_even(&head, loop->decision.sample_ns),
        .reason = loop->unread                     ? SONDE__REPORT_UNCOVERED_UNREAD
                  : s->means == SONDE__DECIDE_POOR ? SONDE__REPORT_UNCOVERED_BUDGET
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
    return s->waiter != NULL && sonde__sampler_clock_read(&loop->clock, s->pid, loop->tid)
               ? sonde__sampler_stall_moved(moved_ns, waits, &at_look, &loop->clock.stat)
               : moved_ns;
}

/* Has the thread only run, or waited for a CPU, from the begin of its turn to its first sample, at
 * counted_ns? At the first look the kernel had not counted a wait that went on; by now it has. */
static bool has_only_run(const struct sonde__watch_loop *loop, uint64_t counted_ns,
                         uint64_t step_ns)
{
    const struct sonde__decide_account *a = &loop->account;
    const struct sonde__os_schedstat *now = &loop->clock.stat;
    const struct sonde__sampler_head head = {
        .ns = counted_ns,
        .cpu_ns = a->turn_cpu_ns + sonde__base_minus(now->cpu_ns, a->cpu_ns),
        .runqueue_ns = a->turn_runqueue_ns + sonde__base_minus(now->runqueue_ns, a->runqueue_ns),
        .state = loop->first.state};
    return head.state == 'R' && sonde__sampler_stall_is_even(&head, step_ns);
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
                         const struct sonde__sampler_stall *stall,
                         const struct sonde__sample *sample, struct sonde__sampler_border *border)
{
    static const struct sonde_stack none;
    const struct sonde__image_set *images = sonde__sampler_images(s->sampler);
    bool known = stall->count > 0 && sample != NULL && images != NULL;
    const struct sonde_stack *from = known ? &stall->samples[stall->count - 1].sample.stack : &none;
    sonde__sampler_border_begin(border, from, known ? &sample->stack : &none, find_bounds, images);
}

static bool is_wait(const struct sonde__sample *sample)
{
    return sample->capture.by == SONDE__CAPTURED_PASSIVE && sample->stack.end != SONDE_END_MOVED;
}

/* Find when the thread left the place of the last sample, and came to that of the next one (null:
 * the stall ends). counted_ns is the decision's time at at_ns. */
static void find_borders(struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                         const struct sonde__sample *sample, uint64_t at_ns, uint64_t counted_ns,
                         struct sonde__sampler_gap *gap)
{
    struct sonde__host_switches moves;
    struct sonde__sampler_border border;
    begin_border(s, &loop->stall, sample, &border);
    if (!sonde__sampler_trace_read(&s->trace, loop, at_ns, &border, &moves)) {
        return;
    }
    const struct sonde__sampler_stall *stall = &loop->stall;
    if (moves.count == 0 && sample != NULL && stall->count > 0 && is_wait(sample) &&
        is_wait(&stall->samples[stall->count - 1].sample)) {
        gap->moved_ns = 0; /* the same wait, whatever the thread has done since */
    } else if (moves.count > 0 && at_ns - moves.first_ns < counted_ns) {
        gap->left_ns = counted_ns - (at_ns - moves.first_ns);
        gap->came_ns = counted_ns - (at_ns - moves.last_ns);
    } else if (moves.count == 0 &&
               sonde__sampler_border_find(&border,
                                          at_ns - sonde__base_minus(counted_ns, stall->last_ns),
                                          at_ns, &moves.first_ns, &moves.last_ns)) {
        uint64_t left_ago_ns = at_ns - moves.first_ns;
        uint64_t came_ago_ns = at_ns - sonde__base_min(moves.last_ns, at_ns);
        gap->left_ns =
            sonde__base_max(sonde__base_minus(counted_ns, left_ago_ns), loop->stall.last_ns);
        gap->came_ns = sonde__base_minus(counted_ns, came_ago_ns);
    }
}

/* The CPU time in which a thread that runs on comes close to its next sample. Few different times,
 * because each change costs a system call. */
static uint64_t run_on_ns(const struct sonde__decision *d)
{
    uint64_t due_ns = sonde__decide_next_sample(d), unit_ns = RUN_ON_UNIT_NS;
    while (unit_ns * 2 * RUN_ON_PARTS <= due_ns) {
        unit_ns *= 2;
    }
    return sonde__base_minus(due_ns, RUN_ON_LEAD_NS) / unit_ns * unit_ns;
}

/* If the thread waits, it is sampled when it runs again: it may have gone on by the next look. The
 * switch records then tell what that sample covers. If it runs, it is sampled right before the look
 * at which the next sample is due: to wait for one at that look costs more. That is not possible
 * where it runs a script, whose frames must be read at the same instant, and where it may lack a
 * processor for long. */
static void expect_move(struct sonde__watch_session *s, const struct sonde__watch_loop *loop)
{
    const struct sonde__sampler_stall *stall = &loop->stall;
    if (s->sampler == NULL || s->trace.who != loop || stall->count == 0) {
        return;
    }
    bool waits = is_wait(&stall->samples[stall->count - 1].sample);
    uint64_t after_ns = waits ? MEET_AFTER_NS : run_on_ns(&loop->decision);
    if (waits || (after_ns > 0 && !s->trace.is_crowded &&
                  !sonde__target_has_script(sonde__sampler_target(s->sampler)))) {
        sonde__sampler_expect(s->sampler, loop->tid, after_ns, waits ? 1 : RUN_ON_SAMPLES);
    }
}

/* Add what the thread did when it ran, up to until_ns. at_ns: when the decision counted
 * counted_ns. runs_on: it has not waited since the last sample. False: it is not known. */
static bool add_met(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                    uint64_t until_ns, uint64_t at_ns, uint64_t counted_ns, bool runs_on)
{
    struct sonde__sampler_gap gap = gap_of(s, loop);
    struct sonde__sample sample;
    if (s->sampler == NULL || s->trace.who != loop ||
        !sonde__sampler_take_met(s->sampler, loop->tid, &sample)) {
        return false;
    }
    uint64_t met_ns = sample.capture.time_ns;
    uint64_t ago_ns = sonde__base_minus(at_ns, met_ns);
    if (met_ns > until_ns || ago_ns >= counted_ns) {
        sonde__sample_done(&sample); /* of another turn */
        return false;
    }
    gap.moved_ns = runs_on ? gap.moved_ns : UINT64_MAX; /* it waited until then */
    find_borders(s, loop, &sample, met_ns, counted_ns - ago_ns, &gap);
    sonde__sampler_stall_add(&loop->stall, &sample, counted_ns - ago_ns, &gap);
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
    return loop->look.state == 'R' && moved_ns <= SONDE__SAMPLER_NEAR_NS &&
           sonde__sampler_trace_is_off(&s->trace, loop);
}

/* The thread has been stopped since the look. Reading it woke it for a moment, so that the next
 * look may find it ready to run. */
static void hold(struct sonde__watch_loop *loop, struct sonde__sample *sample, uint64_t now_ns)
{
    sonde__sample_done(sample);
    loop->held_ns = now_ns;
    loop->decision.held = true;
}

/* Was the script that a thread runs not read with its sample? The kernel takes samples before the
 * look with native functions only. */
static bool lacks_script(const struct sonde__sample *sample)
{
    return sample->script.script.state == SONDE__SCRIPT_TORN;
}

void sonde__watch_take_sample(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                              uint64_t now_ns)
{
    struct sonde__sampler_gap gap = gap_of(s, loop);
    const struct sonde__sampler_mark mark = sonde__sampler_stall_mark(&loop->stall);
    struct sonde__sample sample;
    bool stays = loop->stall.count > 0 && gap.moved_ns == 0;
    bool runs_on = gap.moved_ns != UINT64_MAX && loop->look.state == 'R' && loop->stall.count > 0;
    bool met = !stays && has_run(loop, gap.step_ns) && sonde__watch_is_still_busy(loop) &&
               add_met(s, loop, now_ns, now_ns, loop->decision.counted_ns, runs_on);
    if (stays || (loop->stall.count > 0 && lacks_processor(s, loop, gap.moved_ns))) {
        sonde__sampler_stall_stay(&loop->stall, loop->decision.counted_ns, gap.step_ns);
        loop->sampled = stays ? loop->look : loop->sampled;
        expect_move(s, loop);
        return;
    }
    /* it may have waited since the first look, but was met before that, elsewhere */
    const struct sonde__thread *known = met || loop->found.tid == 0 ? NULL : &loop->found;
    gap.moved_ns = met && !runs_on ? UINT64_MAX : gap.moved_ns;
    bool nameless = met && lacks_script(&loop->stall.samples[loop->stall.count - 1].sample);
    if (!nameless && !sonde__sampler_stall_wants(&loop->stall, loop->decision.counted_ns, &gap)) {
        if (met) { /* the sample is of just now */
            loop->sampled = loop->look;
            loop->unread = false;
            expect_move(s, loop);
        }
        return;
    }
    if (s->sampler == NULL || !sonde__sampler_take(s->sampler, loop->tid, known, &sample)) {
        loop->unread = true;
        return;
    }
    if (sample.capture.letter == 'T') {
        hold(loop, &sample, now_ns);
        return;
    }
    /* the thread may have gone on before the watch did */
    uint64_t time_ns = sample.capture.time_ns,
             taken_ns = time_ns != 0 ? time_ns : sonde__host_monotonic_ns();
    if (s->outside != NULL) {
        sonde__watch_outside_look_again(s, loop);
    }
    if (!sonde__watch_is_still_busy(loop)) {
        sonde__sample_done(&sample);
        return;
    }
    gap.moved_ns = with_more(gap.moved_ns, s, loop, &sample);
    uint64_t counted_ns = loop->decision.counted_ns + sonde__base_minus(taken_ns, now_ns);
    if (nameless && !lacks_script(&sample)) {
        sonde__sampler_stall_return(&loop->stall, &mark);
    }
    gap.even = gap.even || (loop->stall.count == 0 && has_only_run(loop, counted_ns, gap.step_ns));
    find_borders(s, loop, &sample, taken_ns, counted_ns, &gap);
    sonde__sampler_stall_add(&loop->stall, &sample, counted_ns, &gap);
    loop->sampled = loop->look;
    loop->unread = false;
    expect_move(s, loop);
    sonde__sampler_cause_change(s->sampler, &loop->stall);
}

/* How long the thread ran since the last sample, at the end of its turn. Where that is long after
 * the last look, because the watch had no processor, only counters read since then tell: they must
 * show that the thread did not wait. */
static uint64_t moved_till_end(const struct sonde__watch_loop *loop, uint64_t moved_ns,
                               uint64_t end_ns, uint64_t duration_ns)
{
    const struct sonde__decide_account *a = &loop->account;
    uint64_t unseen_ns = sonde__base_minus(duration_ns, loop->seen_ns);
    uint64_t since_ns = sonde__base_minus(duration_ns, loop->stall.last_ns);
    uint64_t ran_ns = sonde__base_minus(a->cpu_ns, loop->sampled.cpu_ns);
    uint64_t waited_ns = sonde__base_minus(a->runqueue_ns, loop->sampled.runqueue_ns);
    if (unseen_ns <= UNSEEN_STEPS * loop->decision.sample_ns) {
        return moved_ns;
    }
    bool only_ran = a->at_ns >= end_ns && ran_ns + waited_ns + since_ns / UNSEEN_PART >= since_ns;
    return only_ran ? sonde__base_max(moved_ns, ran_ns) : UINT64_MAX;
}

/* It is not known what a thread did after the last look if it was blocked then. */
void sonde__watch_end_samples(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                              uint64_t duration_ns)
{
    struct sonde__sampler_gap gap = gap_of(s, loop);
    if (gap.moved_ns == 0 && loop->stall.count > 0) {
        sonde__sampler_stall_stay(
            &loop->stall, loop->seen_ns < duration_ns ? loop->seen_ns : duration_ns, gap.step_ns);
        gap.moved_ns = UINT64_MAX;
    }
    const struct sonde__decision *d = &loop->decision;
    uint64_t end_ns = d->since_ns + duration_ns + d->excluded_ns;
    gap.moved_ns = moved_till_end(loop, gap.moved_ns, end_ns, duration_ns);
    if (gap.moved_ns != 0 && duration_ns > loop->stall.last_ns + gap.step_ns) {
        (void)add_met(s, loop, end_ns, end_ns, duration_ns, false);
    }
    find_borders(s, loop, NULL, end_ns, duration_ns, &gap);
    sonde__sampler_stall_end(&loop->stall, duration_ns, &gap);
}
