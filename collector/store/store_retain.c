// SPDX-License-Identifier: Apache-2.0
/* Retention. A step is one transaction; when it is on the disk, files are removed that no report
 * has any more. The writer waits meanwhile, so no report can come that has such a file. A collector
 * that is killed in between leaves files that nobody has, never a report without its file. Files in
 * the database go in the transaction. */
#include <stdlib.h>
#include <string.h>

#include "store_parts.h"
#include "thin.h"

#define DAY_NS ((uint64_t)86400 * 1000000000u)
/* By more than this no clock drifts before it is noticed. */
#define AHEAD_NS ((uint64_t)3600 * 1000000000u)
enum { CAUSES = 20, REPORTS = 500, ROWS_MAX = 100000 }; /* of a step */

struct keeping {
    struct store *store;
    struct db *db;
    const struct store_keep *keep;
    struct hash *blobs; /* that a report had */
    uint32_t blob_count;
    enum store_status status;
};

/* A statement of a step; null after a failure. */
static struct db_statement *prepare(struct keeping *k, const char *text)
{
    struct db_statement *statement = NULL;
    if (k->status == STORE_OK && (statement = k->db->kind->prepare(k->db, text, false)) == NULL) {
        k->status = STORE_FAILED;
    }
    return statement;
}

static bool next_row(struct keeping *k, struct db_statement *statement)
{
    enum db_result result = statement != NULL ? db_step(statement) : DB_DONE;
    if (result != DB_ROW && result != DB_DONE) {
        k->status = STORE_FAILED;
    }
    return result == DB_ROW;
}

static void run(struct keeping *k, const char *text, int64_t one, int64_t other)
{
    struct db_statement *statement = prepare(k, text);
    if (statement != NULL) {
        db_bind(statement, strstr(text, "?2") != NULL ? "ii" : "i", one, other);
        k->status = db_run(statement);
        db_end(statement);
    }
}

/* Remove the file of a report, and its events; the report's row stays. */
static void drop_file(struct keeping *k, int64_t report)
{
    struct db_statement *statement = prepare(k, "SELECT blob FROM report WHERE number = ?1");
    struct hash blob;
    db_bind(statement, "i", report);
    bool is_there = next_row(k, statement) && db_copy_id(statement, 0, blob.bytes, IDS_HASH);
    struct hash *room =
        is_there ? realloc(k->blobs, (k->blob_count + 1) * sizeof *k->blobs) : k->blobs;
    if (is_there && room == NULL) {
        k->status = db_fail("no memory");
    } else if (is_there) {
        k->blobs = room;
        k->blobs[k->blob_count++] = blob;
    }
    db_end(statement);
    statement = prepare(k, "UPDATE report SET blob = ?2 WHERE number = ?1");
    if (statement != NULL) {
        db_bind(statement, "ie", report);
        k->status = db_run(statement);
        db_end(statement);
    }
#define DROP(table) run(k, "DELETE FROM " table " WHERE report = ?1", report, 0);
    STORE_OF_FILES(DROP)
#undef DROP
}

/* --- groups that have too many --- */

static struct thin_row *read_rows(struct keeping *k, int64_t cause, uint32_t *ret_count)
{
    struct thin_row *rows = calloc(ROWS_MAX, sizeof *rows);
    struct db_statement *statement =
        prepare(k, "SELECT report, total_ns, named FROM event WHERE cause = ?1 ORDER BY report");
    db_bind(statement, "i", cause);
    for (*ret_count = 0; rows != NULL && *ret_count < ROWS_MAX && next_row(k, statement);) {
        rows[(*ret_count)++] = (struct thin_row){.report = db_number(statement, 0),
                                                 .total_ns = db_uint(statement, 1),
                                                 .named = (uint32_t)db_uint(statement, 2)};
    }
    db_end(statement);
    return rows;
}

static bool has_events(struct keeping *k, int64_t report)
{
    struct db_statement *statement = prepare(k, "SELECT 1 FROM event WHERE report = ?1 LIMIT 1");
    db_bind(statement, "i", report);
    bool has = next_row(k, statement);
    db_end(statement);
    return has;
}

/* Of a quarter more than the limit, so that not each new report is a step. */
static void thin(struct keeping *k, int64_t cause)
{
    uint32_t count;
    struct thin_row *rows = read_rows(k, cause, &count);
    if (rows != NULL && count > k->keep->per_group + k->keep->per_group / 4) {
        thin_choose(rows, count, k->keep->per_group);
        for (uint32_t i = 0; i < count && k->status == STORE_OK; i++) {
            if (rows[i].is_kept) {
                continue;
            }
            run(k, "DELETE FROM event WHERE cause = ?1 AND report = ?2", cause, rows[i].report);
            if (!has_events(k, rows[i].report)) { /* no other group has it */
                drop_file(k, rows[i].report);
            }
        }
    }
    free(rows);
}

static void thin_some(struct keeping *k, struct store_keep_cursor *cursor)
{
    int64_t causes[CAUSES];
    unsigned count = 0;
    struct db_statement *statement = prepare(
        k, "SELECT number FROM cause WHERE number > ?1 AND count > ?2 ORDER BY number LIMIT ?3");
    db_bind(statement, "iuu", cursor->cause, (uint64_t)k->keep->per_group, (uint64_t)CAUSES);
    while (count < CAUSES && next_row(k, statement)) {
        causes[count++] = db_number(statement, 0);
    }
    db_end(statement);
    for (unsigned i = 0; i < count; i++) {
        thin(k, causes[i]);
    }
    cursor->cause = count == CAUSES ? causes[count - 1] : 0;
}

