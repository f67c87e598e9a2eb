// SPDX-License-Identifier: Apache-2.0
#include "db_sqlite.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema.h"

enum { STEPS = 100000 }; /* between two looks */

struct sqlite {
    struct db db;
    sqlite3 *handle;
    uint64_t steps, steps_max; /* of the question that is asked now, in units of STEPS; 0: any */
};

struct sqlite_statement {
    struct db_statement statement;
    sqlite3_stmt *handle;
};

static sqlite3 *handle_of(struct db *db)
{
    return ((struct sqlite *)db)->handle;
}

static sqlite3_stmt *statement_of(struct db_statement *statement)
{
    return ((struct sqlite_statement *)statement)->handle;
}

static enum store_status fail(struct db *db)
{
    const char *why = sqlite3_errmsg(handle_of(db));
    int code = sqlite3_errcode(handle_of(db));
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? db_damaged(why) : db_fail("%s", why);
}

static enum store_status execute(struct db *db, const char *text)
{
    return sqlite3_exec(handle_of(db), text, NULL, NULL, NULL) == SQLITE_OK ? STORE_OK : fail(db);
}

/* --- statements --- */

static struct db_statement *prepare(struct db *db, const char *text, bool is_kept)
{
    struct sqlite_statement *statement = calloc(1, sizeof *statement);
    if (statement == NULL) {
        (void)db_fail("no memory");
        return NULL;
    }
    statement->statement.db = db;
    ((struct sqlite *)db)->steps = 0;
    if (sqlite3_prepare_v3(handle_of(db), text, -1, is_kept ? SQLITE_PREPARE_PERSISTENT : 0,
                           &statement->handle, NULL) != SQLITE_OK) {
        (void)fail(db);
        free(statement);
        return NULL;
    }
    return &statement->statement;
}

static void bind(struct db_statement *statement, int index, const struct db_value *value)
{
    sqlite3_stmt *handle = statement_of(statement);
    switch (value->type) {
    case DB_NUMBER:
        sqlite3_bind_int64(handle, index, value->number);
        break;
    case DB_TEXT:
        sqlite3_bind_text(handle, index, value->bytes, (int)value->size, SQLITE_STATIC);
        break;
    case DB_BYTES:
        sqlite3_bind_blob(handle, index, value->bytes, (int)value->size, SQLITE_STATIC);
    }
}

static enum db_result step(struct db_statement *statement)
{
    switch (sqlite3_step(statement_of(statement))) {
    case SQLITE_ROW:
        return DB_ROW;
    case SQLITE_DONE:
        return DB_DONE;
    case SQLITE_CONSTRAINT:
        return DB_KNOWN;
    case SQLITE_INTERRUPT:
        (void)db_fail("the question takes too many steps");
        return DB_LONG;
    default:
        (void)fail(statement->db);
        return DB_FAILED;
    }
}

static void reset(struct db_statement *statement)
{
    sqlite3_reset(statement_of(statement));
}

static void end(struct db_statement *statement)
{
    sqlite3_finalize(statement_of(statement));
    free(statement);
}

static int64_t number(struct db_statement *statement, int column)
{
    return sqlite3_column_int64(statement_of(statement), column);
}

static const char *text(struct db_statement *statement, int column)
{
    return (const char *)sqlite3_column_text(statement_of(statement), column);
}

static const void *bytes(struct db_statement *statement, int column, size_t *ret_size)
{
    const void *found = sqlite3_column_blob(statement_of(statement), column);
    *ret_size = (size_t)sqlite3_column_bytes(statement_of(statement), column);
    return found;
}

/* --- transactions --- */

static enum store_status begin(struct db *db)
{
    return execute(db, "BEGIN IMMEDIATE");
}

static void roll_back(struct db *db)
{
    (void)sqlite3_exec(handle_of(db), "ROLLBACK", NULL, NULL, NULL);
}

static enum store_status commit(struct db *db)
{
    enum store_status status = execute(db, "COMMIT");
    if (status != STORE_OK) {
        roll_back(db);
    }
    return status;
}

/* Nothing is gathered. */
static enum store_status flush(struct db *db)
{
    (void)db;
    return STORE_OK;
}

/* A checkpoint alone would not do: with a question that began before the last commit it may have
 * nothing to do, and syncs nothing. */
static enum store_status sync_log(struct db *db)
{
    sqlite3_file *wal = NULL;
    sqlite3 *handle = handle_of(db);
    (void)sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (wal != NULL && wal->pMethods != NULL) {
        int result = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
        if (result != SQLITE_OK) {
            return db_fail("its log cannot be synced: %s", sqlite3_errstr(result));
        }
    }
    int result = sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    bool is_done = result == SQLITE_OK || (wal != NULL && result == SQLITE_BUSY); /* by another */
    return is_done ? STORE_OK : fail(db);
}

/* On the thread that asks. Not 0: end the question. */
static int count_steps(void *ctx)
{
    struct sqlite *sqlite = ctx;
    return ++sqlite->steps > sqlite->steps_max && sqlite->steps_max != 0;
}

static void bound(struct db *db, uint64_t steps)
{
    struct sqlite *sqlite = (struct sqlite *)db;
    sqlite->steps_max = steps / STEPS;
    sqlite3_progress_handler(sqlite->handle, STEPS, count_steps, sqlite);
}

static void close_it(struct db *db)
{
    sqlite3_close(handle_of(db));
    free(db);
}

static const struct db_kind kind = {.prepare = prepare,
                                    .bind = bind,
                                    .step = step,
                                    .reset = reset,
                                    .end = end,
                                    .number = number,
                                    .text = text,
                                    .bytes = bytes,
                                    .begin = begin,
                                    .flush = flush,
                                    .commit = commit,
                                    .roll_back = roll_back,
                                    .sync = sync_log,
                                    .bound = bound,
                                    .close = close_it};

/* It has hashes of keys, and hooks with their secrets. Earlier versions let others read it, and
 * SQLite makes its other files as this one is. A file of another user stays as it is. */
static bool make_private(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    char name[4096];
    struct stat file;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        if (stat(name, &file) == 0 && (file.st_mode & 077) != 0 &&
            chmod(name, file.st_mode & 0700) != 0 && errno != EPERM) {
            (void)db_fail("%s: others may read it: %s", name, strerror(errno));
            return false;
        }
    }
    return true;
}

struct db *db_sqlite_open(const char *path, uint32_t cache_kb)
{
    char set[160];
    struct sqlite *sqlite = calloc(1, sizeof *sqlite);
    if (sqlite == NULL) {
        (void)db_fail("no memory");
        return NULL;
    }
    if (!make_private(path)) {
        free(sqlite);
        return NULL;
    }
    sqlite->db.kind = &kind;
    snprintf(set, sizeof set,
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
             "PRAGMA cache_size = -%u; PRAGMA temp_store = MEMORY",
             cache_kb);
    if (sqlite3_open_v2(path, &sqlite->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(sqlite->handle, 10000) != SQLITE_OK ||
        execute(&sqlite->db, set) != STORE_OK) {
        (void)fail(&sqlite->db);
        close_it(&sqlite->db);
        return NULL;
    }
    return &sqlite->db;
}

enum store_status db_sqlite_make_tables(struct db *db)
{
    return schema_make_tables(handle_of(db));
}
