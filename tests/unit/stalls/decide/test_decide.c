// SPDX-License-Identifier: Apache-2.0
/* The stall decision under a virtual clock. */
#include <string.h>

#include "decide.h"
#include "decide_budget.h"
#include "test.h"

#define MS        1000000u
#define THRESHOLD (250u * MS)

/* A run of the watcher over one thread, with counts of its actions. */
struct run {
    struct sonde__decision decision;
    struct sonde__decide_look look;
    unsigned begun, ended, dropped, samples, ticks;
};

static void begin_run(struct run *run)
{
    memset(run, 0, sizeof *run);
    sonde__decide_init(&run->decision, THRESHOLD);
    run->look.now_ns = 1000u * MS;
}

static void tick(struct run *run)
{
    enum sonde__decide_action action = sonde__decide(&run->decision, &run->look);
    run->ticks++;
    run->begun += action == SONDE__DECIDE_BEGIN;
    run->ended += action == SONDE__DECIDE_END;
    run->dropped += action == SONDE__DECIDE_DROP;
    run->samples += action == SONDE__DECIDE_SAMPLE || action == SONDE__DECIDE_BEGIN;
}

/* Advance the clock by `ns`, with each tick when it is due. */
static void advance(struct run *run, uint64_t ns)
{
    uint64_t until = run->look.now_ns + ns;
    while (run->look.now_ns < until) {
        tick(run);
        uint64_t wait = sonde__decide_next_tick(&run->decision, run->look.now_ns);
        wait = wait > until - run->look.now_ns ? until - run->look.now_ns : wait;
        run->look.now_ns += wait > 0 ? wait : 1;
    }
}

static void become_busy(struct run *run)
{
    run->look.busy = true;
    run->look.since_ns = run->look.now_ns;
    run->look.ended_ns = 0; /* as the watch clears it when a turn begins */
}

static void become_idle(struct run *run)
{
    run->look.busy = false;
    run->look.ended_ns = run->look.now_ns;
    tick(run);
}

TEST(stall_is_found_while_it_lasts_and_measured)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 249u * MS);
    CHECK_EQ(run.begun, 0);
    CHECK(run.samples > 20); /* samples from the tenth millisecond on */
    advance(&run, 20u * MS);
    CHECK_EQ(run.begun, 1);
    advance(&run, 431u * MS);
    become_idle(&run);
    CHECK_EQ(run.ended, 1);
    CHECK_EQ(run.decision.duration_ns, 700u * MS);
}

TEST(end_is_when_the_thread_came_back_not_when_it_was_seen)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 3000u * MS);
    run.look.busy = false;
    run.look.ended_ns = run.look.now_ns - 100u * MS;
    tick(&run);
    CHECK_EQ(run.ended, 1);
    CHECK_EQ(run.decision.duration_ns, 2900u * MS);
}

TEST(next_spell_ends_the_stall_at_its_own_beginning)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 600u * MS);
    run.look.now_ns += 10u * MS;
    run.look.since_ns = run.look.now_ns - 2u * MS; /* the thread waited between the two looks */
    tick(&run);
    CHECK_EQ(run.ended, 1);
    CHECK_EQ(run.decision.duration_ns, 608u * MS);
    tick(&run);
    CHECK_EQ(run.decision.phase, SONDE__DECIDE_BUSY);
}

/* A stall of a scope lasts for its limit at least, so a part of the limit is fine enough. */
TEST(a_long_limit_is_sampled_rarely)
{
    struct run run;
    begin_run(&run);
    sonde__decide_init(&run.decision, 60000ull * MS);
    become_busy(&run);
    advance(&run, 5000ull * MS);
    CHECK(run.samples >= 15 && run.samples <= 20);
    become_idle(&run);
    CHECK_EQ(run.begun, 0);
    CHECK_EQ(run.dropped, 1);
}

TEST(short_turns_are_no_stall)
{
    struct run run;
    begin_run(&run);
    for (int i = 0; i < 50; i++) {
        become_busy(&run);
        advance(&run, 240u * MS);
        become_idle(&run);
        run.look.now_ns += 1u * MS;
    }
    CHECK_EQ(run.begun, 0);
    CHECK_EQ(run.dropped, 50);
}

