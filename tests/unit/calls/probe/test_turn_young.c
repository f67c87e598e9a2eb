// SPDX-License-Identifier: Apache-2.0
/* Loops that have hardly waited: programs at their start, by scripts of waits. */
#include "probe_turn.h"
#include "test.h"

static struct sonde__probe_page page;
static struct sonde__probe_slot *slot;
static uint64_t now_ns = 1000000000;

enum { POLL = SONDE__PROBE_POLL, SELECT };

static bool is_busy(void)
{
    return (atomic_load(&slot->beat) & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_BUSY;
}

/* Waits for `duration_ns`. */
static enum sonde__probe_turn wait_for(const struct sonde__probe_wait *wait, uint64_t duration_ns)
{
    if (slot == NULL) {
        slot = sonde__probe_claim(&page, 77);
    }
    enum sonde__probe_turn turn = sonde__probe_enter(slot, wait);
    now_ns += duration_ns;
    if (turn != SONDE__PROBE_NESTED) {
        sonde__probe_leave_any(slot, now_ns);
    }
    return turn;
}

static struct sonde__probe_wait wait_of(uint32_t kind, uint64_t object, uint64_t caller,
                                        uint64_t level)
{
    return (struct sonde__probe_wait){.object = object,
                                      .sp = level - 64,
                                      .caller = caller,
                                      .now_ns = now_ns,
                                      .level = level,
                                      .kind = kind,
                                      .learn = true,
                                      .note = true};
}

/* A wait of libxcb: it does not classify the thread. */
static enum sonde__probe_turn round_trip(uint64_t level)
{
    struct sonde__probe_wait wait = wait_of(POLL, 3, 0x400900, level);
    wait.learn = wait.note = false;
    return wait_for(&wait, 1000000);
}

/* Poll for events without a wait, as XtAppPending() does. */
static void ask_at(uint64_t caller, uint64_t level)
{
    struct sonde__probe_wait wait = wait_of(POLL, 3, caller, level);
    wait.instant = true;
    (void)wait_for(&wait, 0);
}

TEST(round_trips_are_no_turns_of_a_loop_that_waits_for_the_same)
{
    for (int i = 0; i < 20; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 3, 0x400100, 0x6000);
        (void)wait_for(&wait, 1000000);
    }
    uint64_t turns = atomic_load(&slot->turns);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(round_trip(0x6100 + (uint64_t)(i % 5) * 0x400), SONDE__PROBE_UNSURE);
        CHECK(is_busy());
    }
    CHECK_EQ(atomic_load(&slot->turns), turns);
    CHECK_EQ(slot->loop.caller, 0x400100);
    CHECK_EQ(slot->loop.level, 0x6000);
}

/* xterm: libXt polls 15 times in 100 us at one place, libxcb makes round trips further out. Then
 * its loop waits for seconds in select(), and polls in between. */
TEST(what_only_asked_gives_way_to_the_wait_that_comes_after_it)
{
    for (int i = 0; i < 20; i++) {
        ask_at(0x400500, 0x6000);
    }
    for (int i = 0; i < 100; i++) {
        (void)round_trip(0x6800 + (uint64_t)(i % 2) * 0x10);
    }
    for (int i = 0; i < 20; i++) {
        struct sonde__probe_wait wait = wait_of(SELECT, 5, 0x400200, 0x6d00);
        enum sonde__probe_turn turn = sonde__probe_enter(slot, &wait);
        CHECK(!is_busy());
        CHECK(i < 2 || turn == SONDE__PROBE_WAITING);
        now_ns += 600000000;
        if (turn != SONDE__PROBE_NESTED) {
            sonde__probe_leave_any(slot, now_ns);
        }
        for (int k = 0; k < 5; k++) {
            ask_at(0x400500, 0x6000);
        }
        (void)round_trip(0x6a00);
        CHECK(i < 2 || is_busy());
    }
    CHECK_EQ(slot->loop.kind, SELECT);
}

