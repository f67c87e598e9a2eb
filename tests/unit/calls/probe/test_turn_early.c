// SPDX-License-Identifier: Apache-2.0
/* The first turns of a loop, before it is known, by scripts of waits. */
#include "probe_early.h"
#include "test.h"

static struct sonde__probe_page page;
static struct sonde__probe_slot *slot;
static uint64_t now_ns;

enum { EPOLL = SONDE__PROBE_EPOLL, POLL, MS = 1000000, CALLER = 0x400500, LEVEL = 0x60000 };

static void begin(void)
{
    slot = sonde__probe_claim(&page, 77);
    now_ns = 1000 * MS;
}

static enum sonde__probe_state state(void)
{
    return (enum sonde__probe_state)(atomic_load(&slot->beat) & SONDE__PROBE_STATE_MASK);
}

static uint64_t begun_ns(void)
{
    return atomic_load(&slot->beat) & ~(uint64_t)SONDE__PROBE_STATE_MASK;
}

static struct sonde__probe_wait wait_of(uint32_t kind, uint64_t object, uint64_t level)
{
    return (struct sonde__probe_wait){.object = object,
                                      .sp = level - 64,
                                      .caller = CALLER,
                                      .now_ns = now_ns,
                                      .level = level,
                                      .kind = kind,
                                      .learn = true,
                                      .note = true,
                                      .early = true};
}

/* Waits for 1 ms, unless it only asks. */
static enum sonde__probe_turn make(const struct sonde__probe_wait *wait)
{
    enum sonde__probe_turn turn = sonde__probe_enter(slot, wait);
    CHECK(turn != SONDE__PROBE_WAITING || state() == SONDE__PROBE_IDLE);
    if (turn != SONDE__PROBE_NESTED && turn != SONDE__PROBE_UNSURE &&
        atomic_load(&slot->stamp) != 0) {
        sonde__probe_stamp(slot, now_ns);
    }
    now_ns += wait->instant ? 0 : MS;
    if (turn != SONDE__PROBE_NESTED) {
        sonde__probe_leave_any(slot, now_ns);
    }
    return turn;
}

static enum sonde__probe_turn turn_of(uint64_t descriptor)
{
    const struct sonde__probe_wait wait = wait_of(EPOLL, descriptor, LEVEL);
    return make(&wait);
}

static bool knows_loop(void)
{
    return slot->loop.kind != SONDE__PROBE_NONE;
}

TEST(a_loop_is_whole_from_its_first_turn)
{
    begin();
    uint64_t first_ns = now_ns;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(turn_of(3), SONDE__PROBE_WAITING);
        CHECK_EQ(state(), SONDE__PROBE_EARLY);
        CHECK_EQ(begun_ns(), now_ns);
        CHECK(!knows_loop());
        CHECK_EQ(atomic_load(&slot->early_proved_ns), 0);
        now_ns += 500 * MS;
    }
    CHECK_EQ(turn_of(3), SONDE__PROBE_WAITING);
    CHECK_EQ(state(), SONDE__PROBE_BUSY);
    CHECK(knows_loop());
    CHECK_EQ(atomic_load(&slot->early_proved_ns), first_ns);
    CHECK_EQ(atomic_load(&slot->early_lost), 0);
    CHECK_EQ(atomic_load(&slot->turns), 1);
}

/* What runs in the loop's first turns asks whether more is ready: so does asyncio. */
TEST(early_turns_may_begin_and_end_with_a_question)
{
    begin();
    uint64_t first_ns = now_ns;
    for (int i = 0; i < 3; i++) {
        struct sonde__probe_wait wait = wait_of(EPOLL, 3, LEVEL);
        wait.instant = true;
        CHECK_EQ(make(&wait), SONDE__PROBE_INSTANT);
        CHECK_EQ(state(), i < 2 ? SONDE__PROBE_EARLY : SONDE__PROBE_BUSY);
        now_ns += 500 * MS;
    }
    CHECK_EQ(atomic_load(&slot->early_proved_ns), first_ns);
    CHECK_EQ(turn_of(3), SONDE__PROBE_WAITING);
    CHECK_EQ(slot->loop_changes, 0);
}

