// SPDX-License-Identifier: Apache-2.0
#include "watch_loop.h"

#include "base_math.h"
#include "host_clock.h"
#include "host_run.h"
#include "watch_early.h"
#include "watch_live.h"
#include "watch_missed.h"
#include "watch_most.h"
#include "watch_sampling.h"
#include "watch_scopes.h"
#include "watch_shared.h"
#include "watch_stalled.h"

#define MS 1000000ull
/* A loop is given up for another one after this long without a turn and this many other waits. */
#define ABANDON_NS    (30000 * MS)
#define ABANDON_WAITS 32u
/* So much of the threshold into a turn, a thread that has not run between two looks is asked if it
 * waits for a terminal. */
#define USER_PART 8u

/* A loop whose descriptor is closed never turns again, and its thread keeps nobody waiting: it has
 * read the output of a child to its end, or closed its event loop. A stall right after such a close
 * is missed; the alternative is to report programs that only let time pass. */
static bool is_over(const struct sonde__watch_session *s, const struct sonde__watch_loop *loop,
                    const struct sonde__decide_look *look)
{
    const volatile struct sonde__probe_candidate *wait = sonde__watch_early_wait(loop->slot);
    bool epoll = wait->kind == SONDE__PROBE_EPOLL;
    bool timer = wait->kind == SONDE__PROBE_TIMER;
    if (look->now_ns < look->since_ns + s->options.threshold_ns / 2 ||
        (!epoll && !timer && wait->kind != SONDE__PROBE_POLL) || wait->object > INT32_MAX) {
        return false;
    }
    enum sonde__host_descriptor now =
        sonde__host_look_descriptor(s->pid, loop->tid, (int32_t)wait->object);
    return now == SONDE__HOST_CLOSED || now == SONDE__HOST_FILE ||
           ((epoll || timer) && now == SONDE__HOST_OTHER);
}

/* Has the thread not run since the last look? Only a supervisor (s->waiter) keeps the file open. */
static bool has_not_run(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__os_schedstat before = loop->clock.stat;
    return s->waiter != NULL && sonde__sampler_clock_read(&loop->clock, s->pid, loop->tid) &&
           sonde__os_schedstat_is_same(&before, &loop->clock.stat);
}

/* A sampled thread that has run since the last look: what `status` would tell is known by the
 * scheduler's records (loop->sampled is of their begin), and its state is in a shorter file. A
 * debugger stops a thread when it comes; that it has gone, and a filter, are found by the looks
 * that read it all. */
static bool look_by_trace(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                          uint64_t now_ns, struct sonde__host_thread_look *ret)
{
    struct sonde__host_moves moves;
    if (s->waiter == NULL || s->sampler == NULL || now_ns - loop->status_ns >= loop->threshold_ns ||
        loop->latest.tracer != 0 || loop->stall.count == 0 || !loop->clock.is_open ||
        !sonde__sampler_trace_peek(&s->trace, loop, &moves) ||
        (!moves.runs && !sonde__sampler_find(s->sampler, loop->tid, &loop->found))) {
        return false;
    }
    char letter = moves.runs ? 'R' : loop->found.letter;
    if (letter == 'Z' || letter == 'X' || letter == 't') {
        return false;
    }
    *ret = loop->sampled;
    ret->voluntary += moves.waits;
    ret->switches += moves.outs;
    ret->state = letter;
    ret->tracer = 0;
    ret->cpu_ns = loop->clock.stat.cpu_ns;
    ret->runqueue_ns = loop->clock.stat.runqueue_ns;
    return true;
}

/* has_not_run() has read the counters. A supervisor keeps the thread's files open; they stay those
 * of the thread when another one gets its number. False: no such thread runs. */
static bool read_status(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                        uint64_t now_ns, struct sonde__host_thread_look *ret)
{
    loop->status_ns = now_ns;
    if (s->waiter != NULL && loop->clock.is_open &&
        sonde__sampler_clock_look(&loop->clock, s->pid, loop->tid, ret)) {
        return true;
    }
    if (loop->clock.is_open) {
        sonde__sampler_clock_close(&loop->clock);
        sonde__sampler_trace_forget(&s->trace, loop->tid);
    }
    return sonde__host_look_thread(s->pid, loop->tid, ret);
}

/* Once, to the program that watches itself: it may be run from an IDE, always. */
static void tell_of_debugger(struct sonde__watch_session *s,
                             const struct sonde__host_thread_look *look)
{
    if (s->waiter == NULL && look->tracer != 0 && !s->debugger_printed) {
        s->debugger_printed = true;
        sonde__watch_print(s->writer, "a debugger is attached: while it is, its stops cannot be "
                                      "told apart from stalls, and none is reported");
    }
}

/* Look at the loop's thread, unless it has been idle since the last look. False: nothing is
 * known. */