TEST(idle_is_never_a_stall_and_asks_for_no_tick)
{
    struct run run;
    begin_run(&run);
    CHECK(sonde__decide_next_tick(&run.decision, run.look.now_ns) == UINT64_MAX);
    for (int i = 0; i < 100; i++) {
        run.look.now_ns += 60000ull * MS;
        tick(&run);
    }
    CHECK_EQ(run.begun, 0);
    CHECK_EQ(run.samples, 0);
}

TEST(stops_do_not_count)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    for (int i = 0; i < 12; i++) {
        run.look.held = true;
        advance(&run, 400u * MS);
        run.look.held = false;
        advance(&run, 10u * MS);
    }
    CHECK_EQ(run.begun, 0);
    CHECK(run.ticks < 1000); /* no busy loop while the program is stopped */
}

TEST(true_stall_between_stops_is_one)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 200u * MS);
    run.look.held = true;
    advance(&run, 5000ull * MS);
    run.look.held = false;
    advance(&run, 300u * MS);
    CHECK_EQ(run.begun, 1);
    become_idle(&run);
    CHECK(run.decision.duration_ns >= 400u * MS && run.decision.duration_ns <= 600u * MS);
}

/* A late watch may have missed a stop of a program that is stopped often: what its thread neither
 * ran, nor waited for a processor, nor slept through does not count. */
TEST(a_late_look_at_a_program_that_is_stopped_often)
{
    struct run run;
    begin_run(&run);
    run.look.stops = true;
    become_busy(&run);
    tick(&run);
    for (unsigned i = 0; i < 20; i++) {
        run.look.now_ns += 400u * MS; /* the watch waited for a processor */
        run.look.ran_ns = 10u * MS;
        tick(&run);
    }
    CHECK_EQ(run.begun, 0);
    CHECK_EQ(run.decision.counted_ns, 200u * MS);
    CHECK_EQ(run.decision.doubt_ns, 20ull * 390u * MS);
    run.look.now_ns += 400u * MS;
    run.look.slept = true; /* a stop would have woken it */
    tick(&run);
    CHECK_EQ(run.begun, 1);
    CHECK_EQ(run.decision.counted_ns, 600u * MS);
}

/* The watch was stopped, perhaps with the program: only what the thread itself did counts. */
TEST(while_the_watch_stands_still_nothing_counts)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    tick(&run);
    for (int i = 0; i < 100; i++) {
        run.look.now_ns += 160u * MS;
        run.look.halted_ns = 160u * MS;
        run.look.ran_ns = 2u * MS;
        tick(&run);
    }
    CHECK_EQ(run.begun, 0);
    CHECK_EQ(run.decision.counted_ns, 200u * MS);
    run.look.now_ns += 160u * MS;
    run.look.slept = true; /* a stop would have woken it: only the watch was stopped */
    run.look.ran_ns = 0;
    tick(&run);
    CHECK_EQ(run.begun, 1);
    CHECK_EQ(run.decision.counted_ns, 360u * MS);
    run.look.now_ns += 20000ull * MS; /* a paused machine wakes nobody */
    run.look.halted_ns = 20000ull * MS;
    tick(&run);
    CHECK_EQ(run.decision.counted_ns, 360u * MS);
}

/* The delay of a late look is only in part a halt. */
TEST(the_rest_of_a_late_look_counts)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.now_ns += 600u * MS;
    run.look.halted_ns = 400u * MS;
    tick(&run);
    CHECK_EQ(run.decision.counted_ns, 200u * MS);
    CHECK_EQ(run.decision.doubt_ns, 400u * MS);
}

TEST(a_watch_stands_still_if_nothing_explains_its_delay)
{
    const uint64_t least = THRESHOLD / SONDE__DECIDE_HALT_PART, from = 1000u * MS;
    const struct {
        uint64_t planned, late, own, halted;
        bool stopped;
    } cases[] = {
        {10 * MS, 150 * MS, 0, 160 * MS, true}, /* it may have begun before the look was due */
        {10 * MS, 150 * MS, 50 * MS, 110 * MS, true},
        {10 * MS, 150 * MS, 200 * MS, 0, true}, /* it waited for a CPU */
        {0, least, 0, least, true},
        {60 * MS, least - 1, 0, 0, true},
        {10 * MS, 150 * MS, 0, 0, false}, /* a timer that was late: a machine without a CPU */
        {0, 3 * (THRESHOLD / 4) - 1, 0, 0, false},
        {10 * MS, 20000ull * MS, 0, 20010ull * MS, false}, /* a machine that was paused */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t due = from + cases[i].planned;
        CHECK_EQ(sonde__decide_halted(from, due, due + cases[i].late, cases[i].own, THRESHOLD,
                                      cases[i].stopped),
                 cases[i].halted);
    }
    CHECK_EQ(sonde__decide_halted(from, from - 100 * MS, from + 20 * MS, 0, THRESHOLD, true),
             20 * MS);
    CHECK_EQ(sonde__decide_halted(from, from - 100 * MS, from - 1, 0, THRESHOLD, true), 0);
}

