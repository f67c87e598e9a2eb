// SPDX-License-Identifier: Apache-2.0
/* The probe learns event loops from scripted waits; each line is the pattern of a real program. */
#include <stdlib.h>
#include <string.h>

#include "probe_turn.h"
#include "test.h"

static struct sonde__probe_page page;
static struct sonde__probe_slot *slot;
static uint64_t now_ns = 1000000000;

enum { EPOLL = SONDE__PROBE_EPOLL, POLL, SELECT, COND };
enum { SEM = SONDE__PROBE_SEM, FUTEX, SLEEP };

static enum sonde__probe_turn wait_for(const struct sonde__probe_wait *wait)
{
    if (slot == NULL) {
        slot = sonde__probe_claim(&page, 77);
    }
    enum sonde__probe_turn turn = sonde__probe_enter(slot, wait);
    now_ns += 1000000;
    if (turn != SONDE__PROBE_NESTED) {
        sonde__probe_leave_any(slot, now_ns);
    }
    return turn;
}

/* One wait of a caller whose frame is unknown. */
static enum sonde__probe_turn wait_once(uint32_t kind, uint64_t object, uint64_t sp,
                                        uint64_t caller, bool instant)
{
    const struct sonde__probe_wait wait = {.object = object,
                                           .sp = sp,
                                           .caller = caller,
                                           .now_ns = now_ns,
                                           .kind = kind,
                                           .instant = instant,
                                           .learn = true,
                                           .note = true};
    return wait_for(&wait);
}

/* One wait that does not end by itself. The caller's frame begins at `level`. */
static enum sonde__probe_turn wait_at(uint32_t kind, uint64_t object, uint64_t caller,
                                      uint64_t level, bool learn)
{
    const struct sonde__probe_wait wait = {.object = object,
                                           .sp = level - 64,
                                           .caller = caller,
                                           .now_ns = now_ns,
                                           .level = level,
                                           .kind = kind,
                                           .learn = learn,
                                           .note = true};
    return wait_for(&wait);
}

static enum sonde__probe_turn pause_at(uint64_t caller, uint64_t level)
{
    const struct sonde__probe_wait wait = {.object = caller,
                                           .sp = level - 64,
                                           .caller = caller,
                                           .now_ns = now_ns,
                                           .level = level,
                                           .kind = SLEEP,
                                           .timed = true,
                                           .learn = true,
                                           .note = true};
    return wait_for(&wait);
}

static bool is_busy(void)
{
    return (atomic_load(&slot->beat) & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_BUSY;
}

/* Run a loop on epoll descriptor 3 for `turns` turns after it was learned. */
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
    const struct sonde__probe_wait wait = {
        .object = 3, .sp = 0x7000, .caller = 0x400100, .kind = EPOLL};
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
    CHECK_EQ(slot->loop.sp, 0x7000); /* the outermost wait stays the loop's */
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
        CHECK_EQ(turn, i < 7 ? SONDE__PROBE_NESTED : SONDE__PROBE_WAITING);
    }
}

TEST(timeout_of_zero_is_a_turn_but_never_idle)
{
    const struct sonde__probe_wait wait = {
        .object = 3, .sp = 0x7000, .caller = 0x400100, .kind = EPOLL, .instant = true};
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
    /* the outer loop is not learned yet, but its first waits do not count as nested */
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
        (void)wait_once(SELECT, 7, 0x7f00, 0x400300, false);
    }
    CHECK_EQ(slot->loop.kind, SELECT);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(wait_once(EPOLL, 3, 0x5000, 0x400100, false), SONDE__PROBE_NESTED);
        CHECK(!is_busy()); /* in doubt: do not report an idle program */
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

TEST(a_loop_that_turns_again_is_kept)
{
    run_loop(20);
    (void)wait_once(POLL, 9, 0x6000, 0x400900, false);
    atomic_store(&slot->abandon, 1);
    run_loop(1);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(wait_once(POLL, 9, 0x6000, 0x400900, false), SONDE__PROBE_NESTED);
    }
    CHECK_EQ(slot->loop.kind, EPOLL);
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
    const struct sonde__probe_wait wait = {.sp = 0x7000, .caller = 0x400100, .kind = POLL};
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
    CHECK(sonde__probe_claim(&page, 1) == first); /* the tid of a dead thread was reused */
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

/* --- where the frame of the caller begins --- */

