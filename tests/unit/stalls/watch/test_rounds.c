// SPDX-License-Identifier: Apache-2.0
/* The rounds of a watch whose waits the test makes: how long it would wait, and whether a turn that
 * begins would wake it. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "host_clock.h"
#include "os.h"
#include "session.h"
#include "test.h"
#include "watch_loop.h"
#include "watch_missed.h"
#include "watch_writer.h"

enum { QUIET_WAITS = 8, LONG_WAITS = 3, WAITS_AFTER = 2 };

struct rounds {
    struct sonde__watch_session *session;
    struct sonde__probe_slot *other; /* a thread that begins a turn */
    unsigned waits, quiet, after_turn;
    unsigned in_row;            /* quiet waits longer than a period */
    unsigned after;             /* quiet waits after the turn began */
    uint64_t first_ns, next_ns; /* the first quiet wait, and the first after the turn */
    bool was_quiet, has_turned;
};

/* The other thread begins a turn in the last of some long waits in a row. A watch that ran late
 * looks once more between them. */
static bool begins_turn(struct sonde__watch_session *s, struct rounds *r, uint64_t timeout_ns)
{
    r->in_row = timeout_ns > s->turns.period_ns ? r->in_row + 1 : 0;
    r->has_turned = r->in_row == LONG_WAITS;
    if (r->has_turned) {
        atomic_store(&r->other->beat,
                     sonde__probe_beat(sonde__host_monotonic_ns(), SONDE__PROBE_BUSY));
    }
    return r->has_turned;
}

/* A quiet wait is announced. */
static uint32_t wait_and_count(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    struct rounds *r = s->ctx;
    uint64_t pause_ns = sleeping && timeout_ns < 500 * MS ? timeout_ns : 10 * MS;
    const struct timespec pause = {0, (long)pause_ns};
    r->after_turn += r->was_quiet && r->has_turned && r->after == 0 && !sleeping;
    r->was_quiet = sleeping;
    if (sleeping) {
        r->first_ns = r->quiet++ == 0 ? timeout_ns : r->first_ns;
        if (!r->has_turned && begins_turn(s, r, timeout_ns)) {
            return SONDE__HOST_WOKEN;
        }
        if (r->has_turned && r->after++ == 0) {
            r->next_ns = timeout_ns;
        }
    }
    (void)nanosleep(&pause, NULL);
    return r->after == WAITS_AFTER || ++r->waits == GIVE_UP ? SONDE__HOST_TERMINATE : 0;
}

TEST(beside_a_long_scope_the_watch_looks_rarely_and_turns_wake_it)
{
    struct rounds rounds = {0};
    struct sonde__watch_session *s = make_session(&rounds);
    struct sonde__probe_scoped *place = sonde__probe_claim_scopes(s->scopes, sonde__os_tid());
    rounds.other = sonde__probe_claim(s->page, sonde__os_tid());
    sonde__probe_open_scope(s->page, s->scopes, &place->levels[0], (uint64_t)(uintptr_t) "long", 0,
                            60000 * MS, sonde__host_monotonic_ns());
    s->wait = wait_and_count;
    sonde__watch_session_run(s);
    CHECK_EQ(rounds.in_row, LONG_WAITS);
    CHECK(rounds.first_ns <= s->turns.period_ns); /* a turn may have begun before it */
    CHECK_EQ(rounds.after_turn, 1);
    CHECK_EQ(rounds.after, WAITS_AFTER);
    CHECK(rounds.next_ns <= s->turns.period_ns);
    free_session(s);
}

/* The longest wait while the first loop is in a sampled turn, and the budget is overspent. */
struct overspent {
    unsigned waits, sampled, late;
    uint64_t longest_ns;
};

static uint32_t wait_overspent(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    struct overspent *r = s->ctx;
    uint64_t pause_ns = r->waits % 4 == 0 && timeout_ns < 500 * MS ? timeout_ns + 3 * MS : 5 * MS;
    const struct timespec pause = {0, (long)pause_ns};
    bool is_late = s->due_ns != 0 && s->round_ns > s->due_ns + 2 * MS;
    (void)sleeping;
    CHECK(!is_late || s->own_ns > 0); /* what the watch did may explain it */
    r->late += is_late;
    s->budget.left_ns = -(int64_t)SONDE__DECIDE_BUDGET_RESERVE;
    s->stirred_ns = sonde__host_monotonic_ns(); /* else turns that begin would wake the watch */
    if (s->means == SONDE__DECIDE_POOR && s->loops[0].decision.phase >= SONDE__DECIDE_SUSPECT) {
        r->sampled++;
        r->longest_ns = timeout_ns > r->longest_ns ? timeout_ns : r->longest_ns;
    }
    (void)nanosleep(&pause, NULL);
    return r->sampled == QUIET_WAITS || ++r->waits == GIVE_UP ? SONDE__HOST_TERMINATE : 0;
}

/* Samples are due after up to a quarter of the threshold, and no look between two of them finds
 * anything. */