/* What is dropped is the difference between what a stall lasted and may have lasted. */
TEST(a_halt_leaves_an_upper_bound)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 400u * MS);
    tick(&run); /* the last of advance() was up to a period ago */
    run.look.now_ns += 5000ull * MS;
    run.look.halted_ns = 5000ull * MS;
    tick(&run);
    run.look.halted_ns = 0;
    CHECK_EQ(run.decision.counted_ns, 400u * MS);
    CHECK_EQ(sonde__decide_most(&run.decision), 5400ull * MS);
    run.look.held = true; /* a stopped program is no doubt */
    advance(&run, 3000u * MS);
    CHECK(sonde__decide_most(&run.decision) <= 5400ull * MS + 100u * MS);
    run.look.held = false;
    become_idle(&run);
    become_busy(&run);
    advance(&run, 100u * MS);
    CHECK_EQ(sonde__decide_most(&run.decision), run.decision.counted_ns);
}

/* The watcher waited for a CPU, as its own counters say: the machine ran. */
TEST(a_watcher_without_a_cpu_loses_no_time)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.now_ns += 530u * MS;
    run.look.halted_ns = 0;
    tick(&run);
    CHECK_EQ(run.decision.counted_ns, 530u * MS);
    CHECK_EQ(run.begun, 1);
}

/* The thread ran or waited for a CPU: the machine ran. */
TEST(a_thread_that_ran_explains_a_late_look)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.now_ns += 5000ull * MS;
    run.look.halted_ns = 4900ull * MS;
    run.look.ran_ns = 4990ull * MS;
    tick(&run);
    CHECK_EQ(run.decision.counted_ns, 4990ull * MS);
}

/* The stall began before a look and ended before the next one: it has no sample, but its stamps. */
TEST(stall_that_a_late_watcher_saw_once)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.now_ns += 5u * MS;
    tick(&run);
    CHECK_EQ(run.samples, 0);
    run.look.busy = false;
    run.look.ended_ns = run.look.since_ns + 530u * MS;
    run.look.now_ns += 700u * MS;
    tick(&run);
    CHECK_EQ(run.ended, 1);
    CHECK_EQ(run.decision.duration_ns, 530u * MS);
}

/* The end stamp counts, not the begin of the next turn: a wait was between them. */
TEST(wait_after_a_stall_is_not_part_of_it)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 400u * MS);
    run.look.ended_ns = run.look.now_ns;
    run.look.now_ns += 60u * MS;
    run.look.since_ns = run.look.now_ns - 2u * MS;
    tick(&run);
    CHECK_EQ(run.ended, 1);
    CHECK_EQ(run.decision.duration_ns, 400u * MS);
}

/* The stamps' clock ticks every 4 ms: the turn of a stall, the wait after it and the next turn may
 * fall in one tick. */
TEST(stall_in_the_tick_of_a_turn_that_was_seen)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.now_ns += 1u * MS;
    tick(&run);
    run.look.ended_ns = run.look.since_ns; /* and busy again since then */
    run.look.now_ns += 1u * MS;
    tick(&run);
    CHECK_EQ(run.decision.phase, SONDE__DECIDE_IDLE);
    run.look.ended_ns = 0;
    advance(&run, 600u * MS);
    CHECK_EQ(run.begun, 1);
    become_idle(&run);
    CHECK_EQ(run.ended, 1);
    CHECK(run.decision.duration_ns >= 598u * MS);
}

/* A turn that ended before the threshold is no stall, even if the look at its end was late. */
TEST(short_turn_before_a_late_look)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 240u * MS);
    run.look.busy = false;
    run.look.ended_ns = run.look.now_ns;
    run.look.now_ns += 5000ull * MS;
    tick(&run);
    CHECK_EQ(run.ended, 0);
    CHECK_EQ(run.dropped, 1);
}