/* Tcl with Tk: round trips to the X server before the loop turns, then inside its callbacks. */
TEST(round_trips_from_everywhere_are_no_loop)
{
    for (uint64_t i = 0; i < 60; i++) {
        (void)wait_at(POLL, 3, 0x400500, 0x7000 - (i / 4 * 37 % 19) * 0x100, true);
    }
    CHECK(slot->loop.kind == SONDE__PROBE_NONE);
    CHECK(!is_busy());
    for (int i = 0; i < 40; i++) {
        (void)wait_at(POLL, 3, 0x400500, 0x7000 - (uint64_t)(i % 5) * 0x180, true);
        (void)wait_at(COND, 0x5555, 0x400100, 0x7300, true);
        CHECK_EQ(slot->loop.kind, i < 7 ? SONDE__PROBE_NONE : COND);
    }
    CHECK(is_busy());
    uint64_t before = atomic_load(&slot->beat);
    CHECK_EQ(wait_at(POLL, 3, 0x400500, 0x6d00, true), SONDE__PROBE_NESTED);
    CHECK_EQ(atomic_load(&slot->beat), before); /* inside a turn */
}

/* The probe learned a caller as the loop while its frame stood still, and forgets it when the frame
 * keeps moving. */
TEST(loop_that_moves_all_the_time_is_forgotten)
{
    for (int i = 0; i < 3; i++) {
        (void)wait_at(POLL, 3, 0x400500, 0x7000, true);
    }
    CHECK_EQ(slot->loop.kind, POLL);
    for (uint64_t i = 0; i < 12; i++) {
        (void)wait_at(POLL, 3, 0x400500, 0x6000 + i % 3 * 0x400, true);
    }
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_NONE);
    CHECK(!is_busy());
    CHECK_EQ(slot->loop_changes, 1);
}

/* A modal dialogue: hundreds of turns of a nested loop, then the outer one again. */
TEST(nested_main_loop_is_no_movement)
{
    for (int dialogue = 0; dialogue < 3; dialogue++) {
        for (int i = 0; i < 30; i++) {
            (void)wait_at(POLL, 5, 0x400500, 0x7000, true);
        }
        for (int i = 0; i < 300; i++) {
            (void)wait_at(POLL, 5, 0x400500, 0x5000, true);
        }
    }
    CHECK_EQ(slot->loop.kind, POLL);
    CHECK_EQ(slot->loop_changes, 0);
    CHECK_EQ(slot->loop.level, 0x5000); /* the level of the current wait */
    CHECK_EQ(wait_at(POLL, 5, 0x400500, 0x7000, true), SONDE__PROBE_WAITING);
    CHECK_EQ(slot->loop.level, 0x7000);
}

/* SDL's timer thread: waits on a semaphore, and its callbacks send events to the X server. */
TEST(thread_whose_outermost_wait_is_no_loops_has_none)
{
    for (int i = 0; i < 40; i++) {
        (void)wait_at(SEM, 0x5555, 0x400100, 0x7800, false);
        CHECK(!is_busy());
        (void)wait_at(POLL, 3, 0x400500, 0x6000, true);
        (void)wait_at(POLL, 3, 0x400500, 0x6000, true);
        CHECK(i < 4 || !is_busy());
    }
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_NONE);
}

/* Erlang's schedulers poll in turns, and wait on a futex in between, in a shorter chain of calls.
 */
TEST(thread_with_two_outermost_waits_of_which_one_is_no_loops_has_none)
{
    for (int i = 0; i < 40; i++) {
        (void)wait_at(EPOLL, 6, 0x400500, 0x7000, true);
        (void)wait_at(EPOLL, 6, 0x400500, 0x7000, true);
        (void)wait_at(FUTEX, 0x5555, 0x400100, 0x7080, false);
    }
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_NONE);
    CHECK(!is_busy());
}

TEST(pause_is_learned_slowly)
{
    for (int i = 0; i < 20; i++) {
        enum sonde__probe_turn turn = pause_at(0x400100, 0x7000);
        CHECK_EQ(turn, i < 7 ? SONDE__PROBE_NESTED : SONDE__PROBE_WAITING);
    }
    uint64_t before = atomic_load(&slot->beat);
    CHECK_EQ(pause_at(0x400100, 0x6000), SONDE__PROBE_NESTED); /* the same call in a callback */
    CHECK_EQ(atomic_load(&slot->beat), before);
}

/* for (;;) { poll(fd, ...); ...; usleep(...); } */
TEST(pause_in_every_turn_of_a_loop_is_part_of_it)
{
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(wait_at(POLL, 3, 0x400100, 0x7000, true) == SONDE__PROBE_WAITING, i >= 2);
        enum sonde__probe_turn turn = pause_at(0x400200, 0x7000);
        CHECK(i < 12 || turn == SONDE__PROBE_WAITING);
    }
    CHECK_EQ(slot->loop.kind, POLL);
}

