// SPDX-License-Identifier: Apache-2.0
/* Learning of event loops, by scripts of waits: what real programs do, as one line each. */
#include <stdlib.h>
#include <string.h>

#include "probe_turn.h"
#include "test.h"

static struct sonde__probe_page page;
static struct sonde__probe_slot *slot;
static uint64_t now_ns = 1000000000;

enum { EPOLL = SONDE__PROBE_EPOLL, POLL, SELECT, COND };

static enum sonde__probe_turn wait_once(uint32_t kind, uint64_t object, uint64_t sp,
                                        uint64_t caller, bool instant)
{
    struct sonde__probe_wait wait = {object, sp, caller, now_ns, kind, instant, true};
    if (slot == NULL) {
        slot = sonde__probe_claim(&page, 77);
    }
    enum sonde__probe_turn turn = sonde__probe_enter(slot, &wait);
    now_ns += 1000000;
    if (turn != SONDE__PROBE_NESTED) {
        sonde__probe_leave(slot, now_ns);
    }
    return turn;
}

static bool is_busy(void)
{
    return (atomic_load(&slot->beat) & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_BUSY;
}

/* A loop on epoll descriptor 3 with `turns` turns behind it. */
static void run_loop(unsigned turns)
{
    for (unsigned i = 0; i < turns + SONDE__PROBE_LEARN_WAITS - 1; i++) {
        (void)wait_once(EPOLL, 3, 0x7000, 0x400100, false);
    }
}

TEST(loop_is_learned_with_the_third_wait)
{
    CHECK_EQ(wait_once(EPOLL, 3, 0x7000, 0x400100, false), SONDE__PROBE_NESTED);
    CHECK_EQ(wait_once(EPOLL, 3, 0x7000, 0x400100, false), SONDE__PROBE_NESTED);
    CHECK(!is_busy());
    CHECK_EQ(wait_once(EPOLL, 3, 0x7000, 0x400100, false), SONDE__PROBE_WAITING);
    CHECK(is_busy());
    CHECK_EQ(slot->loop.kind, EPOLL);
    CHECK_EQ(slot->loop.object, 3);
    CHECK_EQ(atomic_load(&slot->beat) & ~(uint64_t)3, now_ns);
}

TEST(thread_is_idle_while_it_waits)
{
    struct sonde__probe_wait wait = {3, 0x7000, 0x400100, now_ns, EPOLL, false, true};
    run_loop(20);
    CHECK(is_busy());
    CHECK_EQ(sonde__probe_enter(slot, &wait), SONDE__PROBE_WAITING);
    CHECK(!is_busy());
    sonde__probe_leave(slot, now_ns);
    CHECK(is_busy());
}

TEST(nested_wait_on_another_object_stays_busy)
{
    run_loop(20);
    uint64_t before = atomic_load(&slot->beat);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(wait_once(POLL, 9, 0x6000, 0x400900, false), SONDE__PROBE_NESTED);
    }
    CHECK_EQ(atomic_load(&slot->beat), before);
    CHECK_EQ(atomic_load(&slot->nested), 102);
    CHECK_EQ(wait_once(EPOLL, 3, 0x7000, 0x400100, false), SONDE__PROBE_WAITING);
}

TEST(nested_main_loop_turns_the_same_loop)
{
    run_loop(20);
    CHECK_EQ(wait_once(EPOLL, 3, 0x5000, 0x400100, false), SONDE__PROBE_WAITING);
    CHECK_EQ(slot->loop.sp, 0x7000); /* the outermost place stays */
}

TEST(select_loop_whose_nfds_grows)
{
    for (uint64_t nfds = 4; nfds < 40; nfds += 2) {
        enum sonde__probe_turn turn = wait_once(SELECT, nfds, 0x7000, 0x400200, false);
        CHECK_EQ(turn, nfds < 8 ? SONDE__PROBE_NESTED : SONDE__PROBE_WAITING);
    }
}

TEST(epoll_descriptor_reused)
{
    run_loop(20);
    CHECK_EQ(wait_once(EPOLL, 11, 0x7000, 0x400100, false), SONDE__PROBE_WAITING);
    CHECK_EQ(slot->loop.object, 11);
}

TEST(one_object_from_two_call_sites)
{
    for (int i = 0; i < 20; i++) {
        enum sonde__probe_turn turn =
            wait_once(COND, 0x5555, i % 2 ? 0x7000 : 0x7010, i % 2 ? 0x400100 : 0x400300, false);
        CHECK_EQ(turn, i < 2 ? SONDE__PROBE_NESTED : SONDE__PROBE_WAITING);
    }
}

TEST(timeout_of_zero_is_a_turn_but_never_idle)
{
    struct sonde__probe_wait wait = {3, 0x7000, 0x400100, now_ns, EPOLL, true, true};
    run_loop(20);
    uint64_t turns = atomic_load(&slot->turns);
    uint64_t before = atomic_load(&slot->beat);
    CHECK_EQ(sonde__probe_enter(slot, &wait), SONDE__PROBE_INSTANT);
    CHECK(is_busy());
    CHECK_EQ(atomic_load(&slot->beat), before);
    sonde__probe_leave(slot, now_ns + 5000000);
    CHECK_EQ(atomic_load(&slot->turns), turns + 1);
    CHECK(atomic_load(&slot->beat) > before);
}