static unsigned samples_of_long_turns(enum sonde__decide_means means, uint64_t turn_ns)
{
    struct run run;
    begin_run(&run);
    run.look.means = means;
    for (int i = 0; i < 10; i++) {
        become_busy(&run);
        advance(&run, turn_ns);
        become_idle(&run);
        run.look.now_ns += 50u * MS;
    }
    return run.samples;
}

TEST(poor_means_sample_only_what_is_likely_to_be_a_stall)
{
    CHECK(samples_of_long_turns(SONDE__DECIDE_RICH, 30u * MS) >= 10);
    CHECK_EQ(samples_of_long_turns(SONDE__DECIDE_FAIR, 30u * MS), 0);
    CHECK(samples_of_long_turns(SONDE__DECIDE_FAIR, 50u * MS) >= 10);
    CHECK_EQ(samples_of_long_turns(SONDE__DECIDE_POOR, 60u * MS), 0);
    unsigned samples = samples_of_long_turns(SONDE__DECIDE_POOR, 240u * MS);
    CHECK(samples >= 80 && samples <= 100); /* some samples would add nothing */
}

/* A look that is later than a quarter of the threshold may have missed a stop. */
TEST(a_program_that_stops_is_looked_at_though_no_sample_is_due)
{
    for (unsigned stops = 0; stops <= 1; stops++) {
        struct run run;
        begin_run(&run);
        sonde__decide_init(&run.decision, 150u * MS);
        run.look.means = SONDE__DECIDE_POOR;
        run.look.spread = SONDE__DECIDE_SPREAD_MAX;
        run.look.stops = stops != 0;
        become_busy(&run);
        advance(&run, 500u * MS);
        tick(&run);
        uint64_t wait_ns = sonde__decide_next_tick(&run.decision, run.decision.next_ns - 60u * MS);
        CHECK_EQ(wait_ns, stops != 0 ? 37500000u : 60u * MS);
    }
}

TEST(budget_is_one_percent_and_a_reserve)
{
    struct sonde__decide_budget budget;
    uint64_t now_ns = 5000ull * MS, spent = 0;
    sonde__decide_budget_init(&budget, now_ns);
    for (unsigned i = 0; i < 60000; i++) { /* a minute of rounds that spend as the budget allows */
        uint64_t cost = 0;
        now_ns += 1u * MS;
        switch (sonde__decide_budget_spend(&budget, now_ns, 0)) {
        case SONDE__DECIDE_RICH:
            cost = 100000;
            break;
        case SONDE__DECIDE_FAIR:
            cost = 50000;
            break;
        case SONDE__DECIDE_POOR:
            break;
        }
        (void)sonde__decide_budget_spend(&budget, now_ns, cost);
        spent += cost;
    }
    CHECK(spent <= 60000ull * MS / 100 + SONDE__DECIDE_BUDGET_RESERVE + 1u * MS);
    CHECK(spent >= 60000ull * MS / 100 / 2);
    (void)sonde__decide_budget_spend(&budget, now_ns + 60000ull * MS, 0);
    CHECK(budget.left_ns > SONDE__DECIDE_BUDGET_RESERVE / 10 * 9);
    CHECK(budget.left_ns <= SONDE__DECIDE_BUDGET_RESERVE); /* rest refills the reserve */
}

TEST(debugger_holds_the_clock)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.held = true;
    advance(&run, 60000ull * MS);
    become_idle(&run);
    CHECK_EQ(run.begun + run.samples, 0);
}

TEST(sampling_slows_down_and_never_stops)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 250u * MS);
    unsigned early = run.samples;
    CHECK(early >= 23 && early <= 26); /* 240 ms at 10 ms */
    advance(&run, 60000ull * MS);
    /* a hundred in the first second, one a hundredth of its age until 25 s, then four a second */
    CHECK(run.samples > 500 && run.samples < 600);
    CHECK_EQ(run.decision.sample_ns, SONDE__DECIDE_SAMPLE_LAST_NS);
}

/* The scheduler's counters will show the thread's next switch. */
TEST(a_thread_that_waits_on_is_looked_at_half_as_often)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.still = true;
    advance(&run, 250u * MS);
    CHECK(run.samples >= 11 && run.samples <= 14);
}

TEST(threshold_decides)
{
    struct run run;
    begin_run(&run);
    sonde__decide_init(&run.decision, 2000u * MS);
    become_busy(&run);
    advance(&run, 1990u * MS);
    CHECK_EQ(run.begun, 0);
    advance(&run, 600u * MS);
    CHECK_EQ(run.begun, 1);
}