/* An interpreter's handler sleeps at the level of its loop. If it does so rarely, it is a stall. */
TEST(pause_in_few_turns_of_a_loop_is_none_of_it)
{
    run_loop(20);
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < 9; i++) {
            (void)wait_at(SELECT, 4, 0x400100, 0x7000, true);
        }
        uint64_t before = atomic_load(&slot->beat);
        CHECK_EQ(pause_at(0x400200, 0x7000), SONDE__PROBE_NESTED);
        CHECK(k < 2 || atomic_load(&slot->beat) == before);
    }
}

/* guile calls select() deep in the stack, and handlers in frames further out. Each of five handlers
 * opens a pipe, which gets the same number, and polls it, in every other turn. */
TEST(waits_of_many_callers_for_one_number_are_no_part_of_the_loop)
{
    for (int i = 0; i < 20; i++) {
        (void)wait_at(SELECT, 6, 0x400100, 0x6000, true);
    }
    for (unsigned k = 0; k < 40; k++) {
        (void)wait_at(SELECT, 6, 0x400100, 0x6000, true);
        (void)wait_at(SELECT, 6, 0x400100, 0x6000, true);
        uint64_t before = atomic_load(&slot->beat);
        const struct sonde__probe_wait poll = {.object = 7,
                                               .sp = 0x6900 + (k * 3 % 5) * 16,
                                               .caller = 0x400200 + k * 3 % 5,
                                               .now_ns = now_ns,
                                               .level = 0x7000,
                                               .kind = POLL,
                                               .timed = true,
                                               .learn = true,
                                               .note = true};
        CHECK_EQ(wait_for(&poll), SONDE__PROBE_NESTED);
        CHECK_EQ(atomic_load(&slot->beat), before);
    }
    CHECK_EQ(slot->loop.kind, SELECT);
}

/* A program polls inside a library and sleeps between these calls. */
TEST(pause_outside_the_loop_is_idle)
{
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < 5; i++) {
            (void)wait_at(POLL, 4, 0x400100, 0x6000, true);
        }
        CHECK(is_busy());
        CHECK(pause_at(0x400200, 0x7000) == SONDE__PROBE_WAITING || k < 4);
        CHECK_EQ(slot->loop.kind, POLL);
    }
    struct sonde__probe_wait far = {.sp = 0x20000,
                                    .caller = 0x400200,
                                    .level = 0x20040,
                                    .kind = SLEEP,
                                    .timed = true,
                                    .learn = true,
                                    .note = true};
    CHECK_EQ(wait_for(&far), SONDE__PROBE_NESTED);
    CHECK(!is_busy()); /* too far out for a callback of the loop */
}

/* SDL: main calls the library, which waits deep in the stack, and its own handler, which sleeps
 * near main. */
TEST(pause_of_a_shallow_callback_is_inside_a_turn)
{
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < 20; i++) {
            (void)pause_at(0x400100, 0x6000);
        }
        uint64_t before = atomic_load(&slot->beat);
        (void)pause_at(0x400200, 0x6800);
        (void)wait_at(COND, 0x5555, 0x400300, 0x6800, true);
        CHECK_EQ(atomic_load(&slot->beat), before);
    }
    CHECK_EQ(slot->loop.caller, 0x400100);
}

/* libuv: a timer's callback has a higher address than the loop's wait, whose frame is large. */
TEST(callback_is_inside_whatever_its_stack_pointer)
{
    const struct sonde__probe_wait loop = {.object = 3,
                                           .sp = 0x4000,
                                           .caller = 0x400100,
                                           .level = 0x7000,
                                           .kind = EPOLL,
                                           .learn = true,
                                           .note = true};
    for (int i = 0; i < 20; i++) {
        (void)wait_for(&loop);
    }
    for (int i = 0; i < 50; i++) {
        uint64_t before = atomic_load(&slot->beat);
        CHECK_EQ(pause_at(0x400200, 0x6f00), SONDE__PROBE_NESTED);
        CHECK_EQ(wait_at(POLL, 9, 0x400300, 0x6f00, true), SONDE__PROBE_NESTED);
        CHECK_EQ(atomic_load(&slot->beat), before);
        (void)wait_for(&loop);
    }
    CHECK_EQ(slot->loop.kind, EPOLL);
}

