// SPDX-License-Identifier: Apache-2.0
/* The stall decision under a virtual clock. */
#include <string.h>

#include "test.h"
#include "watch_decide.h"

#define MS        1000000u
#define THRESHOLD (250u * MS)

/* A run of the watcher over one thread: what was asked for. */
struct run {
    struct sonde__watch_decision decision;
    struct sonde__watch_look look;
    unsigned begun, ended, dropped, samples, ticks;
};

static void begin_run(struct run *run)
{
    memset(run, 0, sizeof *run);
    sonde__watch_decide_init(&run->decision, THRESHOLD);
    run->look.now_ns = 1000u * MS;
}

static void tick(struct run *run)
{
    enum sonde__watch_action action = sonde__watch_decide(&run->decision, &run->look);
    run->ticks++;
    run->begun += action == SONDE__WATCH_BEGIN;
    run->ended += action == SONDE__WATCH_END;
    run->dropped += action == SONDE__WATCH_DROP;
    run->samples += action == SONDE__WATCH_SAMPLE || action == SONDE__WATCH_BEGIN;
}

/* Ticks as they fall due until `until_ns`. */
static void advance(struct run *run, uint64_t ns)
{
    uint64_t until = run->look.now_ns + ns;
    while (run->look.now_ns < until) {
        tick(run);
        uint64_t wait = sonde__watch_next_tick(&run->decision, run->look.now_ns);
        wait = wait > until - run->look.now_ns ? until - run->look.now_ns : wait;
        run->look.now_ns += wait > 0 ? wait : 1;
    }
}

static void become_busy(struct run *run)
{
    run->look.busy = true;
    run->look.since_ns = run->look.now_ns;
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
    CHECK(run.samples > 5); /* evidence from half the threshold on */
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
    run.look.since_ns = run.look.now_ns - 2u * MS; /* a whole wait lay between two looks */
    tick(&run);
    CHECK_EQ(run.ended, 1);
    CHECK_EQ(run.decision.duration_ns, 608u * MS);
    tick(&run);
    CHECK_EQ(run.decision.phase, SONDE__WATCH_BUSY);
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
    CHECK(sonde__watch_next_tick(&run.decision, run.look.now_ns) == UINT64_MAX);
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
    CHECK(run.ticks < 1000); /* waiting for SIGCONT is no busy loop */
}

TEST(true_stall_between_stops_is_one)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    advance(&run, 200u * MS);
    run.look.held = true;
    advance(&run, 5000u * MS);
    run.look.held = false;
    advance(&run, 300u * MS);
    CHECK_EQ(run.begun, 1);
    become_idle(&run);
    CHECK(run.decision.duration_ns >= 400u * MS && run.decision.duration_ns <= 600u * MS);
}

TEST(a_late_tick_counts_as_one_period)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    tick(&run);
    for (int i = 0; i < 3; i++) {
        run.look.now_ns += 10000ull * MS; /* the watcher itself did not run */
        tick(&run);
    }
    CHECK_EQ(run.begun, 0);
    run.look.now_ns += 10000ull * MS;
    tick(&run);
    CHECK_EQ(run.begun, 1);
}

/* The machine ran, and so did the thread: what the watcher worked meanwhile is counted. */
TEST(a_tick_delayed_by_the_supervisors_work)
{
    struct run run;
    begin_run(&run);
    become_busy(&run);
    run.look.now_ns += 350u * MS;
    run.look.own_ns = 340u * MS;
    tick(&run);
    run.look.own_ns = 0;
    CHECK_EQ(run.decision.counted_ns, 350u * MS);
    CHECK_EQ(run.decision.excluded_ns, 0);
    run.look.now_ns += 10000ull * MS; /* and the rest is late as ever */
    run.look.own_ns = 100u * MS;
    tick(&run);
    CHECK_EQ(run.decision.counted_ns, 450u * MS + run.decision.threshold_ns / 4);
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
    CHECK(early >= 10 && early <= 16); /* 125 ms at 10 ms */
    advance(&run, 60000ull * MS);
    /* 25 dense ones, some twenty while it slows down, then four a second */
    CHECK(run.samples > 230 && run.samples < 300);
    CHECK_EQ(run.decision.sample_ns, SONDE__WATCH_SAMPLE_LAST_NS);
}

TEST(threshold_decides)
{
    struct run run;
    begin_run(&run);
    sonde__watch_decide_init(&run.decision, 2000u * MS);
    become_busy(&run);
    advance(&run, 1990u * MS);
    CHECK_EQ(run.begun, 0);
    advance(&run, 600u * MS);
    CHECK_EQ(run.begun, 1);
}