TEST(outer_loop_replaces_inner)
{
    for (int i = 0; i < 20; i++) {
        (void)wait_once(POLL, 5, 0x50000, 0x400500, false);
    }
    CHECK(is_busy());
    /* the first waits of the outer loop are not called nested, though it is not known yet */
    CHECK_EQ(wait_once(EPOLL, 3, 0x70000, 0x400100, false), SONDE__PROBE_NESTED);
    CHECK(!is_busy());
    (void)wait_once(EPOLL, 3, 0x70000, 0x400100, false);
    CHECK_EQ(wait_once(EPOLL, 3, 0x70000, 0x400100, false), SONDE__PROBE_WAITING);
    CHECK_EQ(slot->loop_changes, 1);
    CHECK_EQ(wait_once(POLL, 5, 0x50000, 0x400500, false), SONDE__PROBE_NESTED);
}

/* libuv: the frame of the loop's wait is larger than that of the callback. */
TEST(callback_with_a_wait_at_a_higher_address_is_still_inside)
{
    run_loop(20);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(wait_once(POLL, 9, 0x7000 + 12288, 0x400900, false), SONDE__PROBE_NESTED);
        CHECK(is_busy());
    }
    CHECK_EQ(slot->loop.kind, EPOLL);
}

TEST(start_up_waits_give_way_to_the_real_loop)
{
    for (int i = 0; i < 3; i++) {
        (void)wait_once(COND, 0x5555, 0x7f00, 0x400300, false);
    }
    CHECK_EQ(slot->loop.kind, COND);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(wait_once(EPOLL, 3, 0x5000, 0x400100, false), SONDE__PROBE_NESTED);
        CHECK(!is_busy()); /* in doubt: never a report of an idle program */
        now_ns += 600000000;
    }
    CHECK_EQ(wait_once(EPOLL, 3, 0x5000, 0x400100, false), SONDE__PROBE_WAITING);
    CHECK_EQ(slot->loop.kind, EPOLL);
}

TEST(many_short_waits_are_no_rival)
{
    run_loop(4);
    for (int i = 0; i < 400; i++) {
        CHECK_EQ(wait_once(POLL, 9, 0x6000, 0x400900, false), SONDE__PROBE_NESTED);
    }
    CHECK_EQ(slot->loop.kind, EPOLL);
}

TEST(an_old_loop_is_replaced_only_on_request)
{
    run_loop(20);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(wait_once(POLL, 9, 0x6000, 0x400900, false), SONDE__PROBE_NESTED);
    }
    CHECK(is_busy());
    atomic_store(&slot->abandon, 1);
    CHECK_EQ(wait_once(POLL, 9, 0x6000, 0x400900, false), SONDE__PROBE_WAITING);
    CHECK_EQ(atomic_load(&slot->abandon), 0);
}

TEST(polling_without_waiting_is_no_rival)
{
    run_loop(2);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(wait_once(POLL, 9, 0x6000, 0x400900, true), SONDE__PROBE_NESTED);
    }
    CHECK(is_busy());
    CHECK_EQ(slot->loop.kind, EPOLL);
}

TEST(a_wait_that_may_not_teach_is_never_a_loop)
{
    struct sonde__probe_wait wait = {0, 0x7000, 0x400100, now_ns, POLL, false, false};
    slot = sonde__probe_claim(&page, 77);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(sonde__probe_enter(slot, &wait), SONDE__PROBE_NESTED);
    }
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_NONE);
}

TEST(handler_inside_the_probe_keeps_out)
{
    run_loop(20);
    slot->entered = 1;
    CHECK_EQ(wait_once(EPOLL, 3, 0x7000, 0x400100, false), SONDE__PROBE_NESTED);
}

TEST(more_candidates_than_places_are_counted)
{
    for (uint64_t i = 0; i < SONDE__PROBE_CANDIDATES + 2; i++) {
        (void)wait_once(POLL, 100 + i, 0x7000 - i * 0x100, 0x400100 + i * 16, false);
    }
    CHECK_EQ(slot->candidates_lost, 2);
}

TEST(slots_are_claimed_once_reused_and_counted_when_all_are_taken)
{
    struct sonde__probe_slot *first = sonde__probe_claim(&page, 1);
    for (uint32_t i = 2; i <= SONDE__PROBE_SLOTS; i++) {
        CHECK(sonde__probe_claim(&page, i) != NULL);
    }
    CHECK(sonde__probe_claim(&page, 9999) == NULL);
    CHECK_EQ(atomic_load(&page.slots_lost), 1);
    CHECK(sonde__probe_claim(&page, 1) == first); /* the number of a dead thread came back */
    atomic_store(&first->tid, 0);                 /* as the supervisor does */
    CHECK(sonde__probe_claim(&page, 9999) == first);
}

TEST(one_thread_wakes_the_sleeper)
{
    CHECK(!sonde__probe_must_wake(&page));
    atomic_store(&page.sleeping, 1);
    CHECK(sonde__probe_must_wake(&page));
    CHECK(!sonde__probe_must_wake(&page));
}
