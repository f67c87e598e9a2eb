// SPDX-License-Identifier: Apache-2.0
/* Stalls in the first turns of a loop, by waits and looks at times that the test gives. */
#include <stdlib.h>

#include "host_clock.h"
#include "host_run.h"
#include "os.h"
#include "session.h"
#include "test.h"
#include "watch_early.h"
#include "watch_loop.h"
#include "watch_writer.h"

enum { CALLER = 0x400500, LEVEL = 0x60000, CLOSED = 100000 };

static struct sonde__watch_session *s;
static struct sonde__watch_loop *loop;
static struct sonde__probe_slot *slot;
static uint64_t now_ns;
static bool busy;

static void begin(void)
{
    s = make_session(NULL);
    loop = &s->loops[0];
    now_ns = (sonde__host_monotonic_ns() - 100000 * MS) & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    s->page->long_ns = (int64_t)s->options.threshold_ns;
    slot = loop->slot = sonde__probe_claim(s->page, sonde__os_tid());
    loop->kind = SONDE__REPORT_STALL_LOOP;
    loop->threshold_ns = s->options.threshold_ns;
    s->used = 1;
}

static uint64_t end(void)
{
    sonde__watch_loop_finish(s, loop);
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
    sonde__sampler_clock_close(&loop->clock);
    sonde__sampler_trace_close(&s->trace);
    uint64_t stalls = s->stalls;
    CHECK(loop->early.kept == NULL);
    free_session(s);
    return stalls;
}

/* On time, and nothing explains a delay. */
static void look(void)
{
    busy = false;
    s->before_ns = s->rested_ns = s->woken_ns = s->due_ns = now_ns;
    (void)sonde__watch_loop_inspect(s, loop, now_ns, &busy);
}

/* A wait of 1 ms. */
static void wait_at(struct sonde__probe_slot *of, uint32_t kind, uint64_t object, uint64_t level)
{
    struct sonde__probe_wait wait = {.object = object,
                                     .sp = level - 64,
                                     .caller = CALLER + kind,
                                     .now_ns = now_ns,
                                     .level = level,
                                     .kind = kind,
                                     .learn = true,
                                     .note = true,
                                     .early = true};
    enum sonde__probe_turn turn = sonde__probe_enter(of, &wait);
    if (turn == SONDE__PROBE_WAITING && atomic_load(&of->stamp) != 0) {
        sonde__probe_stamp(of, now_ns);
    }
    now_ns += MS;
    if (turn != SONDE__PROBE_NESTED) {
        sonde__probe_leave_any(of, now_ns);
    }
}

static void turn(void)
{
    wait_at(slot, SONDE__PROBE_EPOLL, CLOSED, LEVEL);
}

/* The thread works, and the watch looks every 50 ms. */
static void work(unsigned ms)
{
    for (unsigned i = 0; i < ms; i += 50) {
        look();
        now_ns += 50 * MS;
    }
}

TEST(a_stall_in_the_first_turn_is_reported_when_the_loop_is_known)
{
    begin();
    turn();
    work(500);
    CHECK(busy);
    turn();
    look();
    CHECK_EQ(s->stalls, 0);
    CHECK_EQ(loop->early.count, 1);
    work(100);
    turn();
    look();
    CHECK_EQ(s->stalls, 1);
    CHECK_EQ(s->longest_ns, 500 * MS);
    CHECK_EQ(end(), 1);
}

TEST(stalls_in_the_first_turns_are_all_reported)
{
    begin();
    for (unsigned i = 0; i < 4; i++) {
        turn();
        work(300 + 100 * i);
    }
    turn();
    look();
    CHECK_EQ(s->stalls, 4);
    CHECK_EQ(s->longest_ns, 600 * MS);
    CHECK_EQ(end(), 4);
}

TEST(a_first_turn_that_nobody_saw_is_reported_too)
{
    begin();
    look();
    turn();
    now_ns += 500 * MS;
    turn();
    look();
    CHECK_EQ(loop->early.count, 1);
    turn();
    look();
    CHECK_EQ(s->stalls, 1);
    CHECK_EQ(s->longest_ns, 500 * MS);
    CHECK_EQ(end(), 1);
}

