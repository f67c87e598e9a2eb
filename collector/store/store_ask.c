// SPDX-License-Identifier: Apache-2.0
#include "sqlite.h"

#include <string.h>

enum store_status store_check(struct store *store)
{
    struct sqlite_asking asking = sqlite_ask(store, "SELECT count(*) FROM project");
    (void)sqlite_row(&asking);
    return sqlite_end(&asking);
}

struct journal_place store_place(struct store *store)
{
    struct journal_place place = {0};
    struct sqlite_asking asking = sqlite_ask(store, "SELECT segment, offset FROM place");
    if (sqlite_row(&asking)) {
        place.segment = sqlite_uint(asking.statement, 0);
        place.offset = sqlite_uint(asking.statement, 1);
    }
    (void)sqlite_end(&asking);
    return place;
}

enum store_status store_knows(struct store *store, uint32_t project, const struct report_id *id)
{
    if (!seen_may_have(store->seen, project, id)) {
        return STORE_ABSENT;
    }
    struct sqlite_lane *lane = &store->lanes[0]; /* its statement is prepared */
    pthread_mutex_lock(&lane->mutex);
    sqlite_bind(store->knows, "ur", (uint64_t)project, id);
    int result = sqlite3_step(store->knows);
    enum store_status status = result == SQLITE_ROW    ? STORE_KNOWN
                               : result == SQLITE_DONE ? STORE_ABSENT
                                                       : sqlite_fail(lane->db);
    sqlite3_reset(store->knows);
    pthread_mutex_unlock(&lane->mutex);
    return status;
}

/* --- groups --- */

#define GROUP_COLUMNS                                                                              \
    "SELECT number, kind, id, title, summary, why, severity, count, total_ns, longest_ns, "        \
    "devices, fatal, first_ns, last_ns, first_build, last_build, longest, state, state_ns, "       \
    "state_build, until_ns, until_count, assignee, joined, is_joint FROM cause "

static void tell_group(sqlite3_stmt *s, store_each_group *each, void *ctx)
{
    struct store_group group = {.number = sqlite3_column_int64(s, 0),
                                .kind = (uint32_t)sqlite_uint(s, 1),
                                .group = sqlite_text(s, 2),
                                .title = sqlite_text(s, 3),
                                .summary = sqlite_text(s, 4),
                                .why = sqlite_text(s, 5),
                                .severity = (uint32_t)sqlite_uint(s, 6),
                                .count = sqlite_uint(s, 7),
                                .total_ns = sqlite_uint(s, 8),
                                .longest_ns = sqlite_uint(s, 9),
                                .devices = sqlite_uint(s, 10),
                                .fatal = sqlite_uint(s, 11),
                                .first_ns = sqlite_uint(s, 12),
                                .last_ns = sqlite_uint(s, 13),
                                .first_build = sqlite_text(s, 14),
                                .last_build = sqlite_text(s, 15),
                                .mark = {.state = (enum state)sqlite_uint(s, 17),
                                         .since_ns = sqlite_uint(s, 18),
                                         .build = sqlite_text(s, 19),
                                         .until_ns = sqlite_uint(s, 20),
                                         .until_count = sqlite_uint(s, 21)},
                                .assignee = sqlite_text(s, 22),
                                .joined = sqlite3_column_int64(s, 23),
                                .is_joint = sqlite3_column_int(s, 24) != 0};
    sqlite_copy_id(s, 16, group.longest.bytes, sizeof group.longest.bytes);
    each(ctx, &group);
}

#define GROUPS                                                                                     \
    GROUP_COLUMNS "WHERE project = ?1 AND joined = 0 AND (?2 = 0 OR kind = ?2) AND (?3 = 0 OR "    \
                  "(?3 >> state) & 1) AND (?4 = '' OR assignee = ?4) ORDER BY "

/* Impact: machines times time lost; what has no duration counts by calls. */
static const char *const orders[] = {
    [STORE_BY_IMPACT] = GROUPS "1.0 * devices * max(total_ns, count) DESC, number LIMIT ?5",
    [STORE_BY_LAST] = GROUPS "last_ns DESC, number LIMIT ?5",
    [STORE_BY_FIRST] = GROUPS "first_ns DESC, number LIMIT ?5",
    [STORE_BY_COUNT] = GROUPS "count DESC, number LIMIT ?5",
};