/* An interpreter specializes its code: it leads to the same call by other ones. */
TEST(a_loop_of_an_epoll_descriptor_is_one_by_whatever_calls)
{
    begin();
    for (uint64_t i = 0; i < 14; i++) {
        struct sonde__probe_wait wait = wait_of(EPOLL, 3, LEVEL);
        wait.path = 100 + i / 2;
        wait.instant = i < 5;
        (void)make(&wait);
        CHECK_EQ(knows_loop(), i >= 2);
        CHECK_EQ(slot->loop_changes, 0);
        now_ns += 20 * MS;
    }
    CHECK(!sonde__probe_is_young(slot));
    const struct sonde__probe_wait other = wait_of(POLL, 3, LEVEL);
    begin();
    CHECK(sonde__probe_wants_path(slot, &other));
    const struct sonde__probe_wait wait = wait_of(EPOLL, 3, LEVEL);
    CHECK(!sonde__probe_wants_path(slot, &wait));
}

/* By which calls it comes may move it a little. Another place, or another descriptor, is another
 * wait. */
TEST(early_turns_begin_anew_at_another_place)
{
    for (int i = 0; i < 4; i++) {
        begin();
        uint64_t first_ns = now_ns;
        (void)turn_of(3);
        uint64_t begun = atomic_load(&slot->beat);
        now_ns += 500 * MS;
        uint64_t second_ns = now_ns;
        for (int k = 0; k < 4; k++) {
            struct sonde__probe_wait wait = wait_of(EPOLL, i == 3 ? 4 : 3,
                                                    LEVEL + (i == 0   ? 600
                                                             : i == 1 ? 2000
                                                                      : 0));
            wait.caller += i == 2;
            (void)make(&wait);
        }
        CHECK(knows_loop());
        CHECK_EQ(atomic_load(&slot->early_proved_ns), i == 0 ? first_ns : second_ns);
        CHECK_EQ(atomic_load(&slot->early_lost), i == 0 ? 0 : begun);
    }
}

/* A wait that may be the loop's own ends the turn without a stamp; one that only passes time, deep
 * inside, does not. */
TEST(what_else_ends_an_early_turn)
{
    static const struct {
        uint32_t kind;
        uint64_t level;
        bool ends;
    } waits[] = {
        {SONDE__PROBE_SLEEP, LEVEL - 800, false},
        {SONDE__PROBE_COND, LEVEL - 800, false},
        {SONDE__PROBE_SLEEP, LEVEL, true},
        {SONDE__PROBE_SLEEP, LEVEL + 800, true},
        {SONDE__PROBE_SEM, LEVEL, true},
        {POLL, LEVEL - 800, true},
        {POLL, LEVEL + 800, true},
        {EPOLL, LEVEL - 800, true},
    };
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        begin();
        (void)turn_of(3);
        atomic_store(&slot->stamp, SONDE__PROBE_STAMP_END);
        uint64_t begun = atomic_load(&slot->beat);
        struct sonde__probe_wait wait = wait_of(waits[i].kind, 9, waits[i].level);
        wait.caller = CALLER + 0x1000;
        wait.learn = wait.kind == POLL || wait.kind == EPOLL;
        now_ns += 300 * MS;
        enum sonde__probe_turn turn = sonde__probe_enter(slot, &wait);
        CHECK_EQ(turn, wait.kind == EPOLL ? SONDE__PROBE_WAITING : SONDE__PROBE_NESTED);
        CHECK_EQ(atomic_load(&slot->beat), waits[i].ends ? SONDE__PROBE_IDLE : begun);
        CHECK_EQ(atomic_load(&slot->early_lost), waits[i].ends ? begun : 0);
        CHECK_EQ(atomic_load(&slot->stamp),
                 waits[i].ends ? SONDE__PROBE_STAMP_NONE : SONDE__PROBE_STAMP_END);
        CHECK_EQ(atomic_load(&slot->ended_ns), 0);
    }
}

TEST(the_end_of_an_early_turn_is_stamped)
{
    begin();
    (void)turn_of(3);
    atomic_store(&slot->stamp, SONDE__PROBE_STAMP_END);
    now_ns += 300 * MS;
    uint64_t end_ns = now_ns;
    (void)turn_of(3);
    CHECK_EQ(atomic_load(&slot->ended_ns), end_ns);
}

