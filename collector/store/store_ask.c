// SPDX-License-Identifier: Apache-2.0
#include "store_impact.h"
#include "store_parts.h"

#include <string.h>

enum store_status store_check(struct store *store)
{
    struct store_asking asking = store_ask(store, "SELECT count(*) FROM project");
    (void)store_next(&asking);
    return store_end(&asking);
}

struct journal_place store_place(struct store *store)
{
    struct journal_place place = {0};
    struct store_asking asking =
        store_ask(store, "SELECT segment, \"offset\" FROM place WHERE one = ?1");
    db_bind(asking.statement, "i", store->collector);
    if (store_next(&asking)) {
        place.segment = db_uint(asking.statement, 0);
        place.offset = db_uint(asking.statement, 1);
    }
    (void)store_end(&asking);
    return place;
}

enum store_status store_knows(struct store *store, uint32_t project, const struct report_id *id)
{
    if (!seen_may_have(store->seen, project, id)) {
        return STORE_ABSENT;
    }
    struct store_lane *lane = &store->lanes[0]; /* its statement is prepared */
    pthread_mutex_lock(&lane->mutex);
    db_bind(store->knows, "ur", (uint64_t)project, id);
    int64_t one;
    enum store_status status = db_run_for(store->knows, &one);
    pthread_mutex_unlock(&lane->mutex);
    return status == STORE_OK ? STORE_KNOWN : status;
}

/* --- groups --- */

#define GROUP_COLUMNS                                                                              \
    "SELECT number, kind, id, title, summary, why, severity, count, total_ns, longest_ns, "        \
    "devices, fatal, first_ns, last_ns, first_build, last_build, longest, state, state_ns, "       \
    "state_build, until_ns, until_count, assignee, joined, is_joint FROM cause "

static void tell_group(struct db_statement *s, store_each_group *each, void *ctx)
{
    struct store_group group = {.number = db_number(s, 0),
                                .kind = (uint32_t)db_uint(s, 1),
                                .group = db_text(s, 2),
                                .title = db_text(s, 3),
                                .summary = db_text(s, 4),
                                .why = db_text(s, 5),
                                .severity = (uint32_t)db_uint(s, 6),
                                .count = db_uint(s, 7),
                                .total_ns = db_uint(s, 8),
                                .longest_ns = db_uint(s, 9),
                                .devices = db_uint(s, 10),
                                .fatal = db_uint(s, 11),
                                .first_ns = db_uint(s, 12),
                                .last_ns = db_uint(s, 13),
                                .first_build = db_text(s, 14),
                                .last_build = db_text(s, 15),
                                .mark = {.state = (enum state)db_uint(s, 17),
                                         .since_ns = db_uint(s, 18),
                                         .build = db_text(s, 19),
                                         .until_ns = db_uint(s, 20),
                                         .until_count = db_uint(s, 21)},
                                .assignee = db_text(s, 22),
                                .joined = db_number(s, 23),
                                .is_joint = db_number(s, 24) != 0};
    (void)db_copy_id(s, 16, group.longest.bytes, sizeof group.longest.bytes);
    each(ctx, &group);
}

#define GROUPS                                                                                     \
    GROUP_COLUMNS                                                                                  \
    "WHERE project = ?1 AND joined = 0 AND count > 0 AND (?2 = 0 OR kind = ?2) AND (?3 = 0 OR "    \
    "((?3 >> CAST(state AS INTEGER)) & 1) <> 0) AND (?4 = '' OR assignee = ?4) ORDER BY "

static const char *const orders[] = {
    [STORE_BY_IMPACT] = GROUPS STORE_IMPACT " DESC, number LIMIT ?5",
    [STORE_BY_LAST] = GROUPS "last_ns DESC, number LIMIT ?5",
    [STORE_BY_FIRST] = GROUPS "first_ns DESC, number LIMIT ?5",
    [STORE_BY_COUNT] = GROUPS "count DESC, number LIMIT ?5",
};

enum store_status store_groups(struct store *store, uint32_t project,
                               const struct store_filter *filter, store_each_group *each, void *ctx)
{
    struct store_asking asking = store_ask(store, orders[filter->order]);
    db_bind(asking.statement, "uuutu", (uint64_t)project, (uint64_t)filter->kind,
            (uint64_t)filter->states, filter->assignee != NULL ? filter->assignee : "",
            (uint64_t)filter->limit);
    while (store_next(&asking)) {
        tell_group(asking.statement, each, ctx);
    }
    return store_end(&asking);
}

enum store_status store_group(struct store *store, uint32_t project, int64_t number,
                              store_each_group *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, GROUP_COLUMNS "WHERE project = ?1 AND number = ?2");
    db_bind(asking.statement, "ui", (uint64_t)project, number);
    bool is_there = store_next(&asking);
    if (is_there) {
        tell_group(asking.statement, each, ctx);
    }
    return store_end_of_one(&asking, is_there);
}