enum store_status store_groups(struct store *store, uint32_t project,
                               const struct store_filter *filter, store_each_group *each, void *ctx)
{
    struct sqlite_asking asking = sqlite_ask(store, orders[filter->order]);
    sqlite_bind(asking.statement, "uuutu", (uint64_t)project, (uint64_t)filter->kind,
                (uint64_t)filter->states, filter->assignee != NULL ? filter->assignee : "",
                (uint64_t)filter->limit);
    while (sqlite_row(&asking)) {
        tell_group(asking.statement, each, ctx);
    }
    return sqlite_end(&asking);
}

enum store_status store_group(struct store *store, uint32_t project, int64_t number,
                              store_each_group *each, void *ctx)
{
    struct sqlite_asking asking =
        sqlite_ask(store, GROUP_COLUMNS "WHERE project = ? AND number = ?");
    sqlite_bind(asking.statement, "ui", (uint64_t)project, number);
    bool is_there = sqlite_row(&asking);
    if (is_there) {
        tell_group(asking.statement, each, ctx);
    }
    return sqlite_end_of_one(&asking, is_there);
}

enum store_status store_causes(struct store *store, int64_t group, store_each_group *each,
                               void *ctx)
{
    struct sqlite_asking asking =
        sqlite_ask(store, GROUP_COLUMNS "WHERE joined = ? AND joined <> 0 AND is_joint = 0 ORDER BY"
                                        " total_ns DESC, number LIMIT 1000");
    sqlite_bind(asking.statement, "i", group);
    while (sqlite_row(&asking)) {
        tell_group(asking.statement, each, ctx);
    }
    return sqlite_end(&asking);
}

/* --- what a group has --- */

/* The rows of a group, and of its causes. */
#define OF_GROUP                                                                                   \
    "cause IN (SELECT ?1 UNION ALL SELECT number FROM cause WHERE joined = ?1 AND joined <> 0) "

static const char *const sums[] = {
    [STORE_BY_HOUR_AND_BUILD] =
        "SELECT hour, build, sum(count), sum(total_ns), max(longest_ns), hour FROM sum "
        "WHERE " OF_GROUP "GROUP BY hour, build ORDER BY hour DESC, build LIMIT ?2",
    [STORE_BY_HOUR] = "SELECT hour, '', sum(count), sum(total_ns), max(longest_ns), hour FROM sum "
                      "WHERE " OF_GROUP "GROUP BY hour ORDER BY hour DESC LIMIT ?2",
    [STORE_BY_DAY] =
        "SELECT hour / 24 * 24, '', sum(count), sum(total_ns), max(longest_ns), "
        "max(hour) FROM sum WHERE " OF_GROUP "GROUP BY hour / 24 ORDER BY 1 DESC LIMIT ?2",
    [STORE_BY_BUILD] = "SELECT min(hour), build, sum(count), sum(total_ns), max(longest_ns), "
                       "max(hour) FROM sum WHERE " OF_GROUP
                       "GROUP BY build ORDER BY max(hour) DESC, build LIMIT ?2",
};

enum store_status store_sums(struct store *store, int64_t group, enum store_sums by, uint32_t limit,
                             store_each_sum *each, void *ctx)
{
    struct sqlite_asking asking = sqlite_ask(store, sums[by]);
    sqlite_bind(asking.statement, "iu", group, (uint64_t)limit);
    while (sqlite_row(&asking)) {
        const struct store_sum sum = {.hour = sqlite_uint(asking.statement, 0),
                                      .build = sqlite_text(asking.statement, 1),
                                      .count = sqlite_uint(asking.statement, 2),
                                      .total_ns = sqlite_uint(asking.statement, 3),
                                      .longest_ns = sqlite_uint(asking.statement, 4),
                                      .last_hour = sqlite_uint(asking.statement, 5)};
        each(ctx, &sum);
    }
    return sqlite_end(&asking);
}

