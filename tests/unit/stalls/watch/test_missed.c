// SPDX-License-Identifier: Apache-2.0
/* Turns that no look saw. */
#include "test.h"
#include "watch_decide.h"

#define MS        1000000u
#define THRESHOLD (250u * MS)

/* The watcher is late by `gap` ms, and stood still for `halted` ms of the turn. The turn begins and
 * ends this many ms after the look was due. */
static uint64_t missed_ms(uint64_t gap, uint64_t begin, uint64_t end, uint64_t halted, bool stops)
{
    const struct sonde__watch_missed missed = {.due_ns = 1000ull * MS,
                                               .begin_ns = (1000 + begin) * MS,
                                               .end_ns = (1000 + end) * MS,
                                               .now_ns = (1000 + gap) * MS,
                                               .halted_ns = halted * MS,
                                               .stops = stops};
    return sonde__watch_missed_time(&missed, THRESHOLD) / MS;
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
    struct sonde__watch_missed missed = {.begin_ns = 60000ull * MS,
                                         .end_ns = 80000ull * MS,
                                         .now_ns = 80010ull * MS,
                                         .halted_ns = 19990ull * MS};
    CHECK(sonde__watch_missed_time(&missed, THRESHOLD) < THRESHOLD);
    missed.halted_ns = 0;
    CHECK_EQ(sonde__watch_missed_time(&missed, THRESHOLD), 20000ull * MS);
}