TEST(an_overspent_watch_wakes_for_samples_only)
{
    struct overspent r = {0};
    struct rounds rounds = {0};
    struct sonde__watch_session *s = make_session(&rounds);
    struct sonde__probe_slot *slot = sonde__probe_claim(s->page, sonde__os_tid());
    free(s->scopes);
    s->scopes = NULL;
    s->ctx = &r;
    s->wait = wait_overspent;
    atomic_store(&slot->beat, sonde__probe_beat(sonde__host_monotonic_ns(), SONDE__PROBE_BUSY));
    sonde__watch_session_run(s);
    CHECK(r.longest_ns > s->options.threshold_ns / 5);
    CHECK_EQ(r.sampled, QUIET_WAITS);
    CHECK(r.late > 0);
    free_session(s);
}

enum { BURN_MS = 60 };

/* The last wait lasts until it has used this much of a processor: no limit on time. */
static uint32_t wait_and_end(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    uint64_t until_ns = sonde__host_cpu_ns() + BURN_MS * MS;
    (void)s;
    (void)timeout_ns;
    (void)sleeping;
    while (sonde__host_cpu_ns() < until_ns) {
    }
    return SONDE__HOST_TERMINATE;
}

/* What the watch did before the program's end explains why its last look is late. */
TEST(the_last_round_is_accounted_for)
{
    struct sonde__watch_session *s = make_session(NULL);
    s->wait = wait_and_end;
    sonde__watch_session_run(s);
    CHECK(s->own_ns >= BURN_MS * MS / 2);
    free_session(s);
}

/* --- what happens while a loop is sampled --- */

enum { SAMPLED_US = 30000, PAUSE_US = 5000, LATE_US = 10000, ROUNDS_AFTER = 2, TRIES = 50 };

/* Two loops whose turns began at the same time. The turn of the second one ends while the watch is
 * busy with the stall of the first one. */
static struct beside {
    struct sonde__probe_slot *first, *second;
    uint64_t begin_ns, end_ns, left_ns; /* left_ns: when the last wait ended */
    unsigned rounds, exact;
    bool is_late; /* the machine did not run us: the watch does not count such time as a stall's */
} beside;

static void note_time(uint64_t expected_us)
{
    uint64_t now_ns = sonde__host_monotonic_ns();
    beside.is_late |= now_ns - beside.left_ns > (expected_us + LATE_US) * 1000;
    beside.left_ns = now_ns;
}

static void note_stall(void *ctx, const struct sonde__entry_ended *ended,
                       const struct sonde__report *report, const struct sonde__report_view *view,
                       uint32_t index)
{
    (void)ctx;
    (void)report;
    (void)view;
    (void)index;
    beside.exact += ended->duration_ns == beside.end_ns - beside.begin_ns;
}

static bool end_second(const struct sonde__probe_slot *slot, struct sonde__sampler_notes *ret_notes)
{
    (void)ret_notes;
    if (slot == beside.first && beside.end_ns == 0) {
        note_time(0);
        usleep(SAMPLED_US);
        note_time(SAMPLED_US);
        beside.end_ns = sonde__host_monotonic_ns();
        atomic_store(&beside.second->ended_ns, beside.end_ns);
        atomic_store(&beside.second->beat, sonde__probe_beat(beside.end_ns, SONDE__PROBE_IDLE));
    }
    return false;
}

static uint32_t wait_for_second(struct sonde__watch_session *s, uint64_t timeout_ns, bool sleeping)
{
    (void)s;
    (void)timeout_ns;
    (void)sleeping;
    note_time(0);
    usleep(PAUSE_US);
    note_time(PAUSE_US);
    beside.rounds += beside.end_ns != 0;
    return beside.rounds == ROUNDS_AFTER ? SONDE__HOST_TERMINATE : 0;
}

/* Ownership: free_session(). */
static struct sonde__watch_session *run_beside(void)
{
    beside = (struct beside){.left_ns = sonde__host_monotonic_ns()};
    struct sonde__watch_session *s = make_session(NULL);
    uint64_t tid = sonde__os_tid();
    beside.first = sonde__probe_claim(s->page, tid);
    beside.second = &s->page->slots[1];
    atomic_store(&beside.second->tid, tid);
    uint64_t beat = sonde__probe_beat(sonde__host_monotonic_ns(), SONDE__PROBE_BUSY);
    beside.begin_ns = beat & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    atomic_store(&beside.first->beat, beat);
    atomic_store(&beside.second->beat, beat);
    s->options.on_stall = note_stall;
    s->annotate = end_second;
    s->wait = wait_for_second;
    sonde__watch_session_run(s);
    return s;
}

/* A run in which a step was late says nothing. */
TEST(a_turn_that_ends_while_another_loop_is_sampled_lasts_until_then)
{
    struct sonde__watch_session *s = run_beside();
    for (unsigned i = 1; beside.is_late && i < TRIES; i++) {
        free_session(s);
        s = run_beside();
    }
    CHECK_EQ(s->stalls, 2);
    CHECK_EQ(beside.exact, 1);
    free_session(s);
}

