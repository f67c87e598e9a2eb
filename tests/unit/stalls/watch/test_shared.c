// SPDX-License-Identifier: Apache-2.0
/* Threads that wait at one descriptor in turns, by scripts of waits. */
#include <stdlib.h>

#include "probe_turn.h"
#include "test.h"
#include "watch_shared.h"

#define MS 1000000ull

enum { THREADS = 2, POLLSET = 6, LEVEL = 0x9000 };

struct play {
    struct sonde__probe_page *page;
    struct sonde__probe_slot *slots[THREADS];
    uint64_t now_ns;
};

static bool enter(struct play *play, unsigned thread, uint32_t kind, uint64_t object,
                  uint64_t level)
{
    struct sonde__probe_wait wait = {.object = object,
                                     .sp = level - 64,
                                     .caller = 0x400000 + kind * 64,
                                     .now_ns = play->now_ns,
                                     .level = level,
                                     .kind = kind,
                                     .learn = true,
                                     .note = true};
    return sonde__probe_enter_any(play->slots[thread], &wait) != SONDE__PROBE_NESTED;
}

static void turn_of(struct play *play, unsigned thread, uint32_t kind, uint64_t object)
{
    bool left = enter(play, thread, kind, object, LEVEL);
    play->now_ns += 20 * MS;
    if (left) {
        sonde__probe_leave_any(play->slots[thread], play->now_ns);
    }
    play->now_ns += MS;
}

static void turn(struct play *play, unsigned thread, uint64_t object)
{
    turn_of(play, thread, SONDE__PROBE_EPOLL, object);
}

/* Both threads have a loop, and are away from it. */
static struct play begin(uint64_t object, uint64_t other)
{
    struct play play = {.page = calloc(1, sizeof *play.page), .now_ns = 1000 * MS};
    for (unsigned i = 0; i < THREADS; i++) {
        play.slots[i] = sonde__probe_claim(play.page, 100 + i);
    }
    for (unsigned i = 0; i < 20; i++) {
        turn(&play, 0, object);
        turn(&play, 1, other);
    }
    return play;
}

static bool is_attended(const struct play *play, bool waits)
{
    return sonde__watch_is_attended(play->page, THREADS, play->slots[0], waits);
}

TEST(a_thread_is_attended_while_another_waits_for_it)
{
    struct play play = begin(POLLSET, POLLSET);
    CHECK(!is_attended(&play, false));
    (void)enter(&play, 1, SONDE__PROBE_EPOLL, POLLSET, LEVEL);
    CHECK(is_attended(&play, false));
    free(play.page);
}

/* Idle schedulers of Erlang: a futex of their own, 48 bytes further in than the wait for
 * descriptors, and 128 bytes further out in the other of its two calls. */
TEST(threads_that_all_sleep_where_they_would_wait_are_idle)
{
    struct play play = begin(POLLSET, POLLSET);
    (void)enter(&play, 0, SONDE__PROBE_FUTEX, 0x7000, LEVEL - 48);
    (void)enter(&play, 1, SONDE__PROBE_FUTEX, 0x7100, LEVEL + 128);
    CHECK(is_attended(&play, true));
    CHECK(!is_attended(&play, false)); /* it is awake again, and works */
    free(play.page);
}

/* The other thread was there once, too seldom for a loop. */
TEST(a_thread_that_sleeps_at_its_loop_is_idle_while_others_know_the_descriptor)
{
    struct play play = begin(POLLSET, POLLSET + 1);
    turn(&play, 1, POLLSET);
    (void)enter(&play, 0, SONDE__PROBE_FUTEX, 0x7000, LEVEL - 48);
    CHECK(is_attended(&play, true));
    free(play.page);
}

enum { TIMERS = 8 };

/* The first thread waits for descriptors, the second for timers. */
static struct play begin_two_loops(void)
{
    struct play play = begin(POLLSET, POLLSET);
    play.slots[1] = sonde__probe_claim(play.page, 101);
    for (unsigned i = 0; i < 20; i++) {
        turn(&play, 0, POLLSET);
        turn_of(&play, 1, SONDE__PROBE_POLL, TIMERS);
    }
    CHECK_EQ(play.slots[1]->loop.kind, SONDE__PROBE_POLL);
    return play;
}

/* GHC -threaded: two event managers, which its threads exchange. */
TEST(threads_that_exchange_their_loops_are_idle)
{
    struct play play = begin_two_loops();
    (void)enter(&play, 1, SONDE__PROBE_EPOLL, POLLSET, LEVEL);
    CHECK(is_attended(&play, true));
    CHECK(sonde__watch_has_moved(play.page, THREADS, play.slots[1]));
    CHECK(!sonde__watch_has_moved(play.page, THREADS, play.slots[0]));
    (void)enter(&play, 0, SONDE__PROBE_POLL, TIMERS, LEVEL);
    CHECK(sonde__watch_is_attended(play.page, THREADS, play.slots[1], true));
    CHECK(sonde__watch_has_moved(play.page, THREADS, play.slots[0]));
    free(play.page);
}

TEST(a_poll_that_begins_with_the_descriptor_of_another_loop_is_in_a_turn)
{
    struct play play = begin_two_loops();
    struct sonde__probe_wait wait = {.object = TIMERS,
                                     .sp = LEVEL - 1024,
                                     .caller = 0x500000,
                                     .now_ns = play.now_ns,
                                     .level = LEVEL - 960,
                                     .kind = SONDE__PROBE_POLL,
                                     .learn = true,
                                     .note = true};
    (void)sonde__probe_enter_any(play.slots[0], &wait);
    CHECK(!sonde__watch_has_moved(play.page, THREADS, play.slots[0]));
    CHECK(!is_attended(&play, true));
    free(play.page);
}

TEST(a_thread_that_waits_for_another_in_a_callback_is_stalled)
{
    struct play play = begin(POLLSET, POLLSET);
    (void)enter(&play, 0, SONDE__PROBE_COND, 0x7000, LEVEL - 1024);
    CHECK(!is_attended(&play, true));
    free(play.page);
}

TEST(a_thread_that_waits_for_a_descriptor_in_a_callback_is_stalled)
{
    struct play play = begin(POLLSET, POLLSET);
    (void)enter(&play, 0, SONDE__PROBE_POLL, 9, LEVEL - 48);
    CHECK(!is_attended(&play, true));
    free(play.page);
}

TEST(a_thread_with_a_descriptor_of_its_own_is_stalled_in_any_wait)
{
    struct play play = begin(POLLSET, POLLSET + 1);
    (void)enter(&play, 0, SONDE__PROBE_FUTEX, 0x7000, LEVEL - 48);
    (void)enter(&play, 1, SONDE__PROBE_EPOLL, POLLSET + 1, LEVEL);
    CHECK(!is_attended(&play, true));
    free(play.page);
}