enum store_status store_causes(struct store *store, int64_t group, store_each_group *each,
                               void *ctx)
{
    struct store_asking asking =
        store_ask(store, GROUP_COLUMNS "WHERE joined = ?1 AND joined <> 0 AND is_joint = 0 ORDER BY"
                                       " total_ns DESC, number LIMIT 1000");
    db_bind(asking.statement, "i", group);
    while (store_next(&asking)) {
        tell_group(asking.statement, each, ctx);
    }
    return store_end(&asking);
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
    struct store_asking asking = store_ask(store, sums[by]);
    db_bind(asking.statement, "iu", group, (uint64_t)limit);
    while (store_next(&asking)) {
        const struct store_sum sum = {.hour = db_uint(asking.statement, 0),
                                      .build = db_text(asking.statement, 1),
                                      .count = db_uint(asking.statement, 2),
                                      .total_ns = db_uint(asking.statement, 3),
                                      .longest_ns = db_uint(asking.statement, 4),
                                      .last_hour = db_uint(asking.statement, 5)};
        each(ctx, &sum);
    }
    return store_end(&asking);
}

enum store_status store_tags(struct store *store, int64_t group, store_each_tag *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT name, value, sum(count) AS n FROM tag WHERE " OF_GROUP
                         "GROUP BY name, value ORDER BY name, n DESC, value LIMIT 1000");
    db_bind(asking.statement, "i", group);
    while (store_next(&asking)) {
        const struct store_tag tag = {.name = db_text(asking.statement, 0),
                                      .value = db_text(asking.statement, 1),
                                      .count = db_uint(asking.statement, 2)};
        each(ctx, &tag);
    }
    return store_end(&asking);
}

enum store_status store_actions(struct store *store, uint32_t project, uint32_t limit,
                                store_each_action *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT time_ns, secret, project, what, name FROM action LEFT JOIN project"
                         " ON project.number = action.project WHERE ?1 = 0 OR project = ?1"
                         " ORDER BY action.number DESC LIMIT ?2");
    db_bind(asking.statement, "uu", (uint64_t)project, (uint64_t)limit);
    while (store_next(&asking)) {
        const struct store_action action = {.time_ns = db_uint(asking.statement, 0),
                                            .secret = db_number(asking.statement, 1),
                                            .project = (uint32_t)db_uint(asking.statement, 2),
                                            .what = db_text(asking.statement, 3),
                                            .project_name = db_text(asking.statement, 4)};
        each(ctx, &action);
    }
    return store_end(&asking);
}

/* --- reports --- */

#define REPORT_COLUMNS                                                                             \
    "SELECT id, kind, received_ns, size_bytes, program, build, device, os, note, blob FROM "       \
    "report "

static void tell_row(struct db_statement *s, store_each_row *each, void *ctx)
{
    struct store_row row = {
        .kind = (uint32_t)db_uint(s, 1),
        .received_ns = db_uint(s, 2),
        .size_bytes = db_uint(s, 3),
        .program = db_text(s, 4),
        .build = db_text(s, 5),
        .device = db_text(s, 6),
        .os = db_text(s, 7),
        .note = db_text(s, 8),
    };
    (void)db_copy_id(s, 0, row.id.bytes, sizeof row.id.bytes);
    row.has_file = db_copy_id(s, 9, row.blob.bytes, sizeof row.blob.bytes);
    each(ctx, &row);
}

enum store_status store_reports(struct store *store, uint32_t project, int64_t group,
                                bool is_unread, uint32_t limit, store_each_row *each, void *ctx)
{
    struct store_asking asking = store_ask(
        store, group != 0 ? REPORT_COLUMNS
                   "WHERE number IN (SELECT report FROM event WHERE cause IN (SELECT ?2 UNION ALL"
                   " SELECT number FROM cause WHERE joined = ?2 AND joined <> 0)"
                   " ORDER BY report DESC LIMIT ?3) AND project = ?1 ORDER BY number DESC"
               : is_unread ? REPORT_COLUMNS
                   "WHERE project = ?1 AND kind = 0 AND ?2 = 0 ORDER BY number DESC"
                   " LIMIT ?3"
                           : REPORT_COLUMNS
                   "WHERE project = ?1 AND ?2 = 0 ORDER BY number DESC LIMIT ?3");
    db_bind(asking.statement, "uiu", (uint64_t)project, group, (uint64_t)limit);
    while (store_next(&asking)) {
        tell_row(asking.statement, each, ctx);
    }
    return store_end(&asking);
}

enum store_status store_report(struct store *store, uint32_t project, const struct report_id *id,
                               store_each_row *each, void *ctx)
{
    struct store_asking asking = store_ask(store, REPORT_COLUMNS "WHERE project = ?1 AND id = ?2");
    db_bind(asking.statement, "ur", (uint64_t)project, id);
    bool is_there = store_next(&asking);
    if (is_there) {
        tell_row(asking.statement, each, ctx);
    }
    return store_end_of_one(&asking, is_there);
}
