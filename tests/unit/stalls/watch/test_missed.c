// SPDX-License-Identifier: Apache-2.0
/* Turns that no look saw. */
#include <stdlib.h>

#include "test.h"
#include "watch_missed.h"

#define MS        1000000ull
#define THRESHOLD (250u * MS)

/* The watcher is late by `gap` ms, and stood still for `halted` ms of the turn. The turn begins and
 * ends this many ms after the look was due. */
static uint64_t missed_ms(uint64_t gap, uint64_t begin, uint64_t end, uint64_t halted, bool stops)
{
    const struct sonde__decide_missed missed = {.due_ns = 1000 * MS,
                                                .begin_ns = (1000 + begin) * MS,
                                                .end_ns = (1000 + end) * MS,
                                                .now_ns = (1000 + gap) * MS,
                                                .halted_ns = halted * MS,
                                                .stops = stops};
    return sonde__decide_missed_time(&missed, THRESHOLD) / MS;
}

TEST(a_missed_turn_lasts_what_its_stamps_say)
{
    CHECK_EQ(missed_ms(2000, 400, 1000, 600, false), 600); /* only the watcher was stopped */
    CHECK_EQ(missed_ms(2000, 0, 1700, 1700, false), 1700);
    CHECK_EQ(missed_ms(700, 10, 690, 0, false), 680); /* the watcher waited for a CPU */
}

TEST(a_missed_turn_of_a_machine_that_stood_still_is_none)
{
    CHECK(missed_ms(20000, 0, 19990, 19985, false) < 250);
    CHECK(missed_ms(20000, 100, 19950, 19845, false) < 250);
    CHECK_EQ(missed_ms(300, 10, 290, 150, false), 130); /* it was stopped with the program */
    CHECK(missed_ms(20000, 100, 5000, 0, true) < 250);  /* the program is stopped often */
}

/* The watcher slept until the turn woke it: the time before does not count. */
TEST(a_missed_turn_after_a_long_sleep)
{
    struct sonde__decide_missed missed = {.begin_ns = 60000 * MS,
                                          .end_ns = 80000 * MS,
                                          .now_ns = 80010 * MS,
                                          .halted_ns = 19990 * MS};
    CHECK(sonde__decide_missed_time(&missed, THRESHOLD) < THRESHOLD);
    missed.halted_ns = 0;
    CHECK_EQ(sonde__decide_missed_time(&missed, THRESHOLD), 20000 * MS);
}

/* --- what the watch did between its looks --- */

/* A round of a watch: looks at 1000 ms, these looks at 1600. In between it worked until `rested`,
 * and waited until `woken`, in ms. */
struct between {
    uint64_t rested, woken, own, ran;
    bool stopped, sleeps; /* until a turn wakes it */
};

static uint64_t halted_ms(const struct between *b, uint64_t since, uint64_t until)
{
    struct sonde__watch_session *s = calloc(1, sizeof *s);
    s->options.threshold_ns = THRESHOLD;
    s->turns.period_ns = 15 * MS;
    s->before_ns = 1000 * MS;
    s->rested_ns = b->rested * MS;
    s->due_ns = b->sleeps ? 0 : (b->rested + 10) * MS;
    s->woken_ns = b->woken * MS;
    s->own_ns = b->own * MS;
    s->was_stopped = b->stopped;
    uint64_t halted_ns = sonde__watch_halted_in(s, since * MS, until * MS, b->ran * MS);
    free(s);
    return halted_ns / MS;
}

TEST(a_stop_in_the_wait_is_none_of_the_turn)
{
    const struct between stopped = {1000, 1600, 0, 0, true};
    CHECK_EQ(halted_ms(&stopped, 900, 1600), 600);
    CHECK_EQ(halted_ms(&stopped, 1200, 1600), 400);
    CHECK_EQ(halted_ms(&stopped, 900, 1100), 100); /* it had ended before */
}

/* A turn that began before the sleep, and ended before or in it. */
TEST(only_a_turn_that_wakes_the_watch_begins_in_its_sleep)
{
    const struct between sleeps = {.rested = 1300, .woken = 1600, .sleeps = true};
    CHECK_EQ(halted_ms(&sleeps, 900, 1290), 290); /* its work alone */
    CHECK_EQ(halted_ms(&sleeps, 1200, 1290), 0);
    CHECK_EQ(halted_ms(&sleeps, 1250, 1400), 0);
    CHECK_EQ(halted_ms(&sleeps, 1350, 1600), 235);
}

TEST(a_late_timer_is_no_halt)
{
    const struct between late = {1010, 1170, 0, 0, false}, queued = {1000, 1600, 600, 0, false};
    CHECK_EQ(halted_ms(&late, 900, 1180), 0);
    CHECK_EQ(halted_ms(&queued, 900, 1600), 0);
}

/* The watch waited for threads to sample, before its wait or after it (SIGQUIT). */
TEST(work_that_is_explained_is_no_halt)
{
    const struct between before = {1580, 1590, 580, 0, false}, after = {1010, 1020, 580, 0, false};
    const struct between alone = {1580, 1590, 0, 0, false}, ran = {1580, 1590, 0, 570, false};
    CHECK_EQ(halted_ms(&before, 900, 1600), 0);
    CHECK_EQ(halted_ms(&after, 900, 1600), 0);
    CHECK_EQ(halted_ms(&ran, 900, 1600), 0);
    CHECK_EQ(halted_ms(&alone, 900, 1600), 590);
    CHECK_EQ(halted_ms(&alone, 1300, 1500), 200);
    CHECK_EQ(halted_ms(&alone, 1450, 1600), 0);
}