/* The watch looked at 100 ms of a turn, next at 460. The program exited at 450, in this turn or in
 * another one. `own`: what explains that nobody looked. */
static struct sonde__watch_session *exit_in_a_turn(uint64_t own_ms, uint64_t other_ms,
                                                   uint64_t exit_ms)
{
    struct sonde__watch_session *s = make_session(NULL);
    struct sonde__watch_loop *loop = &s->loops[0];
    uint64_t zero_ns = (sonde__host_monotonic_ns() - 600 * MS) & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    struct sonde__probe_slot *slot = loop->slot = &s->page->slots[0];
    slot->loop.kind = SONDE__PROBE_POLL;
    loop->kind = SONDE__REPORT_STALL_LOOP;
    loop->tid = sonde__os_tid();
    loop->threshold_ns = s->options.threshold_ns;
    sonde__decide_init(&loop->decision, loop->threshold_ns);
    const struct sonde__decide_look look = {
        .now_ns = zero_ns + 100 * MS, .busy = true, .since_ns = zero_ns, .ran_ns = 100 * MS};
    (void)sonde__decide(&loop->decision, &look);
    atomic_store(&slot->tid, sonde__os_tid());
    atomic_store(&slot->beat, sonde__probe_beat(zero_ns + other_ms * MS, SONDE__PROBE_BUSY));
    atomic_store(&s->page->exited_ns, exit_ms != UINT64_MAX ? zero_ns + exit_ms * MS : exit_ms);
    s->before_ns = s->rested_ns = zero_ns + 100 * MS;
    s->due_ns = zero_ns + 140 * MS;
    s->woken_ns = s->inspected_ns = zero_ns + 460 * MS;
    s->own_ns = own_ms * MS;
    sonde__watch_loop_finish(s, loop);
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
    return s;
}

TEST(a_turn_in_which_the_program_exits_lasts_until_then)
{
    struct sonde__watch_session *s = exit_in_a_turn(320, 0, 450);
    CHECK_EQ(s->stalls, 1);
    CHECK_EQ(s->longest_ns, 450 * MS);
    CHECK_EQ(s->unsure_count, 0);
    free_session(s);
}

TEST(an_exit_that_nobody_saw_may_have_ended_a_stall)
{
    struct sonde__watch_session *s = exit_in_a_turn(0, 0, 450);
    CHECK_EQ(s->stalls, 0); /* the machine may have stood still */
    CHECK_EQ(s->unsure_ns, 450 * MS);
    free_session(s);
    s = exit_in_a_turn(320, 110, 450);
    CHECK_EQ(s->stalls, 0);
    CHECK_EQ(s->unsure_ns, 340 * MS);
    free_session(s);
    s = exit_in_a_turn(320, 400, 450);
    CHECK_EQ(s->stalls + s->unsure_count, 0);
    free_session(s);
}

/* The page is the program's: what it writes there is no duration. */
TEST(an_exit_in_the_future_is_now)
{
    struct sonde__watch_session *s = exit_in_a_turn(320, 110, UINT64_MAX);
    CHECK(s->unsure_count == 1 && s->unsure_ns < 3600000 * MS);
    free_session(s);
}

/* The watch looked at 100 ms, and sampled all threads until 550. A turn began and ended in that
 * time. `own`: what explains it. Returns how many stalls the next round finds. */
static uint64_t find_missed(uint64_t own_ms)
{
    struct sonde__watch_session *s = make_session(NULL);
    struct sonde__watch_loop *loop = &s->loops[0];
    uint64_t zero_ns = sonde__host_monotonic_ns() - 600 * MS;
    struct sonde__probe_slot *slot = loop->slot = &s->page->slots[0];
    const struct sonde__decide_account before = {0};
    slot->longs[0].begin_ns = zero_ns + 200 * MS;
    slot->longs[0].end_ns = zero_ns + 500 * MS;
    atomic_store(&slot->long_turns, 1);
    s->inspected_ns = s->woken_ns = s->due_ns = zero_ns + 100 * MS;
    sonde__watch_find_missed(s, loop, 0, &before, zero_ns + 100 * MS);
    CHECK_EQ(s->stalls + s->unsure_count, 0);
    s->before_ns = s->inspected_ns;
    s->rested_ns = zero_ns + 550 * MS;
    s->due_ns = s->woken_ns = s->inspected_ns = zero_ns + 560 * MS;
    s->own_ns = own_ms * MS;
    sonde__watch_find_missed(s, loop, 0, &before, zero_ns + 560 * MS);
    CHECK_EQ(s->stalls + s->unsure_count, 1);
    uint64_t found = s->stalls;
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
    free_session(s);
    return found;
}

TEST(a_turn_in_the_time_of_samples_is_explained_by_the_next_round)
{
    CHECK_EQ(find_missed(440), 1);
    CHECK_EQ(find_missed(0), 0);
}
