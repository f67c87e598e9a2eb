// SPDX-License-Identifier: Apache-2.0
/* Reports that wait for symbols. While a report waits, each of its events is also a row of `part`:
 * what it added to which cause. So it can be taken back exactly when the report is named and
 * grouped anew. What a cause keeps as it was: when it was first and last seen, and in which build;
 * and its longest event is then the longest of all that one report added. */
#include <string.h>

#include "breakpad.h"
#include "store_parts.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000u)

/* --- what a report waits for --- */

enum store_status store_add_wants(struct store *store, int64_t report,
                                  const struct digest_wants *wants)
{
    enum store_status status = STORE_OK;
    struct db_statement *statement = store->statements[STORE_ADD_WANT];
    for (uint32_t i = 0; i < wants->count && status == STORE_OK; i++) {
        db_bind(statement, "bi", wants->ids[i].bytes, (size_t)wants->ids[i].size, report);
        status = db_run(statement);
    }
    return status;
}

enum store_status store_add_part(struct store *store, int64_t report, uint32_t number,
                                 int64_t cause, uint64_t time_ns, const struct digest_event *event)
{
    static const struct digest_call none = {0};
    struct db_statement *statement = store->statements[STORE_ADD_PART];
    const struct digest_call *call = event->call != NULL ? event->call : &none;
    db_bind(statement, "iuiuuuuuuuuuuu", report, (uint64_t)number, cause, time_ns, event->count,
            event->total_ns, (uint64_t)event->is_fatal, call->before, call->given, call->refused,
            call->over, (uint64_t)(event->call != NULL), call->direct, call->system);
    return db_run(statement);
}

/* The last of the build-ids that begin with a short one (sonde__symfile_short_id()); of others, the
 * id itself. */
static struct sonde__build_id last_of(const struct sonde__build_id *id)
{
    struct sonde__build_id last = *id;
    if (id->size == SONDE__BREAKPAD_ID) {
        memset(last.bytes + id->size, 0xff, sizeof last.bytes - id->size);
        last.size = sizeof last.bytes;
    }
    return last;
}

enum store_status store_waiting(struct store *store, uint32_t project,
                                const struct sonde__build_id *id, uint32_t limit,
                                store_each_waiting *each, void *ctx)
{
    struct db *db = store->writer;
    struct db_statement *statement =
        db->kind->prepare(db,
                          "SELECT report.number, report.id, project, received_ns, blob"
                          " FROM want JOIN report ON report.number = want.report"
                          " WHERE want.id BETWEEN ?1 AND ?4 AND (?2 = 0 OR project = ?2)"
                          " LIMIT ?3",
                          false);
    enum db_result result;
    const struct sonde__build_id last = last_of(id);
    db_bind(statement, "buub", id->bytes, (size_t)id->size, (uint64_t)project, (uint64_t)limit,
            last.bytes, (size_t)last.size);
    while ((result = db_step(statement)) == DB_ROW) {
        struct store_waiting waiting = {.number = db_number(statement, 0),
                                        .project = (uint32_t)db_uint(statement, 2),
                                        .received_ns = db_uint(statement, 3)};
        (void)db_copy_id(statement, 1, waiting.id.bytes, sizeof waiting.id.bytes);
        (void)db_copy_id(statement, 4, waiting.blob.bytes, sizeof waiting.blob.bytes);
        each(ctx, &waiting);
    }
    db_end(statement);
    return result == DB_DONE ? STORE_OK : STORE_FAILED;
}

/* Tell a build-id and the number of reports, which are a row. */
static void tell_want(struct db_statement *statement, store_each_want *each, void *ctx)
{
    struct sonde__build_id id = {0};
    size_t size = 0;
    const void *bytes = statement->db->kind->bytes(statement, 0, &size);
    if (bytes != NULL && size > 0 && size <= sizeof id.bytes) {
        id.size = (uint8_t)size;
        memcpy(id.bytes, bytes, size);
        each(ctx, &id, db_uint(statement, 1));
    }
}

enum store_status store_wants(struct store *store, uint32_t project, uint32_t limit,
                              store_each_want *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT want.id, count(*) FROM want"
                         " JOIN report ON report.number = want.report WHERE project = ?1"
                         " GROUP BY want.id ORDER BY 2 DESC, 1 LIMIT ?2");
    db_bind(asking.statement, "uu", (uint64_t)project, (uint64_t)limit);
    while (store_next(&asking)) {
        tell_want(asking.statement, each, ctx);
    }
    return store_end(&asking);
}

