// SPDX-License-Identifier: Apache-2.0
/* Lengths of turns, and frames that they cost. */
#include <string.h>

#include "decide.h"
#include "decide_turns.h"
#include "report_turns.h"
#include "test.h"

#define MS 1000000ull

static void check_text(const struct sonde__decide_turns *turns, const char *expected)
{
    struct sonde__report_turn_count counts[SONDE__DECIDE_TURN_BUCKETS];
    struct sonde__report_end end = {0};
    char text[400];
    sonde__decide_turns_fill(turns, &end, counts);
    sonde__report_turns_text(&end, text, sizeof text);
    CHECK_STR(text, expected);
}

TEST(turns_are_counted_by_length)
{
    struct sonde__decide_turns turns;
    sonde__decide_turns_init(&turns, 160 * MS, 0);
    CHECK_EQ(turns.period_ns, 10 * MS);
    check_text(&turns, "");
    sonde__decide_turns_add(&turns, 20 * MS - 1); /* a look may not see it */
    check_text(&turns, "");
    sonde__decide_turns_add(&turns, 20 * MS);
    sonde__decide_turns_add(&turns, 40 * MS - 1);
    sonde__decide_turns_add(&turns, 40 * MS);
    sonde__decide_turns_add(&turns, UINT64_MAX);
    check_text(&turns,
               "long turns: 2 of 20 ms to 40 ms, 1 of 40 ms to 80 ms, 1 of 20.4 s and more");
}

TEST(looks_at_other_turns_wait_for_a_sample_that_is_due_soon)
{
    struct sonde__decide_turns turns;
    sonde__decide_turns_init(&turns, 250 * MS, 0);
    CHECK_EQ(turns.period_ns, 15625000);
    /* the step of a thread that stays where it is: one look in 20 ms, not two */
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_FAIR, 20 * MS, false), 20 * MS);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_FAIR, 10 * MS, false), 10 * MS);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_FAIR, 21 * MS, false), 15625000);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_FAIR, UINT64_MAX, false), 15625000);
    for (uint64_t due_ns = 0; due_ns < 100 * MS; due_ns += MS) {
        CHECK(sonde__decide_turns_pause(&turns, SONDE__DECIDE_FAIR, due_ns, false) <
              turns.period_ns * 3 / 2);
    }
}

/* The first sample of a turn is then due after a quarter of the threshold. */
TEST(an_overspent_watch_looks_less_often_and_does_not_count_what_it_may_miss)
{
    struct sonde__decide_turns turns;
    sonde__decide_turns_init(&turns, 160 * MS, 0);
    sonde__decide_turns_add(&turns, 20 * MS);
    sonde__decide_turns_add(&turns, 40 * MS);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_FAIR, UINT64_MAX, false), 10 * MS);
    check_text(&turns, "long turns: 1 of 20 ms to 40 ms, 1 of 40 ms to 80 ms");
    uint64_t pause_ns = sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, UINT64_MAX, false);
    CHECK_EQ(pause_ns, 30 * MS);
    for (uint64_t due_ns = 0; due_ns < 100 * MS; due_ns += MS) { /* a turn of 40 ms is seen */
        CHECK(sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, due_ns, false) <= 40 * MS);
    }
    check_text(&turns, "long turns: 1 of 40 ms to 80 ms");
    for (uint64_t threshold_ns = 20 * MS; threshold_ns < 2000 * MS; threshold_ns += 7 * MS) {
        sonde__decide_turns_init(&turns, threshold_ns, 0);
        pause_ns = sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, UINT64_MAX, false);
        CHECK(pause_ns >= 2 * turns.period_ns && pause_ns <= 3 * turns.period_ns);
        CHECK(pause_ns <= threshold_ns / 4 || pause_ns == 2 * turns.period_ns);
    }
    sonde__decide_turns_init(&turns, 250 * MS, 60);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, UINT64_MAX, false),
             turns.period_ns);
}

/* While the only loop is in a turn, nothing else is to be found: one look for each sample. What a
 * turn of this length may have begun and ended between two looks is not counted. */
TEST(an_overspent_watch_of_one_loop_looks_when_a_sample_is_due)
{
    struct sonde__decide_turns turns;
    sonde__decide_turns_init(&turns, 160 * MS, 60);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, 75 * MS, true), turns.period_ns);
    sonde__decide_turns_init(&turns, 160 * MS, 0);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_FAIR, 75 * MS, true), 10 * MS);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, 75 * MS, false), 30 * MS);
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, UINT64_MAX, true), 30 * MS);
    for (uint64_t ms = 20; ms <= 80; ms *= 2) {
        sonde__decide_turns_add(&turns, ms * MS);
    }
    check_text(&turns, "long turns: 1 of 40 ms to 80 ms, 1 of 80 ms to 160 ms");
    CHECK_EQ(sonde__decide_turns_pause(&turns, SONDE__DECIDE_POOR, 75 * MS, true), 75 * MS);
    check_text(&turns, "long turns: 1 of 80 ms to 160 ms");
}

TEST(frames_that_are_dropped)
{
    struct sonde__decide_turns turns;
    sonde__decide_turns_init(&turns, 250 * MS, 60);
    CHECK(turns.period_ns * 2 <= turns.frame_ns); /* every turn that drops one is seen */
    check_text(&turns, "0 frames dropped at 60 a second");
    sonde__decide_turns_add(&turns, 16 * MS);
    sonde__decide_turns_add(&turns, 17 * MS);
    sonde__decide_turns_add(&turns, 50 * MS);
    sonde__decide_turns_add(&turns, 100 * MS);
    CHECK_EQ(turns.frames, 0 + 1 + 3 + 6);
    sonde__decide_turns_init(&turns, 250 * MS, 120);
    CHECK_EQ(turns.period_ns, turns.frame_ns / 2);
    sonde__decide_turns_init(&turns, 50 * MS, 1);
    CHECK_EQ(turns.period_ns, sonde__decide_idle_period(50 * MS));
}
