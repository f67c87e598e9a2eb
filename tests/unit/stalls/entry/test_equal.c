// SPDX-License-Identifier: Apache-2.0
/* Equal stalls are reported a few times, and then counted. */
#include <stdio.h>

#include "entry_equal.h"
#include "test.h"

#define MS 1000000ull

/* Handle a stall like the watch's output. Returns true if it is reported. */
static bool stall(struct sonde__entry_equals *equals, const char *id, uint64_t begin_ns,
                  uint64_t duration_ns, uint64_t *number)
{
    if (sonde__entry_equals_may_count(equals) &&
        sonde__entry_equals_count(equals, id, begin_ns, duration_ns) != NULL) {
        return false;
    }
    sonde__entry_equals_add(equals, id, ++*number, duration_ns);
    return true;
}

TEST(later_equal_stalls_are_counted)
{
    struct sonde__entry_equals equals;
    uint64_t number = 0;
    sonde__entry_equals_init(&equals, 3);
    for (unsigned i = 0; i < 10; i++) {
        CHECK_EQ(stall(&equals, "1:a", i * 1000 * MS, (300 + i) * MS, &number), i < 3);
    }
    CHECK(stall(&equals, "1:b", 0, 300 * MS, &number)); /* another cause */
    CHECK_EQ(equals.count, 2);
    const struct sonde__entry_equal *a = &equals.list[0];
    CHECK_EQ(a->full, 3);
    CHECK_EQ(a->counted, 7);
    CHECK_EQ(a->number, 3); /* the longest reported one */
    CHECK_EQ(a->longest_ns, 309 * MS);
    CHECK_EQ(a->open.count, 7);
    CHECK_EQ(a->open.total_ns, (303 + 309) * 7 / 2 * MS);
    CHECK_EQ(a->open.first_ns, 3000 * MS);
    CHECK_EQ(a->open.last_ns, 9000 * MS);
    CHECK_EQ(a->open.longest_ns, 309 * MS);
    sonde__entry_equals_done(&equals);
}

TEST(an_equal_stall_that_is_twice_as_long_is_reported)
{
    struct sonde__entry_equals equals;
    uint64_t number = 0;
    sonde__entry_equals_init(&equals, 1);
    CHECK(stall(&equals, "1:a", 0, 300 * MS, &number));
    CHECK(!stall(&equals, "1:a", 1, 599 * MS, &number));
    CHECK(stall(&equals, "1:a", 2, 600 * MS, &number));
    CHECK(!stall(&equals, "1:a", 3, 1100 * MS, &number));
    CHECK_EQ(equals.list[0].number, 2);
    CHECK_EQ(equals.list[0].longest_ns, 1100 * MS);
    sonde__entry_equals_done(&equals);
}

TEST(stalls_without_a_fingerprint_are_all_reported)
{
    struct sonde__entry_equals equals;
    uint64_t number = 0;
    sonde__entry_equals_init(&equals, 1);
    for (unsigned i = 0; i < 20; i++) {
        CHECK(stall(&equals, "", i, 300 * MS, &number));
    }
    sonde__entry_equals_init(&equals, 0); /* all, if the user says so */
    for (unsigned i = 0; i < 20; i++) {
        CHECK(stall(&equals, "1:a", i, 300 * MS, &number));
    }
    sonde__entry_equals_done(&equals);
}

/* Messages of a fingerprint add up, and their number is a logarithm. */
TEST(counts_are_written_as_they_double)
{
    struct sonde__entry_equals equals;
    uint64_t number = 0, written = 0;
    unsigned messages = 0;
    sonde__entry_equals_init(&equals, 10);
    for (unsigned i = 0; i < 100000; i++) {
        if (!stall(&equals, "1:a", i, 300 * MS, &number) &&
            sonde__entry_equal_is_due(&equals.list[0])) {
            written += equals.list[0].open.count;
            messages++;
            sonde__entry_equal_written(&equals.list[0]);
        }
        CHECK((written + equals.list[0].full) * 2 >= i + 1);
    }
    CHECK(messages < 20);
    CHECK_EQ(written + equals.list[0].open.count + equals.list[0].full, 100000);
    sonde__entry_equals_done(&equals);
}

TEST(causes_are_bounded)
{
    struct sonde__entry_equals equals;
    uint64_t number = 0;
    char id[32];
    sonde__entry_equals_init(&equals, 1);
    for (unsigned i = 0; i < 2 * SONDE__ENTRY_EQUALS_MAX; i++) {
        snprintf(id, sizeof id, "1:%u", i);
        CHECK(stall(&equals, id, i, 300 * MS, &number));
    }
    CHECK_EQ(equals.count, SONDE__ENTRY_EQUALS_MAX);
    CHECK(!stall(&equals, "1:5", 0, 300 * MS, &number));
    sonde__entry_equals_done(&equals);
}