/* A program that starts polls, and who looks from outside does not see every wait. */
TEST(other_waits_have_no_early_turns)
{
    begin();
    for (int i = 0; i < 2; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 3, LEVEL);
        CHECK_EQ(make(&wait), SONDE__PROBE_NESTED);
        CHECK_EQ(state(), SONDE__PROBE_IDLE);
    }
    begin();
    for (int i = 0; i < 2; i++) {
        struct sonde__probe_wait wait = wait_of(EPOLL, 3, LEVEL);
        wait.early = false;
        CHECK_EQ(make(&wait), SONDE__PROBE_NESTED);
        CHECK_EQ(state(), SONDE__PROBE_IDLE);
    }
}

TEST(early_turns_of_what_is_not_the_loop_are_disproved)
{
    begin();
    (void)turn_of(3);
    for (int i = 0; i < 3; i++) {
        struct sonde__probe_wait wait = wait_of(POLL, 5, LEVEL + 800);
        wait.caller = CALLER + 0x1000;
        (void)make(&wait);
    }
    CHECK_EQ(slot->loop.kind, POLL);
    CHECK_EQ(atomic_load(&slot->early_proved_ns), UINT64_MAX);
}

TEST(two_descriptors_by_turns_have_no_whole_early_turn)
{
    begin();
    for (int i = 0; i < 2; i++) {
        for (uint64_t descriptor = 3; descriptor < 5; descriptor++) {
            uint64_t begun = atomic_load(&slot->beat);
            struct sonde__probe_wait wait = wait_of(EPOLL, descriptor, LEVEL);
            wait.caller += descriptor;
            (void)make(&wait);
            CHECK(!knows_loop());
            CHECK_EQ(atomic_load(&slot->early_lost), begun);
            now_ns += 300 * MS;
        }
    }
}

TEST(a_candidate_that_is_dropped_has_no_early_turn)
{
    begin();
    (void)turn_of(3);
    uint64_t begun = atomic_load(&slot->beat);
    for (uint64_t i = 0; i < SONDE__PROBE_CANDIDATES; i++) { /* each of them sleeps, deep inside */
        struct sonde__probe_wait wait = wait_of(SONDE__PROBE_SLEEP, i + 10, LEVEL - 800);
        wait.learn = false;
        (void)make(&wait);
        (void)make(&wait);
    }
    CHECK_EQ(slot->early, 0);
    CHECK_EQ(atomic_load(&slot->early_lost), begun);
    CHECK_EQ(state(), SONDE__PROBE_IDLE);
}

/* The answer to a request of the first callback may be what the loop waits for. That is said, if it
 * proves to be a loop. */
TEST(a_long_first_turn_that_a_wait_hides_is_counted)
{
    page.long_ns = 250 * MS;
    for (unsigned long_ms = 249; long_ms < 251; long_ms++) {
        begin();
        (void)turn_of(3);
        now_ns += 10 * MS;
        struct sonde__probe_wait wait = wait_of(POLL, 9, LEVEL - 800);
        wait.caller = CALLER + 0x1000;
        CHECK_EQ(make(&wait), SONDE__PROBE_NESTED);
        now_ns += (long_ms - 1) * MS;
        (void)turn_of(3);
        CHECK_EQ(atomic_load(&slot->unsure_turns), 0);
        (void)turn_of(3);
        CHECK(knows_loop());
        CHECK_EQ(atomic_load(&slot->unsure_turns), long_ms - 249);
        (void)turn_of(3);
        CHECK_EQ(atomic_load(&slot->unsure_turns), long_ms - 249);
    }
    page.long_ns = 0;
}

/* A watch that is late finds it among the long turns. */
TEST(long_early_turns_are_kept)
{
    page.long_ns = 250 * MS;
    begin();
    page.long_ns = 0;
    (void)turn_of(3);
    uint64_t begin_ns = now_ns;
    now_ns += 300 * MS;
    (void)turn_of(3);
    CHECK_EQ(atomic_load(&slot->long_turns), 1);
    CHECK_EQ(slot->longs[0].begin_ns, begin_ns);
    CHECK_EQ(slot->longs[0].end_ns, begin_ns + 300 * MS);
    CHECK(slot->longs[0].early);
    now_ns += 300 * MS;
    (void)turn_of(3); /* now it is known */
    CHECK_EQ(atomic_load(&slot->long_turns), 2);
    CHECK(slot->longs[1].early);
    now_ns += 300 * MS;
    (void)turn_of(3);
    CHECK_EQ(atomic_load(&slot->long_turns), 3);
    CHECK(!slot->longs[2].early);
}
