// SPDX-License-Identifier: Apache-2.0
/* What retention keeps: of a group, of a day, and no file that a report still has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "keeper.h"
#include "stores.h"
#include "test.h"
#include "thin.h"

#define DAY_NS ((uint64_t)86400 * 1000000000u)

/* --- the choice --- */

enum { ROWS = 1000 };

static uint32_t choose(struct thin_row rows[ROWS], uint32_t count, uint32_t most)
{
    uint32_t kept = 0;
    thin_choose(rows, count, most);
    for (uint32_t i = 0; i < count; i++) {
        kept += rows[i].is_kept;
    }
    return kept;
}

static void fill(struct thin_row rows[ROWS])
{
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = (struct thin_row){.report = 10 + 3 * i, .total_ns = 100, .named = 500};
    }
    rows[333].total_ns = 101;
    rows[444].named = 501;
}

TEST(ends_longest_and_most_named_are_kept)
{
    struct thin_row rows[ROWS];
    for (uint32_t most = 4; most < ROWS; most = most * 3 / 2) {
        fill(rows);
        uint32_t kept = choose(rows, ROWS, most);
        CHECK(kept <= most && kept >= 4);
        CHECK(rows[0].is_kept && rows[ROWS - 1].is_kept);
        CHECK(rows[333].is_kept && rows[444].is_kept);
    }
    fill(rows);
    CHECK_EQ(choose(rows, 50, 50), 50);
    CHECK_EQ(choose(rows, 1, 4), 1);
}

/* Of each tenfold distance from the last about as many: the last hundred rows have more than the
 * first five hundred. */
TEST(sample_is_denser_towards_the_last)
{
    struct thin_row rows[ROWS];
    fill(rows);
    CHECK(choose(rows, ROWS, 100) >= 80);
    uint32_t late = 0, early = 0, middle = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        late += i >= 900 && rows[i].is_kept;
        early += i < 500 && rows[i].is_kept;
        middle += i >= 500 && i < 900 && rows[i].is_kept;
    }
    CHECK(late > middle && middle > early && early >= 5);
}

/* --- the store --- */

struct sent {
    unsigned id;
    uint64_t received_ns, total_ns;
    const char *group, *also; /* also: a second event; or null */
    uint8_t blob;
};

static void add(struct store *store, const struct sent *sent)
{
    struct digest_event events[2] = {
        {.kind = DIGEST_STALL, .count = 1, .total_ns = sent->total_ns, .longest_ns = 1},
        {.kind = DIGEST_STALL, .count = 1, .total_ns = sent->total_ns, .longest_ns = 1}};
    snprintf(events[0].group, sizeof events[0].group, "%s", sent->group);
    snprintf(events[1].group, sizeof events[1].group, "%s", sent->also != NULL ? sent->also : "");
    const struct digest digest = stores_digest(events, sent->also != NULL ? 2 : 1);
    struct store_report report = {.project = 1,
                                  .received_ns = sent->received_ns,
                                  .blob = {{sent->blob, 1}},
                                  .size_bytes = 1,
                                  .digest = &digest};
    memcpy(report.id.bytes, &sent->id, sizeof sent->id);
    CHECK_EQ(store_begin(store), STORE_OK);
    CHECK_EQ(store_add_report(store, &report), STORE_OK);
    CHECK_EQ(store_commit(store, (struct journal_place){1, 1}), STORE_OK);
}

struct dropped {
    unsigned count;
    bool is_gone[256];
};

static void drop(void *ctx, const struct hash *blob)
{
    struct dropped *dropped = ctx;
    dropped->count++;
    CHECK(!dropped->is_gone[blob->bytes[0]]);
    dropped->is_gone[blob->bytes[0]] = true;
}

/* All steps of a round. */
static struct dropped keep(struct store *store, const struct store_keep *rule)
{
    struct dropped dropped = {0};
    struct store_keep_cursor cursor = {0, 0};
    unsigned sum = 0;
    do {
        uint32_t count;
        CHECK_EQ(store_keep(store, rule, &cursor, drop, &dropped, &count), STORE_OK);
        sum += count;
    } while (cursor.cause != 0 || cursor.report != 0);
    CHECK_EQ(sum, dropped.count);
    return dropped;
}

static void count_files(void *ctx, const struct store_row *row)
{
    unsigned *counts = ctx;
    counts[0]++;
    counts[1] += row->has_file;
}

static void check_counts(struct store *store, unsigned rows, unsigned files)
{
    unsigned counts[2] = {0, 0};
    CHECK_EQ(store_reports(store, 1, 0, false, 1000, count_files, counts), STORE_OK);
    CHECK_EQ(counts[0], rows);
    CHECK_EQ(counts[1], files);
}

static void keep_count(void *ctx, const struct store_group *group)
{
    *(uint64_t *)ctx = group->count;
}

TEST_OF_STORES(group_keeps_some_reports_and_all_sums)
{
    uint64_t count;
    struct store *store = stores_open();
    for (unsigned i = 1; i <= 100; i++) {
        add(store, &(struct sent){i, i, i == 42 ? 9 : 1, "a", NULL, (uint8_t)i});
    }
    const struct store_keep rule = {.per_group = 20};
    struct dropped dropped = keep(store, &rule);
    CHECK(dropped.count >= 80 && dropped.count <= 90);
    CHECK(!dropped.is_gone[1] && !dropped.is_gone[100] && !dropped.is_gone[42]);
    check_counts(store, 100, 100 - dropped.count);
    CHECK_EQ(store_group(store, 1, 1, keep_count, &count), STORE_OK);
    CHECK_EQ(count, 100);
    CHECK_EQ(keep(store, &rule).count, 0);
    for (unsigned i = 101; i <= 103; i++) { /* a few more are no reason */
        add(store, &(struct sent){i, i, 1, "a", NULL, (uint8_t)i});
    }
    CHECK_EQ(keep(store, &rule).count, 0);
    store_close(store);
}

