// SPDX-License-Identifier: Apache-2.0
/* Turns over the threshold are kept with their own stamps, for a watch that looks late. */
#include "probe_turn.h"
#include "test.h"

#define MS 1000000ull

static struct sonde__probe_page page;
static struct sonde__probe_slot *slot;
static uint64_t now_ns = 4000 * MS;

static void leave(void)
{
    if (sonde__probe_must_check(&page, slot, now_ns)) {
        sonde__probe_check(&page, slot, now_ns);
    }
    sonde__probe_leave_any(slot, now_ns);
}

static void wait_in_loop(uint64_t for_ns)
{
    const struct sonde__probe_wait wait = {.object = 3,
                                           .sp = 0x7000,
                                           .caller = 0x400100,
                                           .now_ns = now_ns,
                                           .kind = SONDE__PROBE_EPOLL,
                                           .learn = true,
                                           .note = true};
    if (slot == NULL) {
        slot = sonde__probe_claim(&page, 77);
    }
    enum sonde__probe_turn turn = sonde__probe_enter(slot, &wait);
    now_ns += for_ns;
    if (turn != SONDE__PROBE_NESTED) {
        leave();
    }
}

static void begin_loop(int64_t threshold_ns)
{
    page.long_ns = threshold_ns;
    for (int i = 0; i < 100; i++) {
        wait_in_loop(50 * MS);
        now_ns += MS;
    }
    CHECK(sonde__probe_knows(slot, SONDE__PROBE_EPOLL, 3, 0x7000));
}

static uint64_t count(void)
{
    return atomic_load(&slot->long_turns);
}

TEST(long_turns_are_kept_and_long_waits_are_not)
{
    begin_loop(250 * MS);
    wait_in_loop(100000 * MS);
    CHECK_EQ(count(), 0);
    now_ns += 249 * MS;
    wait_in_loop(500 * MS);
    CHECK_EQ(count(), 0);
    uint64_t begin_ns = now_ns, turns = atomic_load(&slot->turns);
    now_ns += 251 * MS;
    wait_in_loop(500 * MS);
    CHECK_EQ(count(), 1);
    CHECK_EQ(slot->longs[0].begin_ns, begin_ns);
    CHECK_EQ(slot->longs[0].end_ns, begin_ns + 251 * MS);
    CHECK_EQ(slot->longs[0].turns, turns);
}

/* A wait inside the turn does not end it; a poll without a wait does. */
TEST(where_a_long_turn_ends)
{
    struct sonde__probe_wait other = {.object = 9,
                                      .sp = 0x6000,
                                      .caller = 0x400900,
                                      .kind = SONDE__PROBE_POLL,
                                      .learn = true,
                                      .note = true};
    begin_loop(250 * MS);
    now_ns += 200 * MS;
    other.now_ns = now_ns;
    CHECK_EQ(sonde__probe_enter(slot, &other), SONDE__PROBE_NESTED);
    now_ns += 200 * MS;
    CHECK_EQ(count(), 0);
    const struct sonde__probe_wait asks = {.object = 3,
                                           .sp = 0x7000,
                                           .caller = 0x400100,
                                           .now_ns = now_ns,
                                           .kind = SONDE__PROBE_EPOLL,
                                           .instant = true,
                                           .learn = true,
                                           .note = true};
    CHECK_EQ(sonde__probe_enter(slot, &asks), SONDE__PROBE_INSTANT);
    leave();
    CHECK_EQ(count(), 1);
    CHECK_EQ(slot->longs[0].end_ns - slot->longs[0].begin_ns, 401 * MS);
    wait_in_loop(MS);
    CHECK_EQ(count(), 1); /* the next turn was short */
}

TEST(the_last_ones_are_kept)
{
    begin_loop(250 * MS);
    for (uint64_t i = 0; i < 20; i++) {
        now_ns += (300 + i) * MS;
        wait_in_loop(MS);
    }
    CHECK_EQ(count(), 20);
    for (uint64_t n = 20 - SONDE__PROBE_LONGS; n < 20; n++) {
        const struct sonde__probe_long *turn = &slot->longs[n % SONDE__PROBE_LONGS];
        CHECK_EQ(turn->end_ns - turn->begin_ns, (300 + n) * MS);
    }
}

/* Time before a new loop takes over is no turn of it. */
TEST(no_turn_is_kept_where_another_loop_begins)
{
    begin_loop(250 * MS);
    for (int i = 0; i < 40; i++) {
        const struct sonde__probe_wait outer = {.object = 5,
                                                .sp = 0x7000 + 2 * SONDE__PROBE_FAR_BYTES,
                                                .caller = 0x400a00,
                                                .now_ns = now_ns,
                                                .kind = SONDE__PROBE_POLL,
                                                .learn = true,
                                                .note = true};
        now_ns += 400 * MS;
        if (sonde__probe_enter(slot, &outer) != SONDE__PROBE_NESTED) {
            break;
        }
    }
    CHECK_EQ(slot->loop.object, 5);
    CHECK_EQ(count(), 0);
}