/* The same on a loaded machine: libXt has waited for long at its start, as a loop does. */
TEST(what_asks_only_gives_way_though_it_has_waited)
{
    for (int i = 0; i < 30; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 3, 0x400500, 0x6000);
        (void)wait_for(&wait, 30000000);
    }
    CHECK_EQ(slot->loop.kind, POLL);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 5; k++) {
            ask_at(0x400500, 0x6000);
        }
        struct sonde__probe_wait wait = wait_of(SELECT, 5, 0x400200, 0x6d00);
        enum sonde__probe_turn turn = sonde__probe_enter(slot, &wait);
        CHECK(!is_busy());
        CHECK(i < 3 || turn == SONDE__PROBE_WAITING);
        now_ns += 600000000;
        if (turn != SONDE__PROBE_NESTED) {
            sonde__probe_leave_any(slot, now_ns);
        }
        CHECK(is_busy());
    }
    CHECK_EQ(slot->loop.kind, SELECT);
}

/* A GTK program starts: libdbus waits at one place for calls of everybody. Then the main loop
 * waits, deeper in the stack, and no event comes. */
TEST(what_everybody_calls_is_young_however_long_it_waits)
{
    for (int i = 0; i < 30; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 6, 0x400500, 0x6000);
        wait.path = 100 + (uint64_t)(i / 3);
        (void)wait_for(&wait, 30000000);
    }
    CHECK_EQ(slot->loop.object, 6);
    struct sonde__probe_wait main_loop = wait_of(POLL, 3, 0x400200, 0x5000);
    CHECK_EQ(sonde__probe_enter(slot, &main_loop), SONDE__PROBE_NESTED);
    CHECK(!is_busy());
}

/* CPython 3.11 runs other code after eight rounds: other calls lead to the same wait. */
TEST(a_loop_whose_code_is_specialized_stays_one)
{
    for (int i = 0; i < 11; i++) {
        struct sonde__probe_wait wait = wait_of(SELECT, 4, 0x400500, 0x6000);
        wait.path = i < 8 ? 100 : 200;
        (void)wait_for(&wait, 20000000);
    }
    CHECK_EQ(slot->loop.kind, SELECT);
    CHECK(is_busy());
    CHECK(!sonde__probe_is_young(slot));
}

TEST(a_loop_of_two_calls_grows_old)
{
    for (int i = 0; i < 30; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 6, 0x400500, 0x6000);
        wait.path = 100 + (uint64_t)(i % 2);
        (void)wait_for(&wait, 30000000);
    }
    CHECK(!sonde__probe_is_young(slot));
}

/* A callback waits for an answer, in a loop that waits: at any level, it is part of a turn. */
TEST(an_answer_that_a_callback_waits_for_is_in_a_turn)
{
    for (int i = 0; i < 30; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 3, 0x400500, 0x6000);
        (void)wait_for(&wait, 30000000);
    }
    struct sonde__probe_wait wait = wait_of(POLL, 7, 0x400200, 0x6d00);
    CHECK_EQ(sonde__probe_enter(slot, &wait), SONDE__PROBE_NESTED);
    CHECK(is_busy());
}

/* Answers to requests at start come at once, and all at one place. */
TEST(a_loop_that_has_hardly_waited_is_young)
{
    for (int i = 0; i < 40; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 3, 0x400500, 0x6040);
        (void)wait_for(&wait, 0);
    }
    CHECK(is_busy());
    struct sonde__probe_wait wait = wait_of(SELECT, 5, 0x400200, 0x6d00);
    CHECK_EQ(wait_for(&wait, 1000000), SONDE__PROBE_NESTED);
    CHECK(!is_busy());
}

static void ask_for_keys_at(uint64_t caller, uint64_t level, uint64_t object)
{
    struct sonde__probe_wait wait = wait_of(SELECT, object, caller, level);
    wait.instant = true;
    (void)wait_for(&wait, 0);
}

