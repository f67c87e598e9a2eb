// SPDX-License-Identifier: Apache-2.0
/* With whose stall a wait without an owner ended, by the times of both. */
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "test.h"
#include "watch_release.h"

#define MS 1000000ull

/* Two loops, 1 and 2. The second one has waited for a condition. */
struct pair {
    struct sonde__watch_session *session;
    struct sonde__watch_loop *culprit, *victim;
    struct sonde__probe_slot slots[2];
    struct sonde__cause causes[2];
    struct sonde__sample threads[1];
};

static void set_times(struct sonde__watch_loop *loop, uint64_t begin_ms, uint64_t end_ms)
{
    loop->decision.since_ns = begin_ms * MS;
    loop->decision.counted_ns = (end_ms - begin_ms) * MS;
}

static void make(struct pair *p)
{
    memset(p, 0, sizeof *p);
    p->session = calloc(1, sizeof *p->session);
    p->session->used = 2;
    p->culprit = &p->session->loops[0];
    p->victim = &p->session->loops[1];
    for (unsigned i = 0; i < 2; i++) {
        struct sonde__watch_loop *loop = &p->session->loops[i];
        loop->slot = &p->slots[i];
        loop->tid = i + 1;
        loop->stall.causes = &p->causes[i];
        p->causes[i].tid = i + 1;
    }
    p->victim->stall.cause_count = 1;
    p->causes[1].kind = SONDE__CAUSE_CONDITION;
    p->victim->stall.threads = p->threads;
    p->victim->stall.thread_count = 1;
    p->threads[0].thread.tid = 1;
    strcpy(p->threads[0].thread.name, "busy");
    set_times(p->culprit, 1000, 1400);
    set_times(p->victim, 1020, 1402);
}

/* Both stalls end; the loops are handled by number. */
static const char *ends(struct pair *p)
{
    sonde__watch_note_release(p->session, p->culprit);
    sonde__watch_note_release(p->session, p->victim);
    free(p->session);
    return p->causes[1].owner;
}

TEST(a_wait_ends_with_the_stall_of_another_thread)
{
    struct pair p;
    make(&p);
    CHECK_STR(ends(&p), "until thread 1 (busy) went on");
    CHECK_STR(p.causes[0].owner, "");
    make(&p);
    p.causes[1].kind = SONDE__CAUSE_FUTEX;
    strcpy(p.causes[1].owner, "owner not recorded");
    p.threads[0].thread.tid = 9; /* its name is not known */
    CHECK_STR(ends(&p), "owner not recorded, until thread 1 went on");
}

/* The other loop is handled later in the same round. */
TEST(the_stall_of_a_loop_that_is_handled_later)
{
    struct pair p;
    make(&p);
    p.culprit->decision.phase = SONDE__DECIDE_STALL;
    p.culprit->decision.counted_ns = 100 * MS; /* at the last look */
    atomic_store(&p.slots[0].ended_ns, 1401 * MS);
    sonde__watch_note_release(p.session, p.victim);
    CHECK_STR(p.causes[1].owner, "until thread 1 (busy) went on");
    memset(p.causes[1].owner, 0, sizeof p.causes[1].owner);
    atomic_store(&p.slots[0].ended_ns, 0); /* it goes on */
    sonde__watch_note_release(p.session, p.victim);
    CHECK_STR(p.causes[1].owner, "");
    free(p.session);
}

TEST(other_stalls_end_at_other_times)
{
    static const uint64_t times[][4] = {
        {1000, 1400, 1020, 1460}, /* 60 ms later */
        {1000, 1500, 1020, 1440},
        {1100, 1400, 1000, 1400},   /* it began before the other one */
        {1000, 61000, 1020, 61300}, /* a minute later, 300 ms are chance */
    };
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
        struct pair p;
        make(&p);
        set_times(p.culprit, times[i][0], times[i][1]);
        set_times(p.victim, times[i][2], times[i][3]);
        CHECK_STR(ends(&p), "");
    }
}

TEST(waits_that_are_told_already)
{
    struct pair p;
    make(&p);
    p.causes[1].owner_tid = 7;
    CHECK_STR(ends(&p), "");
    make(&p);
    p.causes[1].kind = SONDE__CAUSE_FILE;
    CHECK_STR(ends(&p), "");
    make(&p);
    p.victim->account.turn_cpu_ns = 200 * MS; /* it ran for half of the time */
    CHECK_STR(ends(&p), "");
    make(&p); /* both wait for something else */
    p.culprit->stall.cause_count = 1;
    p.causes[0].kind = SONDE__CAUSE_CONDITION;
    CHECK_STR(ends(&p), "");
    CHECK_STR(p.causes[0].owner, "");
}