/* --- reports that are too old --- */

/* Is it to be passed? Reports came in the order of their numbers, so those behind one that is kept
 * are kept, too; but not behind one that a wrong clock dates later than now. */
static bool is_passed(const struct keeping *k, uint64_t received_ns)
{
    return received_ns < k->keep->before_ns || received_ns > k->keep->now_ns + AHEAD_NS;
}

/* Forget reports whose files were removed, of those that were looked at. */
static void forget(struct keeping *k, int64_t from, int64_t to)
{
    struct db_statement *statement =
        prepare(k, "DELETE FROM report WHERE number > ?1 AND number <= ?2 AND received_ns < ?3"
                   " AND length(blob) = 0");
    if (statement != NULL) {
        db_bind(statement, "iiu", from, to, k->keep->forget_before_ns);
        k->status = db_run(statement);
        db_end(statement);
    }
}

static void expire_some(struct keeping *k, struct store_keep_cursor *cursor)
{
    int64_t reports[REPORTS], last = cursor->report;
    unsigned count = 0, rows = 0, passed = 0;
    struct db_statement *statement =
        prepare(k, "SELECT number, received_ns, length(blob) FROM report WHERE number > ?1 ORDER BY"
                   " number LIMIT ?2");
    db_bind(statement, "iu", cursor->report, (uint64_t)REPORTS);
    while (rows < REPORTS && next_row(k, statement)) {
        uint64_t received_ns = db_uint(statement, 1);
        last = db_number(statement, 0);
        rows++;
        passed += is_passed(k, received_ns);
        if (received_ns < k->keep->before_ns && db_number(statement, 2) != 0) {
            reports[count++] = last;
        }
    }
    db_end(statement);
    for (unsigned i = 0; i < count; i++) {
        drop_file(k, reports[i]);
    }
    forget(k, cursor->report, last);
    cursor->report = rows == REPORTS && passed != 0 ? last : 0;
}

/* --- files --- */

static bool is_used(struct keeping *k, const struct hash *blob)
{
    struct db_statement *statement = prepare(k, "SELECT 1 FROM report WHERE blob = ?1 LIMIT 1");
    db_bind(statement, "h", blob);
    bool is_there = next_row(k, statement) || k->status != STORE_OK;
    db_end(statement);
    return is_there;
}

/* Remove the files, when the disk has that no report has them. */
static uint32_t drop_blobs(struct keeping *k, store_drop_blob *drop, void *ctx)
{
    uint32_t count = 0;
    if (k->blob_count == 0 || k->db->kind->sync(k->db) != STORE_OK) {
        return 0;
    }
    for (uint32_t i = 0; i < k->blob_count; i++) {
        if (!is_used(k, &k->blobs[i])) {
            drop(ctx, &k->blobs[i]);
            count++;
        }
    }
    return count;
}

/* Remove those that are in the database; the others are no longer in k->blobs. */
static void drop_stored(struct keeping *k)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < k->blob_count && k->status == STORE_OK; i++) {
        if (is_used(k, &k->blobs[i])) {
            continue;
        }
        struct db_statement *statement = prepare(k, "DELETE FROM file WHERE hash = ?1");
        if (statement != NULL) {
            db_bind(statement, "h", &k->blobs[i]);
            k->status = db_run(statement);
            db_end(statement);
            k->blobs[count++] = k->blobs[i];
        }
    }
    k->blob_count = count;
}

/* Remove the tables of days of which nothing is kept. */
static void drop_days(struct keeping *k)
{
    if (k->keep->before_ns / DAY_NS > 0) {
        run(k, "SELECT drop_days(?1)", (int64_t)(k->keep->before_ns / DAY_NS), 0);
    }
}

enum store_status store_earlier(struct store *store, uint64_t now_ns, uint64_t *ret_ns)
{
    *ret_ns = now_ns;
    if (!store->is_shared) {
        return STORE_OK;
    }
    struct store_asking asking =
        store_ask(store, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT * 1000");
    if (store_next(&asking) && db_uint(asking.statement, 0) < now_ns) {
        *ret_ns = db_uint(asking.statement, 0);
    }
    return store_end(&asking);
}

enum store_status store_keep(struct store *store, const struct store_keep *keep,
                             struct store_keep_cursor *cursor, store_drop_blob *drop, void *ctx,
                             uint32_t *ret_count)
{
    struct keeping k = {.store = store, .db = store->writer, .keep = keep, .status = STORE_OK};
    struct store_keep_cursor next = *cursor;
    bool is_first = cursor->cause == 0 && cursor->report == 0; /* of a round */
    *ret_count = 0;
    pthread_mutex_lock(&store->writing);
    k.status = k.db->kind->begin(k.db);
    if (keep->per_group != 0) {
        thin_some(&k, &next);
    }
    expire_some(&k, &next);
    if (store->is_shared && is_first) {
        drop_days(&k);
    }
    if (store->is_shared) {
        drop_stored(&k);
    }
    if (k.status == STORE_OK) {
        k.status = k.db->kind->commit(k.db);
    } else {
        k.db->kind->roll_back(k.db);
    }
    if (k.status == STORE_OK) {
        *ret_count = drop_blobs(&k, drop, ctx);
        *cursor = next;
    }
    pthread_mutex_unlock(&store->writing);
    free(k.blobs);
    return k.status;
}
