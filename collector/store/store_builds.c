// SPDX-License-Identifier: Apache-2.0
/* Questions about builds, and the calls of each. */
#include <stdio.h>

#include "store_parts.h"

#define BUILDS                                                                                     \
    "SELECT build.name, build.first_ns, last_ns, build.reports, recorded,"                         \
    " coalesce(devices, 0), build.name <> '' AND EXISTS(SELECT 1 FROM project"                     \
    " WHERE project.number = ?1 AND baseline = build.name), callers FROM build LEFT JOIN "         \
    "build_sum"                                                                                    \
    " ON build_sum.project = build.project AND build_sum.build = build.name AND cause = 0"         \
    " WHERE build.project = ?1 "

static bool is_true(struct db_statement *s, int column)
{
    const char *text = db_text(s, column); /* SQLite: "1", PostgreSQL: "t" */
    return *text == '1' || *text == 't';
}

static void tell_build(struct db_statement *s, store_each_build *each, void *ctx)
{
    struct store_build build = {.first_ns = db_uint(s, 1),
                                .last_ns = db_uint(s, 2),
                                .reports = db_uint(s, 3),
                                .recorded = db_uint(s, 4),
                                .devices = db_uint(s, 5),
                                .is_baseline = is_true(s, 6),
                                .callers = db_uint(s, 7)};
    build.name = db_text(s, 0);
    each(ctx, &build);
}

enum store_status store_builds(struct store *store, uint32_t project, uint32_t limit,
                               store_each_build *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, BUILDS "ORDER BY last_ns DESC, build.name LIMIT ?2");
    db_bind(asking.statement, "uu", (uint64_t)project, (uint64_t)limit);
    while (store_next(&asking)) {
        tell_build(asking.statement, each, ctx);
    }
    return store_end(&asking);
}

enum store_status store_build(struct store *store, uint32_t project, const char *name,
                              store_each_build *each, void *ctx)
{
    struct store_asking asking = store_ask(store, BUILDS "AND build.name = ?2");
    db_bind(asking.statement, "ut", (uint64_t)project, name);
    bool is_there = store_next(&asking);
    if (is_there) {
        tell_build(asking.statement, each, ctx);
    }
    return store_end_of_one(&asking, is_there);
}

enum store_status store_baseline(struct store *store, uint32_t project, char *ret_name, size_t size)
{
    struct store_asking asking =
        store_ask(store, "SELECT baseline FROM project WHERE number = ?1 AND baseline <> ''");
    db_bind(asking.statement, "u", (uint64_t)project);
    bool is_there = store_next(&asking);
    if (is_there) {
        (void)snprintf(ret_name, size, "%s", db_text(asking.statement, 0));
    }
    return store_end_of_one(&asking, is_there);
}

/* --- calls --- */

#define TEXTS(of) of ".rule, " of ".api, " of ".path, " of ".sdk, " of ".is_stable, "
#define NUMBERS(of)                                                                                \
    of ".count, " of ".before_count, " of ".given_count, " of ".refused_count, " of                \
       ".over_count, " of ".reports, " of ".devices"
#define CAUSE_COLUMNS                                                                              \
    "CASE WHEN joined <> 0 THEN joined ELSE cause.number END, cause.kind, severity, "

enum { TEXT_COLUMNS = 3, SUM_COLUMNS = 8, SUMS = 7 };

static struct store_call call_of(struct db_statement *s)
{
    return (struct store_call){.group = db_number(s, 0),
                               .kind = (uint32_t)db_uint(s, 1),
                               .severity = (uint32_t)db_uint(s, 2),
                               .rule = db_text(s, TEXT_COLUMNS),
                               .api = db_text(s, TEXT_COLUMNS + 1),
                               .path = db_text(s, TEXT_COLUMNS + 2),
                               .sdk = db_text(s, TEXT_COLUMNS + 3),
                               .is_stable = db_number(s, TEXT_COLUMNS + 4) != 0};
}

static struct store_call_sum sum_of(struct db_statement *s, int column)
{
    return (struct store_call_sum){.count = db_uint(s, column),
                                   .before = db_uint(s, column + 1),
                                   .given = db_uint(s, column + 2),
                                   .refused = db_uint(s, column + 3),
                                   .over = db_uint(s, column + 4),
                                   .reports = db_uint(s, column + 5),
                                   .devices = db_uint(s, column + 6)};
}