TEST(without_a_threshold_none_is_kept)
{
    begin_loop(0);
    now_ns += 100000 * MS;
    wait_in_loop(MS);
    CHECK_EQ(count(), 0);
}

/* --- the short path: the clock is read once a turn while the supervisor looks in time --- */

static bool wait_short(uint64_t for_ns)
{
    bool stamps = atomic_load(&slot->stamp) != 0; /* as the wrapper asks */
    CHECK(sonde__probe_knows(slot, SONDE__PROBE_EPOLL, 3, 0x7000));
    if (stamps) {
        sonde__probe_keep_long(slot, now_ns);
        sonde__probe_stamp(slot, now_ns);
    }
    (void)sonde__probe_enter_known(slot, false);
    now_ns += for_ns;
    leave();
    return stamps;
}

TEST(turns_stamp_their_ends_when_the_supervisor_is_late)
{
    begin_loop(250 * MS);
    page.late_ns = 60 * MS;
    atomic_store(&page.looked_ns, now_ns);
    (void)wait_short(MS);
    for (int i = 0; i < 50; i++) {
        CHECK(!wait_short(MS));
    }
    now_ns += 20 * MS;
    (void)wait_short(MS); /* the turn after this one begins too late after the last look */
    now_ns += 700 * MS;
    CHECK(wait_short(500 * MS));
    CHECK_EQ(count(), 1);
    CHECK_EQ(slot->longs[0].end_ns - slot->longs[0].begin_ns, 700 * MS);
    CHECK_EQ(atomic_load(&slot->unsure_turns), 0);
}

/* The supervisor saw a turn begin, and is late for its end: later turns keep the end's stamp. */
TEST(the_end_that_the_supervisor_asked_for_waits_for_it)
{
    begin_loop(250 * MS);
    page.late_ns = 60 * MS;
    atomic_store(&page.looked_ns, now_ns);
    (void)wait_short(MS);
    atomic_store(&slot->stamp, SONDE__PROBE_STAMP_END);
    now_ns += 400 * MS;
    uint64_t end_ns = now_ns;
    CHECK(wait_short(25 * MS));
    for (int i = 0; i < 3; i++) {
        now_ns += MS;
        (void)wait_short(25 * MS);
    }
    CHECK_EQ(atomic_load(&slot->ended_ns), end_ns);
}

/* The turn began right after the last look, and nobody looked for its end. */
TEST(a_turn_that_may_have_been_long_is_counted)
{
    begin_loop(250 * MS);
    page.late_ns = 60 * MS;
    atomic_store(&page.looked_ns, now_ns - 1);
    (void)wait_short(MS);
    now_ns += 700 * MS;
    CHECK(!wait_short(MS));
    CHECK_EQ(count(), 0);
    CHECK_EQ(atomic_load(&slot->unsure_turns), 1);
    atomic_store(&page.looked_ns, now_ns + MS); /* one that was looked at is not */
    now_ns += 10 * MS;
    (void)wait_short(900 * MS);
    CHECK_EQ(atomic_load(&slot->unsure_turns), 1);
}

/* A wait far outside the loop, which does not teach: the thread may be idle there. */
static void wait_outside(uint64_t for_ns)
{
    const struct sonde__probe_wait wait = {.object = 9,
                                           .sp = 0x27000,
                                           .caller = 0x400900,
                                           .now_ns = now_ns,
                                           .kind = SONDE__PROBE_POLL,
                                           .learn = true,
                                           .note = true};
    CHECK_EQ(sonde__probe_enter(slot, &wait), SONDE__PROBE_NESTED);
    now_ns += for_ns;
}

TEST(a_long_turn_that_a_wait_has_hidden_is_counted)
{
    begin_loop(250 * MS);
    atomic_store(&page.looked_ns, INT64_MAX); /* the supervisor is never late */
    now_ns += 5 * MS;
    wait_outside(10 * MS);
    now_ns += 200 * MS;
    wait_in_loop(50 * MS);
    CHECK_EQ(atomic_load(&slot->unsure_turns), 0); /* 210 ms */
    now_ns += 5 * MS;
    wait_outside(10 * MS);
    CHECK_EQ(atomic_load(&slot->beat) & SONDE__PROBE_STATE_MASK, SONDE__PROBE_IDLE);
    now_ns += 400 * MS; /* nobody sees this */
    wait_in_loop(50 * MS);
    CHECK_EQ(atomic_load(&slot->unsure_turns), 1);
    now_ns += 10 * MS;
    wait_in_loop(900 * MS);
    now_ns += 10 * MS;
    wait_in_loop(50 * MS);
    CHECK_EQ(atomic_load(&slot->unsure_turns), 1);
    CHECK_EQ(count(), 0);
}