enum store_status store_wants_of_all(struct store *store, uint32_t limit, int64_t *at,
                                     store_each_want *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT id, count(*), min(report) FROM (SELECT id, report FROM want"
                         " WHERE report < ?1 ORDER BY report DESC, id DESC LIMIT ?2) AS step"
                         " GROUP BY id ORDER BY 2 DESC, 1");
    int64_t before = *at != 0 ? *at : INT64_MAX, oldest = before;
    uint64_t waits = 0;
    db_bind(asking.statement, "iu", before, (uint64_t)limit);
    while (store_next(&asking)) {
        int64_t report = db_number(asking.statement, 2);
        oldest = report < oldest ? report : oldest;
        waits += db_uint(asking.statement, 1);
        tell_want(asking.statement, each, ctx);
    }
    /* of the oldest report the step may have a part only */
    *at = waits == limit ? oldest + 1 : 0;
    return store_end(&asking);
}

/* --- taking back --- */

struct taking {
    struct db *db;
    int64_t report;
    const struct digest *digest; /* of the report as it is now: its tags, build and machine */
    enum store_status status;
};

/* Run a statement with the values of `types` (db_bind()). */
#define RUN(taking, text, ...)                                                                     \
    do {                                                                                           \
        struct db_statement *statement_ = prepare(taking, text);                                   \
        if (statement_ != NULL) {                                                                  \
            db_bind(statement_, __VA_ARGS__);                                                      \
            (taking)->status = db_run(statement_);                                                 \
            db_end(statement_);                                                                    \
        }                                                                                          \
    } while (0)

static struct db_statement *prepare(struct taking *t, const char *text)
{
    struct db_statement *statement = NULL;
    if (t->status == STORE_OK && (statement = t->db->kind->prepare(t->db, text, false)) == NULL) {
        t->status = STORE_FAILED;
    }
    return statement;
}

/* What the report's events of one cause and hour added. */
struct part {
    int64_t cause;
    uint64_t hour, count, total_ns, fatal;
    bool is_summed; /* of calls that count for their build, too */
    uint64_t before, given, refused, over, direct, system;
};

#define LESS(column, what)                                                                         \
    column " = CASE WHEN " column " >= " what " THEN " column " - " what " ELSE 0 END"

/* The row of a build's calls of the cause ?1. */
#define OF_BUILD                                                                                   \
    " WHERE project = (SELECT project FROM cause WHERE number = ?1) AND build = ?2 AND cause = ?1"

static void take_sums(struct taking *t, const struct part *part)
{
    const char *build = t->digest->build;
    RUN(t,
        "UPDATE cause SET " LESS("count", "?2") ", " LESS("total_ns", "?3") ", " LESS(
            "fatal", "?4") " WHERE number = ?1 OR"
                           " number = (SELECT nullif(joined, 0) FROM cause WHERE number = ?1)",
        "iuuu", part->cause, part->count, part->total_ns, part->fatal);
    RUN(t,
        "UPDATE sum SET " LESS("count", "?4") ", " LESS(
            "total_ns", "?5") " WHERE cause = ?1 AND hour = ?2 AND build = ?3",
        "iutuu", part->cause, part->hour, build, part->count, part->total_ns);
    RUN(t, "DELETE FROM sum WHERE cause = ?1 AND hour = ?2 AND build = ?3 AND count = 0", "iut",
        part->cause, part->hour, build);
    for (uint32_t i = 0; i < t->digest->tag_count; i++) {
        const struct digest_tag *tag = &t->digest->tags[i];
        RUN(t,
            "UPDATE tag SET " LESS("count", "?4") " WHERE cause = ?1 AND name = ?2 AND value = CASE"
                                                  " WHEN EXISTS(SELECT 1 FROM tag WHERE cause = ?1 "
                                                  "AND name = ?2 AND value = ?3) THEN ?3"
                                                  " ELSE '(others)' END",
            "ittu", part->cause, tag->name, tag->value, part->count);
    }
    RUN(t, "DELETE FROM tag WHERE cause = ?1 AND count = 0", "i", part->cause);
    if (part->is_summed) {
        RUN(t,
            "UPDATE build_sum SET " LESS("count", "?3") ", " LESS("before_count", "?4") ", " LESS(
                "given_count",
                "?5") ", " LESS("refused_count",
                                "?6") ", " LESS("over_count",
                                                "?7") ", " LESS("reports",
                                                                "1") ", " LESS("direct_count",
                                                                               "?8") ", " LESS("sys"
                                                                                               "tem"
                                                                                               "_co"
                                                                                               "un"
                                                                                               "t",
                                                                                               "?9")
                OF_BUILD,
            "ituuuuuuu", part->cause, build, part->count, part->before, part->given, part->refused,
            part->over, part->direct, part->system);
    }
}

/* The same of a build's calls, which are not listed when nothing more is there. */
static void take_machine(struct taking *t, int64_t cause)
{
    struct db_statement *statement = prepare(
        t, "DELETE FROM machine" OF_BUILD " AND id = ?3 AND NOT EXISTS(SELECT 1 FROM event"
           " JOIN report ON report.number = event.report WHERE event.cause = ?1 AND device = ?3"
           " AND report.build = ?2) RETURNING cause");
    int64_t taken;
    if (statement == NULL) {
        return;
    }
    db_bind(statement, "itt", cause, t->digest->build, t->digest->device);
    t->status = db_run_for(statement, &taken);
    db_end(statement);
    if (t->status == STORE_OK) {
        RUN(t, "UPDATE build_sum SET " LESS("devices", "1") OF_BUILD, "it", cause,
            t->digest->build);
    } else if (t->status == STORE_ABSENT) {
        t->status = STORE_OK;
    }
    RUN(t, "DELETE FROM build_sum" OF_BUILD " AND count = 0", "it", cause, t->digest->build);
}

