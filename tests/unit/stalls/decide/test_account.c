// SPDX-License-Identifier: Apache-2.0
/* What a thread did with the time of its turn, by counters that are read at other times. */
#include "decide_account.h"

#include "test.h"

static uint64_t account(struct sonde__decide_account *a, uint64_t since_ns, uint64_t until_ns,
                        struct sonde__decide_reading reading)
{
    return sonde__decide_account_look(a, since_ns, until_ns, &reading);
}

TEST(cpu_time_of_a_turn_is_what_falls_into_it)
{
    struct sonde__decide_account a = {0};
    CHECK_EQ(account(&a, 0, 0, (struct sonde__decide_reading){1000, 5000, 10, false}), 0);
    CHECK_EQ(a.turn_cpu_ns, 0); /* no turn yet */
    sonde__decide_account_begin(&a);
    /* a turn since 1900: it gets at most 100 of the 300 used from 1000 to 2000 */
    CHECK_EQ(account(&a, 1900, 2000, (struct sonde__decide_reading){2000, 5300, 10, false}), 300);
    CHECK_EQ(a.turn_cpu_ns, 100);
    (void)account(&a, 1900, 3000, (struct sonde__decide_reading){3000, 5800, 60, false});
    CHECK_EQ(a.turn_cpu_ns, 600);
    CHECK_EQ(a.turn_runqueue_ns, 50);
    /* the turn ended at 3100, and the thread ran on */
    (void)account(&a, 1900, 3100, (struct sonde__decide_reading){4000, 6800, 60, false});
    CHECK_EQ(a.turn_cpu_ns, 700);
}

/* The kernel counts a wait for a CPU when it ends. The turn lasts from 1000 to 2100, of which the
 * thread runs from 1000 to 1030 and from 2080 on; looks come each 100. */
TEST(a_wait_for_a_processor_that_looks_fell_into_is_of_the_turn)
{
    for (unsigned ready = 0; ready < 2; ready++) {
        struct sonde__decide_account a = {0};
        struct sonde__decide_reading reading = {1000, 5000, 10, ready != 0};
        (void)account(&a, 1000, 1000, reading);
        sonde__decide_account_begin(&a);
        reading.cpu_ns += 30;
        for (reading.now_ns = 1100; reading.now_ns <= 2000; reading.now_ns += 100) {
            (void)account(&a, 1000, reading.now_ns, reading);
        }
        reading = (struct sonde__decide_reading){2150, 5050, 10 + 1050, false};
        (void)account(&a, 1000, 2100, reading);
        CHECK_EQ(a.turn_cpu_ns, 50);
        CHECK_EQ(a.turn_runqueue_ns, ready ? 1050 : 80); /* it waited for something else */
        CHECK_EQ(a.open_ns, 0);
        sonde__decide_account_begin(&a);
        reading = (struct sonde__decide_reading){2400, 5050, 10 + 1050 + 900, true};
        (void)account(&a, 2300, 2400, reading); /* most of this wait was before the turn */
        CHECK_EQ(a.turn_runqueue_ns, 100);
    }
}

/* The counter of a thread that runs goes on at ticks. A thread that waited has what it has. */
TEST(running_time_that_is_counted_at_ticks_is_not_lost)
{
    enum { TICK = 4, LOOK = 10, TURN = 600 };
    for (unsigned waits = 0; waits < 2; waits++) {
        struct sonde__decide_account a = {0};
        struct sonde__decide_reading reading = {1000, 1000, 0, true};
        (void)account(&a, 1000, 1000, reading);
        sonde__decide_account_begin(&a);
        for (uint64_t ms = LOOK; ms <= TURN; ms += LOOK) {
            uint64_t ran = waits != 0 ? ms / 2 : ms;
            reading.now_ns = 1000 + ms;
            reading.cpu_ns = 1000 + ran / TICK * TICK;
            reading.ready = waits == 0;
            (void)account(&a, 1000, reading.now_ns, reading);
        }
        CHECK_EQ(a.turn_cpu_ns, waits != 0 ? TURN / 2 : TURN);
    }
}

/* Between two looks the thread ran for 30 and waited for a CPU for 500, and had three turns that no
 * look saw, and one that still lasts and was credited 10 and 100. */
TEST(turns_that_no_look_saw_share_what_their_thread_did)
{
    struct sonde__decide_account now = {.at_ns = 3000, .cpu_ns = 130, .runqueue_ns = 1500};
    const struct sonde__decide_account before = {.at_ns = 2000, .cpu_ns = 100, .runqueue_ns = 1000};
    const struct sonde__decide_account none = {0};
    now.turn_cpu_ns = 10;
    now.turn_runqueue_ns = 100;
    struct sonde__decide_spent left = sonde__decide_account_since(&now, &before, 2900);
    CHECK_EQ(left.cpu_ns, 20);
    CHECK_EQ(left.runqueue_ns, 400);
    struct sonde__decide_spent taken = sonde__decide_account_take(&left, 320);
    CHECK_EQ(taken.cpu_ns, 20);
    CHECK_EQ(taken.runqueue_ns, 300);
    taken = sonde__decide_account_take(&left, 250);
    CHECK_EQ(taken.cpu_ns, 0);
    CHECK_EQ(taken.runqueue_ns, 100); /* for the rest it was blocked */
    taken = sonde__decide_account_take(&left, 250);
    CHECK_EQ(taken.runqueue_ns, 0);
    CHECK_EQ(sonde__decide_account_since(&now, &before, 1900).runqueue_ns, 500);
    CHECK_EQ(sonde__decide_account_since(&now, &none, 2900).runqueue_ns, 0);
}
