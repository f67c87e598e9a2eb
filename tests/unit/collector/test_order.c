// SPDX-License-Identifier: Apache-2.0
/* What is asked for often is read in the order of an index: a question about a few of many rows
 * takes a bounded number of steps of the database's machine. */
#include <stdio.h>
#include <string.h>

#include "stores.h"

enum { ROWS = 30000, STEPS = 100000 /* a look at each row takes more */ };

/* Reports of one stall each, each of a group of its own. */
static struct store *fill(void)
{
    struct store *store;
    struct sonde_error error;
    CHECK_EQ(store_open(test_folder(), NULL, &store, &error), STORE_OK);
    CHECK_EQ(store_begin(store), STORE_OK);
    for (unsigned i = 0; i < ROWS; i++) {
        struct digest_event event = {
            .kind = DIGEST_STALL, .count = 1, .total_ns = 1000 + (i * 7919) % ROWS};
        const struct digest digest = stores_digest(&event, 1);
        struct store_report report = {.project = 1, .received_ns = 1, .digest = &digest};
        memcpy(report.id.bytes, &i, sizeof i);
        snprintf(event.group, sizeof event.group, "g%u", i);
        CHECK_EQ(store_add_report(store, &report), STORE_OK);
    }
    CHECK_EQ(store_commit_change(store), STORE_OK);
    store_limit_steps(store, STEPS);
    store_use_lane(1);
    return store;
}

static void take_row(void *ctx, const struct store_row *row)
{
    unsigned *expected = ctx, number;
    memcpy(&number, row->id.bytes, sizeof number);
    CHECK_EQ(number, --*expected);
}

static void take_group(void *ctx, const struct store_group *group)
{
    uint64_t *last = ctx;
    CHECK(group->total_ns < *last);
    *last = group->total_ns;
}

TEST_TIMEOUT(newest_reports_and_groups_by_impact_are_found_without_a_search, 60)
{
    struct store *store = fill();
    unsigned newest = ROWS;
    uint64_t last = UINT64_MAX;
    const struct store_filter filter = {.order = STORE_BY_IMPACT, .limit = 50};
    CHECK_EQ(store_reports(store, 1, 0, false, 100, take_row, &newest), STORE_OK);
    CHECK_EQ(newest, ROWS - 100);
    CHECK_EQ(store_groups(store, 1, &filter, take_group, &last), STORE_OK);
    CHECK_EQ(last, 1000 + ROWS - 50);
    store_close(store);
}
