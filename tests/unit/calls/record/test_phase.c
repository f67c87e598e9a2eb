// SPDX-License-Identifier: Apache-2.0
/* Phases that several threads begin at once. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "record_phase.h"
#include "test.h"

static struct sonde__record_phases phases;

static bool begin(const char *name)
{
    return sonde__record_phase_begin(&phases, name, strlen(name), 0, 1);
}

static const char *now(void)
{
    return phases.list[sonde__record_phase_now(&phases)].name;
}

TEST(a_phase_lasts_until_another_begins)
{
    CHECK(begin("one"));
    CHECK_STR(now(), "one");
    CHECK(begin("one")); /* nothing changes */
    CHECK_EQ(sonde__record_phase_now(&phases), 1);
    CHECK(begin("two"));
    CHECK(begin("one"));
    CHECK_STR(now(), "one");
    CHECK_EQ(sonde__record_phase_now(&phases), 3);
    CHECK(sonde__record_phase_begin(&phases, "one", 3, 2, 1)); /* with another consent */
    CHECK_EQ(sonde__record_phase_now(&phases), 4);
    CHECK_EQ(atomic_load(&phases.lost), 0);
}

TEST(long_names_are_cut)
{
    char name[200], before[64];
    memset(name, 'x', sizeof name);
    CHECK(sonde__record_phase_begin(&phases, name, sizeof name, 0, 1));
    CHECK_EQ(strlen(now()), SONDE__RECORD_PHASE_NAME - 1);
    memcpy(before, now(), sizeof before);
    CHECK(sonde__record_phase_begin(&phases, "a\0b", 3, 0, 1));
    CHECK_STR(now(), "a");
    CHECK(memcmp(phases.list[1].name, before, sizeof before) == 0);
}

TEST(changes_without_room_are_counted)
{
    char name[16];
    for (int i = 0; i < SONDE__RECORD_PHASES + 4; i++) {
        snprintf(name, sizeof name, "p%d", i);
        CHECK_EQ(begin(name), i < SONDE__RECORD_PHASES - 1);
    }
    CHECK_STR(now(), "p14");
    CHECK_EQ(atomic_load(&phases.lost), 5);
}

/* Another thread has claimed this number before, and later ones are complete by now. */
TEST(a_phase_that_is_complete_late_does_not_go_back)
{
    CHECK(begin("one"));
    atomic_store(&phases.current, 5);
    strcpy(phases.list[5].name, "five");
    CHECK(begin("late"));
    CHECK_STR(phases.list[2].name, "late");
    CHECK_EQ(sonde__record_phase_now(&phases), 5);
    CHECK_STR(now(), "five");
}

TEST(names_say_which_calls_are_in_a_phase)
{
    CHECK(begin("one") && begin("two") && begin("one"));
    CHECK(!sonde__record_phase_is(&phases, 0, "one", false));
    CHECK(!sonde__record_phase_is(&phases, 0, "", false));
    CHECK(sonde__record_phase_is(&phases, 1, "one", false));
    CHECK(!sonde__record_phase_is(&phases, 2, "one", false));
    CHECK(sonde__record_phase_is(&phases, 3, "one", false));
    CHECK(!sonde__record_phase_is(&phases, 1, "on", false));
    CHECK(!sonde__record_phase_is(&phases, 1, "one1", false));
    CHECK(sonde__record_phase_is(&phases, 0, "two", true));
    CHECK(sonde__record_phase_is(&phases, 1, "two", true));
    CHECK(!sonde__record_phase_is(&phases, 2, "two", true));
    CHECK(!sonde__record_phase_is(&phases, 3, "two", true));
    CHECK(sonde__record_phase_is(&phases, 3, "three", true));
}

static void *begin_many(void *ctx)
{
    const char *name = ctx;
    for (int i = 0; i < SONDE__RECORD_PHASES; i++) {
        uint32_t before = sonde__record_phase_now(&phases);
        (void)begin(name);
        CHECK(sonde__record_phase_now(&phases) >= before);
    }
    return NULL;
}

/* Each number has one owner, and the last one stays. */
TEST(threads_begin_phases_at_once)
{
    static char names[4][8] = {"alpha", "beta", "gamma", "delta"};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, begin_many, names[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    uint32_t last = sonde__record_phase_now(&phases);
    CHECK_EQ(last, atomic_load(&phases.claimed));
    for (uint32_t i = 1; i <= last; i++) {
        bool is_known = false;
        for (int k = 0; k < 4; k++) {
            is_known |= strcmp(phases.list[i].name, names[k]) == 0;
        }
        CHECK(is_known && atomic_load(&phases.list[i].begin_ns) == 1);
    }
}

/* The number comes from memory that a program may write. */
TEST(a_number_that_cannot_be_is_reduced)
{
    atomic_store(&phases.current, UINT32_MAX);
    atomic_store(&phases.claimed, UINT32_MAX);
    CHECK(sonde__record_phase_now(&phases) < SONDE__RECORD_PHASES);
    CHECK(!begin("x"));
}
