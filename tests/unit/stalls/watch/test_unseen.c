// SPDX-License-Identifier: Apache-2.0
/* The end of a turn that nobody looked at: the watch had no processor, or was stopped, and the
 * program has ended since. What the thread did then is not known. */
#include <stdlib.h>
#include <string.h>

#include "host_clock.h"
#include "os.h"
#include "report_model.h"
#include "session.h"
#include "test.h"
#include "watch_loop.h"
#include "watch_sampling.h"
#include "watch_writer.h"

enum { TURN_MS = 600, LOOK_MS = 100 };

/* Of the stall that was reported. */
static struct told {
    unsigned stalls;
    uint64_t cpu_ns, runqueue_ns, uncovered_ns;
} told;

static void note_stall(void *ctx, const struct sonde__entry_ended *ended,
                       const struct sonde__report *report, const struct sonde__report_view *view,
                       uint32_t index)
{
    const struct sonde__report_stall *stall = sonde__report_stall(report, index);
    (void)ctx;
    (void)ended;
    (void)view;
    told.stalls++;
    told.cpu_ns = stall->cpu_ns;
    told.runqueue_ns = stall->runqueue_ns;
    for (uint32_t i = 0; i < stall->uncovered_count; i++) {
        told.uncovered_ns += stall->uncovered[i].duration_ns;
    }
}

static void add_sample(struct sonde__sampler_stall *stall, uint64_t at_ns)
{
    const struct sonde__sampler_gap gap = {.step_ns = 10 * MS, .still_ns = 0, .moved_ns = 1};
    uint64_t pc = 1;
    uint8_t how[1] = {0};
    struct sonde__sample sample = {.stack = {.pcs = &pc, .how = how, .count = 1, .capacity = 1}};
    CHECK(sonde__sample_keep(&sample));
    sonde__sampler_stall_add(stall, &sample, at_ns, &gap);
}

/* A loop in a turn of 600 ms, which has ended, that the watch looked at, and sampled, at 100 ms. It
 * ran by then. read_ms: when its counters were read last. Returns when the turn began. */
static uint64_t make_turn(struct sonde__watch_session *s, uint64_t read_ms)
{
    struct sonde__watch_loop *loop = &s->loops[0];
    struct sonde__decision *d = &loop->decision;
    uint64_t zero_ns = (sonde__host_monotonic_ns() - 900 * MS) & ~(uint64_t)SONDE__PROBE_STATE_MASK;
    told = (struct told){0};
    s->options.on_stall = note_stall;
    loop->slot = &s->page->slots[0];
    loop->slot->loop.kind = SONDE__PROBE_POLL;
    loop->kind = SONDE__REPORT_STALL_LOOP;
    loop->tid = sonde__os_tid();
    loop->threshold_ns = s->options.threshold_ns;
    sonde__decide_init(d, loop->threshold_ns);
    const struct sonde__decide_look look = {.now_ns = zero_ns + LOOK_MS * MS,
                                            .busy = true,
                                            .since_ns = zero_ns,
                                            .ran_ns = LOOK_MS * MS};
    (void)sonde__decide(d, &look);
    d->sample_ns = 10 * MS;
    d->samples = 1;
    loop->seen_ns = LOOK_MS * MS;
    loop->sampled.state = loop->look.state = 'R';
    loop->sampled.cpu_ns = loop->look.cpu_ns = LOOK_MS * MS;
    sonde__sampler_stall_init(&loop->stall);
    add_sample(&loop->stall, LOOK_MS * MS);
    loop->account =
        (struct sonde__decide_account){.at_ns = zero_ns + read_ms * MS,
                                       .cpu_ns = read_ms * MS,
                                       .turn_cpu_ns = (read_ms < TURN_MS ? read_ms : TURN_MS) * MS};
    atomic_store(&loop->slot->tid, loop->tid);
    atomic_store(&loop->slot->ended_ns, zero_ns + TURN_MS * MS);
    atomic_store(&loop->slot->beat, sonde__probe_beat(zero_ns + TURN_MS * MS, SONDE__PROBE_IDLE));
    s->before_ns = s->rested_ns = zero_ns + LOOK_MS * MS;
    s->due_ns = zero_ns + 140 * MS;
    s->woken_ns = s->inspected_ns = zero_ns + 700 * MS;
    return zero_ns;
}

static void finish(struct sonde__watch_session *s)
{
    sonde__watch_loop_finish(s, &s->loops[0]);
    sonde__watch_writer_finish(s->writer, 0, 0, &s->turns);
}

/* What the counters have not counted would else seem to be a wait, and the place of the only sample
 * that of the whole turn. */
TEST(what_a_thread_did_after_the_last_look_is_not_known)
{
    struct sonde__watch_session *s = make_session(NULL);
    (void)make_turn(s, LOOK_MS);
    s->own_ns = 560 * MS; /* the watch was busy */
    finish(s);
    CHECK_EQ(told.stalls, 1);
    CHECK_EQ(told.cpu_ns, 0);
    CHECK_EQ(told.runqueue_ns, 0);
    CHECK_EQ(told.uncovered_ns, (TURN_MS - LOOK_MS - 10) * MS);
    CHECK_EQ(s->unsure_count, 0);
    free_session(s);
}

TEST(counters_that_were_read_later_tell_of_it)
{
    struct sonde__watch_session *s = make_session(NULL);
    (void)make_turn(s, TURN_MS + 20);
    s->own_ns = 560 * MS;
    finish(s);
    CHECK_EQ(told.stalls, 1);
    CHECK_EQ(told.cpu_ns, TURN_MS * MS);
    CHECK_EQ(told.uncovered_ns, (TURN_MS - LOOK_MS - 10) * MS); /* it ran 500 ms, who knows where */
    free_session(s);
}

/* It ran hardly, and waited for a processor: so it stayed. */
TEST(a_thread_without_a_processor_stays_where_it_is)
{
    struct sonde__watch_session *s = make_session(NULL);
    (void)make_turn(s, TURN_MS + 20);
    s->own_ns = 560 * MS;
    s->loops[0].account.cpu_ns = (LOOK_MS + 20) * MS;
    s->loops[0].account.runqueue_ns = 490 * MS;
    finish(s);
    CHECK_EQ(told.uncovered_ns, 0);
    free_session(s);
}

/* The same, but the time that it did not run for is a wait, perhaps elsewhere. */
TEST(a_thread_that_may_have_waited_does_not)
{
    struct sonde__watch_session *s = make_session(NULL);
    (void)make_turn(s, TURN_MS + 20);
    s->own_ns = 560 * MS;
    s->loops[0].account.cpu_ns = (LOOK_MS + 20) * MS;
    finish(s);
    CHECK_EQ(told.uncovered_ns, (TURN_MS - LOOK_MS - 10) * MS);
    free_session(s);
}

/* The watch was stopped, or the machine stood still: a program that ends then has no next look. */
TEST(a_turn_whose_end_nobody_saw_may_have_been_a_stall)
{
    struct sonde__watch_session *s = make_session(NULL);
    (void)make_turn(s, LOOK_MS);
    finish(s);
    CHECK_EQ(told.stalls, 0);
    CHECK_EQ(s->unsure_count, 1);
    CHECK_EQ(s->unsure_ns, TURN_MS * MS);
    free_session(s);
}