static bool look_at_thread(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                           struct sonde__decide_look *look, struct sonde__host_thread_look *ret)
{
    uint64_t turns = atomic_load_explicit(&loop->slot->turns, memory_order_relaxed);
    uint64_t tid = loop->tid;
    if (!look->busy && loop->decision.phase == SONDE__DECIDE_IDLE && turns == loop->turns_seen) {
        return false;
    }
    loop->turns_seen = turns;
    bool rests = has_not_run(s, loop);
    loop->found.tid = 0;
    if (rests && !loop->is_old && (loop->latest.state == 'S' || loop->latest.state == 'D')) {
        *ret = loop->latest; /* a stop, or a debugger that stops it, would have made it run */
        look->slept = true;
        look->still = s->trace.who == loop;
        return true;
    }
    if (!look->busy && loop->decision.phase == SONDE__DECIDE_IDLE && loop->clock.is_open &&
        loop->latest.state != '\0') {
        *ret = loop->latest; /* it turns, so only its time matters, which has_not_run() has read */
        ret->cpu_ns = loop->clock.stat.cpu_ns;
        ret->runqueue_ns = loop->clock.stat.runqueue_ns;
        loop->is_old = true;
        return true;
    }
    if ((rests || !look_by_trace(s, loop, look->now_ns, ret)) &&
        !read_status(s, loop, look->now_ns, ret)) {
        look->busy = false; /* the thread has ended */
        atomic_compare_exchange_strong(&loop->slot->tid, &tid, 0);
        return false;
    }
    if (ret->confined) {
        atomic_store(&s->page->confined, 1);
    }
    loop->latest = *ret;
    loop->is_old = false;
    if (ret->state == 'T' || ret->state == 't' || ret->tracer != 0) {
        look->held = true;
        loop->held_ns = look->now_ns;
        tell_of_debugger(s, ret);
    }
    return true;
}

/* A turn of a known loop has ended by its own stamps, and not because another wait proved to be the
 * loop. Where the machine may have stood still, it may have been a stall. */
static void count_turn(struct sonde__watch_session *s, const struct sonde__watch_loop *loop)
{
    const struct sonde__decision *d = &loop->decision;
    if (loop->slot->loop_changes != loop->loop_changes || loop->early.is_turn) {
        return;
    }
    if (d->counted_ns < d->threshold_ns && sonde__decide_most(d) >= d->threshold_ns) {
        sonde__watch_count_unsure(s, sonde__decide_most(d));
    }
    if (loop->kind == SONDE__REPORT_STALL_LOOP) {
        sonde__decide_turns_add(&s->turns, d->counted_ns);
        s->longest_ns = sonde__base_max(s->longest_ns, d->counted_ns);
    }
}

/* Inspect the current turn, which may begin with this look. thread: null: not known. */
static void inspect_turn(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                         struct sonde__decide_look *look,
                         const struct sonde__host_thread_look *thread)
{
    struct sonde__decision *d = &loop->decision;
    bool begins = d->phase == SONDE__DECIDE_IDLE && look->busy;
    bool lasts = look->busy && (begins || (look->since_ns == d->since_ns && look->ended_ns == 0));
    uint64_t since_ns = begins ? look->since_ns : d->since_ns;
    uint64_t until_ns = lasts ? look->now_ns : d->phase == SONDE__DECIDE_IDLE ? 0 : d->tick_ns;
    if (!lasts && d->phase != SONDE__DECIDE_IDLE && look->ended_ns > until_ns) {
        until_ns = look->ended_ns < look->now_ns ? look->ended_ns : look->now_ns;
    }
    if (begins && loop->kind == SONDE__REPORT_STALL_SCOPE &&
        !sonde__watch_scope_begin(loop, look->since_ns)) {
        look->busy = false; /* the next look sees which scope it is */
        return;
    }
    if (begins) {
        sonde__decide_account_begin(&loop->account);
    }
    if (thread != NULL) {
        const struct sonde__decide_reading reading = {.now_ns = look->now_ns,
                                                      .cpu_ns = thread->cpu_ns,
                                                      .runqueue_ns = thread->runqueue_ns,
                                                      .ready = thread->state == 'R'};
        look->ran_ns = sonde__decide_account_look(&loop->account, since_ns, until_ns, &reading);
        look->ran_ns = thread->tracer != 0 ? 0 : look->ran_ns;
        loop->look = lasts ? *thread : loop->look;
    }
    look->halted_ns = sonde__watch_halted_in(s, since_ns, until_ns, look->ran_ns);
    if (begins) {
        loop->first_ns = look->now_ns;
        sonde__watch_early_begin(loop, look->early);
        sonde__watch_begin_turn(s, loop);
    }
    bool ended = d->phase != SONDE__DECIDE_IDLE && !lasts && look->ended_ns != 0;
    enum sonde__decide_action action = sonde__decide(d, look);
    if (ended) {
        count_turn(s, loop);
    }
    loop->seen_ns = lasts ? d->counted_ns : loop->seen_ns;
    sonde__watch_act(s, loop, action, look->now_ns);
}