/* mc: before each wait for a key, it asks seven times whether there is one or its shell has
 * something to say, from functions at other depths. Its select() has the same number of
 * descriptors. */
TEST(a_loop_is_found_among_questions_with_its_object)
{
    for (int i = 0; i < 60; i++) {
        for (uint64_t level = 0x7000; level >= 0x6800; level -= 0x400) {
            ask_for_keys_at(0x400900, level + 0x40, 4);
            ask_for_keys_at(0x400500, level, 3);
        }
        struct sonde__probe_wait wait = wait_of(SELECT, 3, 0x400200, 0x6c00);
        enum sonde__probe_turn turn = wait_for(&wait, 30000000);
        CHECK_EQ(turn, i < 2 ? SONDE__PROBE_NESTED : SONDE__PROBE_WAITING);
    }
    CHECK(is_busy());
    CHECK_EQ(slot->loop.caller, 0x400200);
    CHECK_EQ(slot->loop_changes, 0);
    uint64_t turns = atomic_load(&slot->turns);
    ask_for_keys_at(0x400500, 0x7000, 3);
    CHECK_EQ(atomic_load(&slot->turns), turns + 1); /* no deeper than the loop: it responds */
}

/* A program that only polls. */
TEST(turns_that_do_not_wait_reach_the_short_path)
{
    for (int i = 0; i < 80; i++) {
        ask_at(0x400500, 0x6000);
    }
    CHECK(sonde__probe_knows(slot, POLL, 3, 0x6000 - 64));
}

/* A game on X11 asks for events, deep inside a library, and sleeps until the next frame. */
static void frame(uint32_t asks, uint64_t pause_level)
{
    struct sonde__probe_wait pause = wait_of(SONDE__PROBE_SLEEP, 0x400700, 0x400700, pause_level);
    for (uint32_t i = 0; i < asks; i++) {
        ask_at(0x400500, 0x6000);
    }
    pause.now_ns = now_ns;
    pause.timed = true;
    (void)wait_for(&pause, 33000000);
}

TEST(a_pause_after_what_only_asks_is_the_loop)
{
    for (int i = 0; i < 60; i++) {
        frame(2, 0x6800);
    }
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_SLEEP);
    CHECK(is_busy());
    for (int i = 0; i < 60; i++) {
        frame(2, 0x6800);
        CHECK(is_busy());
    }
}

/* The sleep of a callback of a loop that had nothing but events to handle so far. */
TEST(a_pause_inside_what_only_asks_is_not_the_loop)
{
    for (int i = 0; i < 200; i++) {
        frame(2, 0x5000);
    }
    CHECK_EQ(slot->loop.kind, POLL);
}

/* --- a loop that is made again and again --- */

static void wait_in_turn(uint32_t kind, uint64_t places, unsigned waits)
{
    for (uint64_t i = 0; i < waits; i++) {
        struct sonde__probe_wait wait = wait_of(kind, 3, 0x400500, 0x7000 - i % places * 0x400);
        (void)wait_for(&wait, 1000000);
    }
}

/* asyncio.run() over and over: each waits for its task, then further in for what it closes. */
TEST(epoll_loop_that_comes_back_to_its_places_is_kept)
{
    wait_in_turn(SONDE__PROBE_EPOLL, 1, 3);
    wait_in_turn(SONDE__PROBE_EPOLL, 3, 180);
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_EPOLL);
    CHECK_EQ(slot->loop_changes, 0);
    wait_in_turn(SONDE__PROBE_EPOLL, 5, 400); /* and from everywhere */
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_NONE);
}

/* What polls one descriptor from two places may be a library that others call. */
TEST(poll_loop_that_comes_back_to_its_places_is_forgotten)
{
    wait_in_turn(POLL, 1, 3);
    CHECK_EQ(slot->loop.kind, POLL);
    wait_in_turn(POLL, 2, 12);
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_NONE);
}