/* for (;;) { wait for a job; ...; wait for its child; } */
TEST(wait_in_every_turn_of_a_weak_loop_is_part_of_it)
{
    for (int i = 0; i < 40; i++) {
        (void)wait_at(COND, 0x5555, 0x400100, 0x7000, true);
        CHECK(i < 7 || is_busy());
        enum sonde__probe_turn turn = wait_at(SONDE__PROBE_CHILD, 0, 0x400200, 0x7000, false);
        CHECK(i < 20 || turn == SONDE__PROBE_WAITING);
        CHECK_EQ(wait_at(SONDE__PROBE_CHILD, 0, 0x400300, 0x6000, false), SONDE__PROBE_NESTED);
    }
    CHECK_EQ(slot->loop.kind, COND);
}

/* The loop's callbacks wait on a condition, too, through the same library function. */
TEST(condition_of_a_callback_is_not_the_loops)
{
    for (int i = 0; i < 20; i++) {
        (void)wait_at(COND, 0x5555, 0x400100, 0x7000, true);
    }
    uint64_t before = atomic_load(&slot->beat);
    CHECK_EQ(wait_at(COND, 0x6666, 0x400100, 0x6e00, true), SONDE__PROBE_NESTED);
    CHECK_EQ(atomic_load(&slot->beat), before);
}

/* Two functions that call at the same depth by chance. */
TEST(pause_of_another_caller_at_the_same_place_is_not_the_loops)
{
    for (int i = 0; i < 20; i++) {
        (void)pause_at(0x400100, 0x7000);
    }
    CHECK_EQ(pause_at(0x400200, 0x7000), SONDE__PROBE_NESTED);
    CHECK_EQ(pause_at(0x400100, 0x7000), SONDE__PROBE_WAITING);
}

static enum sonde__probe_turn wait_long(uint64_t caller, uint64_t level, uint64_t duration_ns)
{
    const struct sonde__probe_wait wait = {.object = 3,
                                           .sp = level - 64,
                                           .caller = caller,
                                           .now_ns = now_ns,
                                           .level = level,
                                           .kind = POLL,
                                           .learn = true,
                                           .note = true};
    enum sonde__probe_turn turn = sonde__probe_enter(slot, &wait);
    bool held = (atomic_load(&slot->beat) & SONDE__PROBE_STATE_MASK) == SONDE__PROBE_DOUBT;
    CHECK_EQ(held, turn == SONDE__PROBE_UNSURE);
    now_ns += duration_ns;
    if (turn != SONDE__PROBE_NESTED) {
        sonde__probe_leave_any(slot, now_ns);
    }
    return turn;
}

/* SDL on X11 makes round trips while it creates the window, from frames outside the loop's wait on
 * the same connection. Later, each callback makes one. */
TEST(waits_for_the_loops_object_from_elsewhere_are_told_apart_by_their_time)
{
    for (int i = 0; i < 30; i++) {
        (void)wait_at(POLL, 3, 0x400500, 0x7000, true);
    }
    CHECK_EQ(slot->loop.caller, 0x400500);
    uint64_t before = atomic_load(&slot->beat);
    CHECK_EQ(wait_long(0x400100, 0x6800, 1000000), SONDE__PROBE_UNSURE);
    CHECK_EQ(atomic_load(&slot->beat), before); /* a round trip: the turn goes on */
    CHECK_EQ(wait_long(0x400100, 0x6800, 50000000), SONDE__PROBE_UNSURE);
    CHECK_EQ(atomic_load(&slot->beat), sonde__probe_beat(now_ns, SONDE__PROBE_BUSY)); /* a turn */
    for (int i = 0; i < 8; i++) {
        (void)wait_long(0x400100, 0x6800, 50000000);
    }
    CHECK_EQ(slot->loop.caller, 0x400100);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(wait_long(0x400100, 0x6800, 50000000), SONDE__PROBE_WAITING);
        before = atomic_load(&slot->beat);
        (void)wait_long(0x400500, 0x6000, 1000000);
        CHECK(i < 8 || atomic_load(&slot->beat) == before);
    }
}

/* SDL without a display to wait for sleeps a millisecond at a time, after earlier round trips. */
TEST(pauses_at_its_level_take_over_from_a_loop_that_is_over)
{
    for (int i = 0; i < 30; i++) {
        (void)wait_at(POLL, 3, 0x400500, 0x6000, true);
    }
    for (int i = 0; i < 900; i++) {
        CHECK_EQ(pause_at(0x400100, 0x6800), SONDE__PROBE_NESTED);
    }
    CHECK_EQ(slot->loop.kind, POLL); /* a callback may also sleep like this for a while */
    for (int i = 0; i < 200; i++) {
        (void)pause_at(0x400100, 0x6800);
    }
    CHECK_EQ(slot->loop.kind, SLEEP);
    CHECK_EQ(slot->loop_changes, 1); /* no stall */
}