enum store_status store_calls(struct store *store, uint32_t project, const char *build,
                              uint32_t limit, store_each_call *each, void *ctx)
{
    struct store_asking asking = store_ask(
        store,
        "SELECT " CAUSE_COLUMNS TEXTS("one")
            NUMBERS("one") " FROM build_sum AS one JOIN cause"
                           " ON cause.number = one.cause WHERE one.project = ?1 AND one.build = ?2"
                           " AND one.cause <> 0 AND one.count > 0"
                           " ORDER BY severity DESC, one.count DESC, one.cause LIMIT ?3");
    db_bind(asking.statement, "utu", (uint64_t)project, build, (uint64_t)limit);
    while (store_next(&asking)) {
        const struct store_call call = call_of(asking.statement);
        const struct store_call_sum sum = sum_of(asking.statement, SUM_COLUMNS);
        each(ctx, &call, &sum);
    }
    return store_end(&asking);
}

enum store_status store_uses(struct store *store, uint32_t project, const char *build,
                             store_each_use *each, void *ctx)
{
    struct store_asking asking = store_ask(
        store,
        "SELECT " CAUSE_COLUMNS TEXTS("one")
            NUMBERS("one") ", one.direct_count, one.system_count, one.code FROM build_sum AS one"
                           " JOIN cause ON cause.number = one.cause WHERE one.project = ?1"
                           " AND one.build = ?2 AND one.cause <> 0 AND one.count > 0"
                           " ORDER BY severity DESC, one.count DESC, one.cause");
    db_bind(asking.statement, "ut", (uint64_t)project, build);
    while (store_next(&asking)) {
        const struct store_call call = call_of(asking.statement);
        const struct store_call_sum sum = sum_of(asking.statement, SUM_COLUMNS);
        const struct store_caller caller = {
            .code = db_text(asking.statement, SUM_COLUMNS + SUMS + 2),
            .direct = db_uint(asking.statement, SUM_COLUMNS + SUMS),
            .system = db_uint(asking.statement, SUM_COLUMNS + SUMS + 1)};
        each(ctx, &call, &sum, &caller);
    }
    return store_end(&asking);
}

#define OF_BUILD(number)                                                                           \
    "(SELECT * FROM build_sum WHERE project = ?1 AND build = " number                              \
    " AND cause <> 0 AND count > 0)"
#define NOTHING "0, 0, 0, 0, 0, 0, 0"
#define NUMBERS_OR_NONE(of)                                                                        \
    "coalesce(" of ".count, 0), coalesce(" of ".before_count, 0), coalesce(" of                    \
    ".given_count, 0), coalesce(" of ".refused_count, 0), coalesce(" of                            \
    ".over_count, 0), coalesce(" of ".reports, 0), coalesce(" of ".devices, 0)"
/* Did a build look for the calls of a row? */
#define IS_LISTED(of, build)                                                                       \
    "EXISTS(SELECT 1 FROM listed WHERE listed.project = ?1 AND listed.build = " build              \
    " AND listed.name = CASE WHEN " of ".rule <> '' THEN " of ".rule ELSE " of ".api END)"

static const char compare[] =
    "SELECT " CAUSE_COLUMNS TEXTS("now") NUMBERS("now") ", " NUMBERS_OR_NONE("old") ", " IS_LISTED(
        "now", "?3") " AS has, CASE WHEN old.count IS NULL THEN 0 ELSE 1 END AS place, severity"
                     " AS weight, now.count AS many, now.cause AS last FROM " OF_BUILD(
                         "?2") " AS now JOIN cause"
                               " ON cause.number = now.cause LEFT JOIN " OF_BUILD(
                                   "?3") " AS old ON old.cause = now.cause"
                                         " UNION ALL SELECT " CAUSE_COLUMNS TEXTS("old") NOTHING
    ", " NUMBERS("old") ", " IS_LISTED("old", "?2") ", 2, severity, old.count, old.cause "
                                                    "FROM " OF_BUILD(
                                                        "?3") " AS old JOIN cause"
                                                              " ON cause.number = old.cause WHERE "
                                                              "NOT EXISTS(SELECT 1 FROM build_sum "
                                                              "AS now"
                                                              " WHERE now.project = ?1 AND "
                                                              "now.build = ?2 AND now.cause = "
                                                              "old.cause AND now.count > 0)"
                                                              " ORDER BY place, weight DESC, many "
                                                              "DESC, last";

enum store_status store_compare(struct store *store, uint32_t project, const char *build,
                                const char *base, store_each_call_pair *each, void *ctx)
{
    struct store_asking asking = store_ask(store, compare);
    db_bind(asking.statement, "utt", (uint64_t)project, build, base);
    while (store_next(&asking)) {
        struct db_statement *s = asking.statement;
        const struct store_call_pair pair = {.call = call_of(s),
                                             .now = sum_of(s, SUM_COLUMNS),
                                             .then = sum_of(s, SUM_COLUMNS + SUMS),
                                             .is_listed = is_true(s, SUM_COLUMNS + 2 * SUMS)};
        each(ctx, &pair);
    }
    return store_end(&asking);
}