static void give_up(struct sonde__watch_loop *loop)
{
    if (loop->decision.phase == SONDE__DECIDE_STALL && loop->decision.counted_ns > ABANDON_NS &&
        atomic_load(&loop->slot->nested) - loop->nested >= ABANDON_WAITS) {
        atomic_store(&loop->slot->abandon, 1);
    }
}

/* Does this turn not count, because the loop is over or other threads attend to it? */
static void check_loop(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                       const struct sonde__decide_look *look)
{
    bool is_due = look->now_ns >= look->since_ns + s->options.threshold_ns / 2;
    loop->over_ns = is_over(s, loop, look) ? look->since_ns : 0;
    if (loop->over_ns != 0) {
        atomic_store(&loop->slot->abandon, 1); /* the next wait that recurs may be the loop */
    }
    if (!is_due || loop->attended_ns == look->since_ns) {
        return;
    }
    bool moved = sonde__watch_has_moved(s->page, s->used, loop->slot);
    if (moved) {
        atomic_store(&loop->slot->abandon, 1);
    }
    bool shared =
        look->early && sonde__watch_is_shared(s->page, s->used, loop->slot,
                                              sonde__watch_early_wait(loop->slot)->object);
    if (moved || shared ||
        sonde__watch_is_attended(s->page, s->used, loop->slot, loop->latest.state == 'S')) {
        loop->attended_ns = look->since_ns;
        s->attended_turns++;
    }
}

/* What waits for a terminal waits for its user: the time does not count, as if the thread were
 * stopped. An editor's loop waits in poll() for what happens at once, and in read() for its user. A
 * scope was promised to end; who waits in it is not asked. */
static bool awaits_user(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                        const struct sonde__decide_look *look)
{
    bool rests = look->slept || (s->waiter == NULL && loop->latest.state == 'S');
    if (!look->busy || !rests || loop->kind != SONDE__REPORT_STALL_LOOP ||
        look->now_ns < look->since_ns + loop->threshold_ns / USER_PART) {
        loop->user_ns = 0;
        return false;
    }
    if (loop->user_ns != look->since_ns || !look->slept) {
        loop->user_ns = look->since_ns;
        loop->at_user = sonde__host_awaits_terminal(s->pid, loop->tid);
    }
    if (loop->at_user) {
        const struct sonde__decision *d = &loop->decision;
        bool begun = d->phase != SONDE__DECIDE_IDLE && d->since_ns == look->since_ns;
        s->users_ns += sonde__base_minus(look->now_ns, begun ? d->tick_ns : look->since_ns);
    }
    return loop->at_user;
}

static void note_stir(struct sonde__watch_session *s, struct sonde__watch_loop *loop, uint64_t beat,
                      uint64_t now_ns)
{
    uint64_t turns = atomic_load_explicit(&loop->slot->turns, memory_order_relaxed);
    if (beat != loop->beat || turns != loop->beat_turns) {
        loop->beat = beat;
        loop->beat_turns = turns;
        s->stirred_ns = now_ns;
    }
}

/* The slot has another thread, or none, since the last look. A number may be given again, so
 * nothing stays open that was opened by it. */
static void change_thread(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                          uint64_t tid)
{
    sonde__watch_live_take_back(s, loop);
    sonde__watch_early_settle(s, loop);
    sonde__watch_early_drop(loop);
    sonde__sampler_stall_done(&loop->stall);
    sonde__decide_init(&loop->decision, loop->threshold_ns);
    sonde__sampler_trace_forget(&s->trace, loop->tid);
    loop->account = (struct sonde__decide_account){0};
    sonde__sampler_clock_close(&loop->clock);
    loop->latest.state = '\0';
    loop->tid = tid;
    loop->longs_seen = loop->unsure_seen = 0;
    loop->last = (struct sonde__watch_span){0};
}

