// SPDX-License-Identifier: Apache-2.0
/* Limits of projects, in virtual time. */
#include "limit.h"
#include "test.h"

#define SECOND_NS ((uint64_t)1000000000u)
#define DAY_NS    (86400 * SECOND_NS)

static uint64_t used_of_day_3(void *ctx, uint32_t project, uint64_t day)
{
    ++*(unsigned *)ctx;
    return project == 1 && day == 3 ? 5 : 0;
}

TEST(rate_lets_a_minute_s_reports_come_at_once)
{
    struct limits *limits = limits_begin(NULL, NULL);
    const struct limit limit = {.per_minute = 60};
    uint64_t now_ns = 5 * DAY_NS;
    for (unsigned i = 0; i < 60; i++) {
        CHECK_EQ(limits_take(limits, 1, &limit, now_ns), 0);
    }
    CHECK_EQ(limits_take(limits, 1, &limit, now_ns), 1);
    CHECK_EQ(limits_take(limits, 2, &limit, now_ns), 0);
    CHECK_EQ(limits_take(limits, 1, &limit, now_ns + SECOND_NS), 0);
    CHECK_EQ(limits_take(limits, 1, &limit, now_ns + SECOND_NS), 1);
    limits_end(limits);
}

/* Whatever the times are, not more than 2 x 60 come in a minute, and 60 a minute in the long run.
 */
TEST(rate_is_kept_in_the_long_run)
{
    struct limits *limits = limits_begin(NULL, NULL);
    const struct limit limit = {.per_minute = 60};
    uint64_t now_ns = 5 * DAY_NS;
    unsigned taken = 0;
    for (unsigned i = 0; i < 600 * 10; i++) { /* ten minutes, ten tries a second */
        taken += limits_take(limits, 1, &limit, now_ns) == 0;
        now_ns += SECOND_NS / 10;
    }
    CHECK(taken >= 655 && taken <= 660);
    limits_end(limits);
}

TEST(time_to_wait_is_enough)
{
    struct limits *limits = limits_begin(NULL, NULL);
    const struct limit limit = {.per_minute = 7};
    uint64_t now_ns = 5 * DAY_NS + 123;
    for (unsigned i = 0; i < 100; i++) {
        uint32_t wait = limits_take(limits, 1, &limit, now_ns);
        if (wait != 0) {
            CHECK(wait <= 9);
            now_ns += wait * SECOND_NS;
            CHECK_EQ(limits_take(limits, 1, &limit, now_ns), 0);
        }
    }
    limits_end(limits);
}

/* Of the day, what was stored before the start counts; the next day begins at zero. */
TEST(quota_is_of_a_day)
{
    unsigned asked = 0;
    struct limits *limits = limits_begin(used_of_day_3, &asked);
    const struct limit limit = {.per_day = 7};
    uint64_t now_ns = 3 * DAY_NS + DAY_NS / 2;
    CHECK_EQ(limits_take(limits, 1, &limit, now_ns), 0);
    CHECK_EQ(limits_take(limits, 1, &limit, now_ns), 0);
    CHECK_EQ(limits_take(limits, 1, &limit, now_ns), 43200);
    CHECK_EQ(limits_take(limits, 1, &limit, now_ns - 2 * DAY_NS), 86400); /* a step of the clock */
    CHECK_EQ(asked, 1);
    for (unsigned i = 0; i < 7; i++) {
        CHECK_EQ(limits_take(limits, 1, &limit, 4 * DAY_NS), 0);
    }
    CHECK_EQ(limits_take(limits, 1, &limit, 5 * DAY_NS - 1), 1);
    limits_end(limits);
}

/* A clock that was set back by a year does not close the project for a year. */
TEST(clock_set_back_does_not_close_a_project)
{
    struct limits *limits = limits_begin(NULL, NULL);
    const struct limit limit = {.per_minute = 1};
    CHECK_EQ(limits_take(limits, 1, &limit, 400 * DAY_NS), 0);
    CHECK_EQ(limits_take(limits, 1, &limit, 35 * DAY_NS), 0);
    CHECK_EQ(limits_take(limits, 1, &limit, 35 * DAY_NS), 60);
    limits_end(limits);
}

TEST(project_without_limit_is_not_limited)
{
    unsigned asked = 0;
    struct limits *limits = limits_begin(used_of_day_3, &asked);
    const struct limit none = {0};
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_EQ(limits_take(limits, i, &none, i), 0);
    }
    CHECK_EQ(asked, 0);
    limits_end(limits);
}