enum store_status store_tags(struct store *store, int64_t group, store_each_tag *each, void *ctx)
{
    struct sqlite_asking asking =
        sqlite_ask(store, "SELECT name, value, sum(count) AS n FROM tag WHERE " OF_GROUP
                          "GROUP BY name, value ORDER BY name, n DESC, value LIMIT 1000");
    sqlite_bind(asking.statement, "i", group);
    while (sqlite_row(&asking)) {
        const struct store_tag tag = {.name = sqlite_text(asking.statement, 0),
                                      .value = sqlite_text(asking.statement, 1),
                                      .count = sqlite_uint(asking.statement, 2)};
        each(ctx, &tag);
    }
    return sqlite_end(&asking);
}

enum store_status store_actions(struct store *store, uint32_t project, uint32_t limit,
                                store_each_action *each, void *ctx)
{
    struct sqlite_asking asking = sqlite_ask(
        store, "SELECT time_ns, secret, project, what FROM action WHERE ?1 = 0 OR project = ?1"
               " ORDER BY number DESC LIMIT ?2");
    sqlite_bind(asking.statement, "uu", (uint64_t)project, (uint64_t)limit);
    while (sqlite_row(&asking)) {
        const struct store_action action = {.time_ns = sqlite_uint(asking.statement, 0),
                                            .secret = sqlite3_column_int64(asking.statement, 1),
                                            .project = (uint32_t)sqlite_uint(asking.statement, 2),
                                            .what = sqlite_text(asking.statement, 3)};
        each(ctx, &action);
    }
    return sqlite_end(&asking);
}

/* --- reports --- */

#define REPORT_COLUMNS                                                                             \
    "SELECT id, kind, received_ns, size_bytes, program, build, device, os, note, blob FROM "       \
    "report "

static void tell_row(sqlite3_stmt *s, store_each_row *each, void *ctx)
{
    struct store_row row = {.kind = (uint32_t)sqlite_uint(s, 1),
                            .received_ns = sqlite_uint(s, 2),
                            .size_bytes = sqlite_uint(s, 3),
                            .program = sqlite_text(s, 4),
                            .build = sqlite_text(s, 5),
                            .device = sqlite_text(s, 6),
                            .os = sqlite_text(s, 7),
                            .note = sqlite_text(s, 8),
                            .has_file = sqlite3_column_bytes(s, 9) == IDS_HASH};
    sqlite_copy_id(s, 0, row.id.bytes, sizeof row.id.bytes);
    sqlite_copy_id(s, 9, row.blob.bytes, sizeof row.blob.bytes);
    each(ctx, &row);
}

enum store_status store_reports(struct store *store, uint32_t project, int64_t group,
                                bool is_unread, uint32_t limit, store_each_row *each, void *ctx)
{
    struct sqlite_asking asking = sqlite_ask(
        store, group != 0 ? REPORT_COLUMNS
                   "WHERE number IN (SELECT report FROM event WHERE cause IN (SELECT ?2 UNION ALL"
                   " SELECT number FROM cause WHERE joined = ?2 AND joined <> 0)"
                   " ORDER BY report DESC LIMIT ?3) AND project = ?1 ORDER BY number DESC"
               : is_unread ? REPORT_COLUMNS
                   "WHERE project = ?1 AND kind = 0 AND ?2 = 0 ORDER BY number DESC"
                   " LIMIT ?3"
                           : REPORT_COLUMNS
                   "WHERE project = ?1 AND ?2 = 0 ORDER BY number DESC LIMIT ?3");
    sqlite_bind(asking.statement, "uiu", (uint64_t)project, group, (uint64_t)limit);
    while (sqlite_row(&asking)) {
        tell_row(asking.statement, each, ctx);
    }
    return sqlite_end(&asking);
}

enum store_status store_report(struct store *store, uint32_t project, const struct report_id *id,
                               store_each_row *each, void *ctx)
{
    struct sqlite_asking asking = sqlite_ask(store, REPORT_COLUMNS "WHERE project = ? AND id = ?");
    sqlite_bind(asking.statement, "ur", (uint64_t)project, id);
    bool is_there = sqlite_row(&asking);
    if (is_there) {
        tell_row(asking.statement, each, ctx);
    }
    return sqlite_end_of_one(&asking, is_there);
}