/* A report that another group keeps stays; so does a file that another report has. */
TEST_OF_STORES(report_of_another_group_stays)
{
    struct store *store = stores_open();
    for (unsigned i = 1; i <= 60; i++) {
        add(store, &(struct sent){i, i, 1, "a", i <= 30 ? "b" : NULL, (uint8_t)i});
    }
    add(store, &(struct sent){61, 61, 1, "c", NULL, 31}); /* the content of report 31 */
    struct dropped dropped = keep(store, &(struct store_keep){.per_group = 24});
    CHECK(dropped.count >= 8);
    for (unsigned i = 1; i <= 31; i++) {
        CHECK(!dropped.is_gone[i]);
    }
    store_close(store);
}

/* Files go by their age; the ids stay until a sender cannot send again. */
TEST_OF_STORES(old_reports_lose_their_files_then_their_rows)
{
    struct store *store = stores_open();
    for (unsigned i = 1; i <= 40; i++) {
        add(store, &(struct sent){i, i * DAY_NS, 1, "a", NULL, (uint8_t)i});
    }
    const struct keeper_options options = {.days = 10};
    const struct store_keep rule = keeper_rule(&options, 41 * DAY_NS);
    CHECK_EQ(rule.before_ns, 31 * DAY_NS);
    CHECK_EQ(rule.forget_before_ns, 11 * DAY_NS);
    struct dropped dropped = keep(store, &rule);
    CHECK_EQ(dropped.count, 30);
    CHECK(dropped.is_gone[30] && !dropped.is_gone[31]);
    check_counts(store, 30, 10);
    CHECK_EQ(keep(store, &rule).count, 0);
    struct report_id id = {{20}};
    CHECK_EQ(store_knows(store, 1, &id), STORE_KNOWN);
    id.bytes[0] = 10;
    CHECK_EQ(store_knows(store, 1, &id), STORE_ABSENT);
    store_close(store);
}

/* Reports that a wrong clock dated later than now are kept, and keep no other. */
TEST(reports_of_a_wrong_clock_keep_no_others)
{
    struct store *store = stores_open();
    const struct keeper_options options = {.days = 10};
    for (unsigned i = 1; i <= 501; i++) { /* more than a step looks at */
        add(store, &(struct sent){i, 400 * DAY_NS, 1, "a", NULL, 200});
    }
    add(store, &(struct sent){502, 20 * DAY_NS, 1, "a", NULL, 201});
    add(store, &(struct sent){503, 35 * DAY_NS, 1, "a", NULL, 202});
    add(store, &(struct sent){504, 21 * DAY_NS, 1, "a", NULL, 203});
    const struct store_keep rule = keeper_rule(&options, 41 * DAY_NS);
    struct dropped dropped = keep(store, &rule);
    CHECK_EQ(dropped.count, 2);
    CHECK(dropped.is_gone[201] && dropped.is_gone[203]);
    const struct store_keep later = keeper_rule(&options, 61 * DAY_NS);
    dropped = keep(store, &later); /* and the rows of the two go */
    CHECK_EQ(dropped.count, 1);
    CHECK(dropped.is_gone[202]);
    check_counts(store, 502, 501);
    store_close(store);
}

/* The clock of one of several collectors is not believed if it is ahead of the database's. */
TEST_OF_STORES(time_is_that_of_a_shared_database)
{
    struct store *store = stores_open();
    uint64_t now_ns = collector_now_ns(), ahead_ns = now_ns + 365 * DAY_NS, earlier_ns;
    CHECK_EQ(store_earlier(store, now_ns - DAY_NS, &earlier_ns), STORE_OK);
    CHECK_EQ(earlier_ns, now_ns - DAY_NS);
    CHECK_EQ(store_earlier(store, ahead_ns, &earlier_ns), STORE_OK);
    CHECK(store_has_files(store) ? earlier_ns >= now_ns - DAY_NS && earlier_ns < now_ns + DAY_NS
                                 : earlier_ns == ahead_ns);
    store_close(store);
}

/* A clock that is set forward makes nothing old; one that goes on, or is set back, is followed. */
TEST(ages_are_not_counted_by_a_clock_that_is_set_forward)
{
    const struct clock_age age = {.wall_ns = 100 * DAY_NS, .steady_ns = 7};
    CHECK_EQ(clock_age_now(&age, 100 * DAY_NS, 7), 100 * DAY_NS);
    CHECK_EQ(clock_age_now(&age, 103 * DAY_NS, 7 + 3 * DAY_NS), 103 * DAY_NS);
    CHECK_EQ(clock_age_now(&age, 465 * DAY_NS, 7 + 3 * DAY_NS), 103 * DAY_NS);
    CHECK_EQ(clock_age_now(&age, 50 * DAY_NS, 7 + 3 * DAY_NS), 50 * DAY_NS);
    uint64_t before_ns = collector_now_ns();
    const struct clock_age now = clock_age_begin();
    CHECK(now.wall_ns >= before_ns && now.steady_ns <= collector_steady_ns());
}

TEST_OF_STORES(nothing_is_removed_without_a_rule)
{
    struct store *store = stores_open();
    for (unsigned i = 1; i <= 40; i++) {
        add(store, &(struct sent){i, i, 1, "a", NULL, (uint8_t)i});
    }
    const struct keeper_options options = {0};
    const struct store_keep rule = keeper_rule(&options, 4000 * DAY_NS);
    CHECK_EQ(keep(store, &rule).count, 0);
    check_counts(store, 40, 40);
    store_close(store);
}