/* The machine of the report, unless another report of the cause is from it. */
static void take_device(struct taking *t, int64_t cause)
{
    struct db_statement *statement = prepare(
        t, "DELETE FROM device WHERE cause = ?1 AND id = ?2 AND NOT EXISTS(SELECT 1 FROM event"
           " JOIN report ON report.number = event.report WHERE event.cause = ?1 AND device = ?2)"
           " RETURNING cause");
    int64_t taken;
    if (statement == NULL) {
        return;
    }
    db_bind(statement, "it", cause, t->digest->device);
    t->status = db_run_for(statement, &taken);
    db_end(statement);
    if (t->status == STORE_ABSENT) {
        t->status = STORE_OK;
        return;
    }
    RUN(t, "UPDATE cause SET " LESS("devices", "1") " WHERE number = ?1", "i", cause);
    RUN(t,
        "UPDATE cause SET devices = (SELECT count(DISTINCT device.id) FROM device JOIN cause AS one"
        " ON one.number = device.cause WHERE one.joined = cause.number)"
        " WHERE number = (SELECT nullif(joined, 0) FROM cause WHERE number = ?1)",
        "i", cause);
}

/* Show a report that is still in the cause as its longest. A cause that has none stays, and is
 * shown again when an event comes: its number may be known to somebody. */
static void show_another(struct taking *t, int64_t cause)
{
    RUN(t, "UPDATE cause SET longest_ns = 0 WHERE number = ?1 AND count = 0", "i", cause);
    RUN(t,
        "UPDATE cause SET (longest, longest_ns) = (SELECT report.id, event.total_ns FROM event"
        " JOIN report ON report.number = event.report WHERE event.cause = ?1"
        " ORDER BY event.total_ns DESC LIMIT 1) WHERE number = ?1"
        " AND longest = (SELECT id FROM report WHERE number = ?2)"
        " AND EXISTS(SELECT 1 FROM event WHERE cause = ?1)",
        "ii", cause, t->report);
}

static void take_parts(struct taking *t)
{
    struct db_statement *rows =
        prepare(t, "SELECT cause, time_ns, count, total_ns, fatal, is_summed, before_count,"
                   " given_count, refused_count, over_count, direct_count, system_count FROM part"
                   " WHERE report = ?1");
    enum db_result result = DB_DONE;
    db_bind(rows, "i", t->report);
    while (t->status == STORE_OK && (result = db_step(rows)) == DB_ROW) {
        const struct part part = {.cause = db_number(rows, 0),
                                  .hour = db_uint(rows, 1) / HOUR_NS,
                                  .count = db_uint(rows, 2),
                                  .total_ns = db_uint(rows, 3),
                                  .fatal = db_uint(rows, 4),
                                  .is_summed = db_number(rows, 5) != 0,
                                  .before = db_uint(rows, 6),
                                  .given = db_uint(rows, 7),
                                  .refused = db_uint(rows, 8),
                                  .over = db_uint(rows, 9),
                                  .direct = db_uint(rows, 10),
                                  .system = db_uint(rows, 11)};
        take_sums(t, &part);
        RUN(t, "DELETE FROM event WHERE cause = ?1 AND report = ?2", "ii", part.cause, t->report);
    }
    db_reset(rows);
    db_bind(rows, "i", t->report);
    while (t->status == STORE_OK && result == DB_DONE && db_step(rows) == DB_ROW) {
        int64_t cause = db_number(rows, 0);
        bool is_summed = db_number(rows, 5) != 0;
        take_device(t, cause);
        if (is_summed) {
            take_machine(t, cause);
        }
        show_another(t, cause);
    }
    db_end(rows);
    if (t->status == STORE_OK && result != DB_DONE) {
        t->status = STORE_FAILED;
    }
}

enum store_status store_take_back(struct store *store, int64_t report, const struct digest *digest)
{
    struct taking t = {.db = store->writer, .report = report, .digest = digest};
    t.status = store_flush(store); /* rows of this transaction are looked at */
    if (digest != NULL && t.status == STORE_OK) {
        take_parts(&t);
    }
    if (digest != NULL && t.status == STORE_OK) {
        t.status = sieve_take_back(store, report);
    }
    RUN(&t, "DELETE FROM sifted WHERE report = ?1", "i", report);
    RUN(&t, "DELETE FROM want WHERE report = ?1", "i", report);
    RUN(&t, "DELETE FROM part WHERE report = ?1", "i", report);
    return t.status;
}
