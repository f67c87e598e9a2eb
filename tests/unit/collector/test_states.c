// SPDX-License-Identifier: Apache-2.0
/* When a group's state changes by an event. */
#include "state.h"
#include "test.h"

static int order_of(const char *one, const char *other)
{
    int order = 0;
    CHECK(state_compare_versions(one, other, &order));
    return (order > 0) - (order < 0);
}

/* The order of semver.org, 11, and its neighbours. */
TEST(versions_have_an_order)
{
    static const char *const ascending[] = {"0.9",   "1.0.0-alpha", "1.0.0-beta.2", "1.0.0-beta.11",
                                            "1.0.0", "1.0.1",       "1.2",          "v1.10",
                                            "2",     "10.0"};
    enum { COUNT = sizeof ascending / sizeof *ascending };
    int order;
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < COUNT; k++) {
            CHECK_EQ(order_of(ascending[i], ascending[k]), (i > k) - (i < k));
        }
    }
    CHECK_EQ(order_of("1.2.0", "1.2"), 0);
    CHECK_EQ(order_of("1.2+linux", "1.2"), 0);
    CHECK_EQ(order_of("1.2+9", "1.2+10"), -1);
    CHECK_EQ(order_of("1.2-rc.2+9", "1.2-rc.10+1"), -1);
    CHECK_EQ(order_of("1.2-rc.2+1.9", "1.2-rc.2+1.10"), -1);
    CHECK_EQ(order_of("shop@1.9", "shop@1.10"), -1);
    CHECK(!state_compare_versions("shop@1.9", "cart@1.10", &order));
    CHECK(!state_compare_versions("1.2+cafe", "1.2+beef", &order));
    CHECK(!state_compare_versions("1.2", "deadbeef", &order));
    CHECK(!state_compare_versions("1..2", "1.2", &order));
    CHECK(!state_compare_versions("", "1.2", &order));
    CHECK(!state_compare_versions("99999999999999999999", "1.2", &order));
}

static struct state_event event_of(const char *build, uint64_t build_first_ns)
{
    return (struct state_event){.time_ns = 200,
                                .received_ns = 300,
                                .build = build,
                                .build_first_ns = build_first_ns,
                                .count = 10};
}

static enum state after(enum state state, const char *build, struct state_event event)
{
    const struct state_mark mark = {.state = state, .since_ns = 150, .build = build};
    return state_after(&mark, &event);
}

TEST(resolved_group_regresses_by_a_later_event)
{
    struct state_event event = event_of("b", 10);
    CHECK_EQ(after(STATE_RESOLVED, "", event), STATE_REGRESSED);
    event.time_ns = 150; /* it was before, and arrives now */
    CHECK_EQ(after(STATE_RESOLVED, "", event), STATE_RESOLVED);
    CHECK_EQ(after(STATE_OPEN, "", event_of("b", 10)), STATE_OPEN);
    CHECK_EQ(after(STATE_REGRESSED, "", event_of("b", 10)), STATE_REGRESSED);
}

TEST(resolved_in_a_build_regresses_by_it_and_later_ones)
{
    CHECK_EQ(after(STATE_RESOLVED_IN, "1.10", event_of("1.9", 199)), STATE_RESOLVED_IN);
    CHECK_EQ(after(STATE_RESOLVED_IN, "1.10", event_of("1.10", 10)), STATE_REGRESSED);
    CHECK_EQ(after(STATE_RESOLVED_IN, "1.10", event_of("1.11", 10)), STATE_REGRESSED);
    CHECK_EQ(after(STATE_RESOLVED_IN, "1.9+6", event_of("1.9+5", 199)), STATE_RESOLVED_IN);
    CHECK_EQ(after(STATE_RESOLVED_IN, "1.9+cafe", event_of("1.9+beef", 140)), STATE_RESOLVED_IN);
    /* no versions: the one that was first seen later is later */
    struct state_event event = event_of("cafe", 140);
    CHECK_EQ(after(STATE_RESOLVED_IN, "beef", event), STATE_RESOLVED_IN);
    event.mark_first_ns = 120;
    CHECK_EQ(after(STATE_RESOLVED_IN, "beef", event), STATE_REGRESSED);
    event.mark_first_ns = 145;
    CHECK_EQ(after(STATE_RESOLVED_IN, "beef", event), STATE_RESOLVED_IN);
    CHECK_EQ(after(STATE_RESOLVED_IN, "beef", event_of("cafe", 160)), STATE_REGRESSED);
    CHECK_EQ(after(STATE_RESOLVED_IN, "beef", event_of("", 160)), STATE_RESOLVED_IN);
}

TEST(resolved_in_the_next_build_regresses_by_builds_that_are_new)
{
    CHECK_EQ(after(STATE_RESOLVED_NEXT, "", event_of("old", 150)), STATE_RESOLVED_NEXT);
    CHECK_EQ(after(STATE_RESOLVED_NEXT, "", event_of("new", 151)), STATE_REGRESSED);
    CHECK_EQ(after(STATE_RESOLVED_NEXT, "", event_of("", 151)), STATE_RESOLVED_NEXT);
}

TEST(ignored_group_opens_at_its_time_or_count)
{
    struct state_mark mark = {.state = STATE_IGNORED, .build = ""};
    const struct state_event event = event_of("b", 1);
    CHECK_EQ(state_after(&mark, &event), STATE_IGNORED);
    mark.until_ns = 301;
    CHECK_EQ(state_after(&mark, &event), STATE_IGNORED);
    mark.until_ns = 300;
    CHECK_EQ(state_after(&mark, &event), STATE_OPEN);
    mark.until_ns = 0;
    mark.until_count = 11;
    CHECK_EQ(state_after(&mark, &event), STATE_IGNORED);
    mark.until_count = 10;
    CHECK_EQ(state_after(&mark, &event), STATE_OPEN);
}