uint64_t sonde__watch_loop_inspect(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                                   uint64_t now_ns, bool *ret_busy)
{
    struct sonde__probe_slot *slot = loop->slot;
    struct sonde__decision *d = &loop->decision;
    struct sonde__host_thread_look thread;
    const uint64_t former_ns = d->since_ns;
    uint64_t tid = atomic_load_explicit(&slot->tid, memory_order_acquire);
    uint64_t beat = atomic_load_explicit(&slot->beat, memory_order_acquire);
    if (tid != loop->tid) {
        change_thread(s, loop, tid);
    }
    if (tid == 0) {
        return UINT64_MAX;
    }
    note_stir(s, loop, beat, now_ns);
    uint64_t ended_ns = atomic_load_explicit(&slot->ended_ns, memory_order_acquire);
    if (ended_ns != 0) { /* the turn that was seen has ended by now */
        beat = atomic_load_explicit(&slot->beat, memory_order_acquire);
    }
    struct sonde__decide_look look = {
        .now_ns = now_ns,
        .busy = (beat & SONDE__PROBE_STATE_MASK) != SONDE__PROBE_IDLE,
        .early = (beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_EARLY,
        .held = (beat & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_DOUBT,
        .since_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK,
        .ended_ns = ended_ns,
        .means = s->means,
        .spread = s->spread,
        .stops = sonde__watch_stops(loop, now_ns),
    };
    const struct sonde__host_thread_look *seen =
        look_at_thread(s, loop, &look, &thread) ? &thread : NULL;
    const struct sonde__decide_account before = loop->account;
    if (look.busy && s->checks) {
        check_loop(s, loop, &look);
    }
    look.busy = look.busy && (!look.early || sonde__watch_early_lasts(beat, now_ns)) &&
                loop->over_ns != look.since_ns && loop->attended_ns != look.since_ns &&
                !sonde__watch_is_paused(s, look.since_ns);
    look.held = awaits_user(s, loop, &look) || look.held;
    inspect_turn(s, loop, &look, seen);
    if (look.busy && d->phase == SONDE__DECIDE_IDLE) {
        loop->account = before; /* one turn has ended and the next has begun */
        inspect_turn(s, loop, &look, seen);
    }
    sonde__watch_early_settle(s, loop);
    sonde__watch_find_missed(s, loop, former_ns, &before, now_ns);
    sonde__watch_await_turn(s, loop, now_ns);
    give_up(loop);
    *ret_busy = *ret_busy || look.busy;
    return sonde__decide_next_tick(d, sonde__host_monotonic_ns());
}

/* A turn in which the program exits lasts until then: the last look may be long ago. Of one that
 * began after it, nobody saw anything. A thread that only sleeps or waits on a condition has left
 * its loop by now (watch_stalled.c). The program may write any time. */
static void finish_at_exit(struct sonde__watch_session *s, struct sonde__watch_loop *loop,
                           uint64_t now_ns)
{
    struct sonde__decision *d = &loop->decision;
    uint64_t exited_ns = sonde__base_min(atomic_load(&s->page->exited_ns), now_ns);
    uint64_t beat = atomic_load(&loop->slot->beat);
    uint64_t since_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    if (exited_ns == 0 || (beat & SONDE__PROBE_STATE_MASK) != SONDE__PROBE_BUSY ||
        loop->over_ns == since_ns || loop->attended_ns == since_ns ||
        sonde__probe_is_weak(loop->slot->loop.kind) || sonde__watch_is_paused(s, since_ns)) {
        return;
    }
    const struct sonde__decide_look look = {
        .now_ns = exited_ns,
        .busy = true,
        .since_ns = since_ns,
        .halted_ns = sonde__watch_halted_in(s, d->since_ns, exited_ns, 0)};
    bool is_seen = d->phase != SONDE__DECIDE_IDLE && since_ns == d->since_ns;
    if (is_seen && exited_ns > d->tick_ns) {
        sonde__decide_exit(d, &look);
    }
    uint64_t most_ns = is_seen ? sonde__decide_most(d) : sonde__base_minus(exited_ns, since_ns);
    if (most_ns >= loop->threshold_ns && !(is_seen && d->phase == SONDE__DECIDE_STALL)) {
        sonde__watch_count_unsure(s, most_ns);
    }
}

/* The thread may have come back to its wait after the last look. */
static void finish_turn(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    struct sonde__decision *d = &loop->decision;
    uint64_t ended_ns = atomic_load(&loop->slot->ended_ns);
    uint64_t now_ns = sonde__host_monotonic_ns();
    const struct sonde__decide_look over = {
        .now_ns = now_ns,
        .ended_ns = ended_ns,
        .halted_ns = sonde__watch_halted_in(s, d->since_ns, ended_ns != 0 ? ended_ns : now_ns, 0)};
    if (loop->tid != 0) {
        sonde__watch_find_missed(s, loop, d->since_ns, &loop->account, over.now_ns);
        finish_at_exit(s, loop, now_ns);
    }
    if (d->phase == SONDE__DECIDE_IDLE) {
        return;
    }
    if (ended_ns != 0) {
        enum sonde__decide_action action = sonde__decide(d, &over);
        count_turn(s, loop);
        sonde__watch_act(s, loop, action, over.now_ns);
    } else if (d->phase == SONDE__DECIDE_STALL) {
        sonde__watch_report_open(s, loop);
    }
}

void sonde__watch_loop_finish(struct sonde__watch_session *s, struct sonde__watch_loop *loop)
{
    finish_turn(s, loop);
    sonde__watch_early_finish(s, loop);
}