TEST(a_stall_before_another_loop_is_none)
{
    begin();
    turn();
    work(500);
    turn();
    look();
    CHECK_EQ(loop->early.count, 1);
    for (unsigned i = 0; i < 3; i++) {
        wait_at(slot, SONDE__PROBE_POLL, 5, LEVEL + 800);
        look();
    }
    CHECK_EQ(slot->loop.kind, SONDE__PROBE_POLL);
    CHECK_EQ(end(), 0);
}

TEST(a_turn_that_does_not_end_at_its_own_wait_is_no_stall)
{
    enum { UNSEEN, SEEN, CROSSED, TIMES };
    for (unsigned time = 0; time < TIMES; time++) {
        begin();
        turn();
        work(500);
        wait_at(slot, SONDE__PROBE_POLL, 5, LEVEL - 800);
        now_ns += 500 * MS;
        if (time == SEEN) {
            look();
            CHECK(!busy);
        } else if (time == CROSSED) { /* the watch asked for the end when that was over */
            atomic_store(&slot->stamp, SONDE__PROBE_STAMP_END);
        }
        for (unsigned i = 0; i < 3; i++) {
            turn();
            look();
        }
        CHECK(!loop->early.is_told);
        CHECK_EQ(slot->loop.kind, SONDE__PROBE_EPOLL);
        CHECK_EQ(end(), 0);
    }
}

TEST(what_waits_too_rarely_has_no_stall)
{
    begin();
    turn();
    work(500);
    turn();
    look();
    CHECK_EQ(loop->early.count, 1);
    work(500); /* the program ends here */
    CHECK_EQ(end(), 0);
}

/* A runtime whose threads wait by turns. */
TEST(a_descriptor_of_several_threads_is_nobodys)
{
    for (unsigned early = 0; early < 2; early++) {
        begin();
        struct sonde__probe_slot *other = sonde__probe_claim(s->page, 77);
        s->used = 2;
        s->checks = early != 0;
        turn();
        work(500);
        wait_at(other, SONDE__PROBE_EPOLL, CLOSED, LEVEL);
        look();
        CHECK_EQ(busy, early == 0);
        CHECK_EQ(s->attended_turns, early);
        turn();
        turn();
        look();
        CHECK_EQ(slot->loop.kind, SONDE__PROBE_EPOLL);
        CHECK_EQ(end(), 0);
    }
}

/* Where the system does not tell, it is a turn. */
TEST(a_first_turn_whose_descriptor_is_closed_is_none)
{
    begin();
    bool is_told =
        sonde__host_look_descriptor(s->pid, sonde__os_tid(), CLOSED) == SONDE__HOST_CLOSED;
    s->checks = true;
    turn();
    work(500);
    CHECK_EQ(busy, !is_told);
    CHECK_EQ(sonde__watch_early_rests(loop, atomic_load(&slot->beat), now_ns), is_told);
    turn();
    turn();
    look();
    CHECK_EQ(end(), is_told ? 0 : 1);
}

TEST(a_thread_that_does_not_come_back_is_watched_no_more)
{
    begin();
    turn();
    uint64_t begin_ns = now_ns;
    work(300);
    now_ns = begin_ns + SONDE__WATCH_EARLY_MAX_NS - MS;
    look();
    CHECK(busy);
    CHECK(!sonde__watch_early_rests(loop, atomic_load(&slot->beat), now_ns));
    now_ns += MS;
    look();
    CHECK(!busy);
    CHECK(sonde__watch_early_rests(loop, atomic_load(&slot->beat), now_ns));
    CHECK(loop->early.is_told);
    turn();
    turn();
    look();
    CHECK_EQ(end(), 0);
}

TEST(a_program_that_ends_in_its_first_turn_is_told)
{
    begin();
    turn();
    work(500);
    CHECK(!loop->early.is_told);
    sonde__watch_loop_finish(s, loop);
    CHECK(loop->early.is_told);
    CHECK_EQ(end(), 0);
}

TEST(a_thread_that_has_ended_had_its_first_turns)
{
    for (unsigned known = 0; known < 2; known++) {
        begin();
        turn();
        work(500);
        turn();
        look();
        CHECK_EQ(loop->early.count, 1);
        if (known != 0) {
            turn();
        }
        atomic_store(&slot->tid, 0);
        look();
        CHECK_EQ(end(), known);
    }
}
