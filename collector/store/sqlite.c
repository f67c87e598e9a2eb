// SPDX-License-Identifier: Apache-2.0
#include "sqlite.h"

#include <stdarg.h>
#include <string.h>

static _Thread_local char last_error[256];

const char *store_error(void)
{
    return last_error;
}

enum store_status sqlite_fail(sqlite3 *db)
{
    snprintf(last_error, sizeof last_error, "%s", db != NULL ? sqlite3_errmsg(db) : "no memory");
    return STORE_FAILED;
}

/* Version 1. Times are nanoseconds since 1970. A later version adds to it and says so in
 * user_version; a newer database is refused. */
#define TABLES_VERSION 1
static const char tables[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS project(number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL,"
    " made_ns INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS secret(number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " project INTEGER NOT NULL, role INTEGER NOT NULL, hash BLOB UNIQUE NOT NULL,"
    " label TEXT NOT NULL, made_ns INTEGER NOT NULL, revoked_ns INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE IF NOT EXISTS report(number INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " id BLOB NOT NULL, kind INTEGER NOT NULL, received_ns INTEGER NOT NULL, program TEXT,"
    " build TEXT, device TEXT, os TEXT, note TEXT, blob BLOB NOT NULL,"
    " size_bytes INTEGER NOT NULL, UNIQUE(project, id));"
    "CREATE INDEX IF NOT EXISTS report_unread ON report(project, number) WHERE kind = 0;"
    "CREATE TABLE IF NOT EXISTS cause(number INTEGER PRIMARY KEY, project INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL,"
    " why TEXT, severity INTEGER NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
    " longest_ns INTEGER NOT NULL, devices INTEGER NOT NULL, fatal INTEGER NOT NULL,"
    " first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, first_build TEXT, last_build TEXT,"
    " longest BLOB NOT NULL, UNIQUE(project, kind, id));"
    "CREATE TABLE IF NOT EXISTS device(cause INTEGER NOT NULL, id TEXT NOT NULL,"
    " PRIMARY KEY(cause, id)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS sum(cause INTEGER NOT NULL, hour INTEGER NOT NULL,"
    " build TEXT NOT NULL, count INTEGER NOT NULL, total_ns INTEGER NOT NULL,"
    " longest_ns INTEGER NOT NULL, PRIMARY KEY(cause, hour, build)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS event(cause INTEGER NOT NULL, report INTEGER NOT NULL,"
    " count INTEGER NOT NULL, total_ns INTEGER NOT NULL, PRIMARY KEY(cause, report)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS place(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " segment INTEGER NOT NULL, offset INTEGER NOT NULL);"
    "PRAGMA user_version = 1;"
    "COMMIT;";

static int version_of(sqlite3 *db)
{
    sqlite3_stmt *statement;
    int version = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        version = sqlite3_column_int(statement, 0);
    }
    sqlite3_finalize(statement);
    return version;
}

enum store_status sqlite_make_tables(sqlite3 *db)
{
    int version = version_of(db);
    if (version < 0) {
        return sqlite_fail(db);
    }
    if (version > TABLES_VERSION) {
        snprintf(last_error, sizeof last_error,
                 "the database has version %d, and this program knows %d: use the newer program",
                 version, TABLES_VERSION);
        return STORE_FAILED;
    }
    if (sqlite3_exec(db, tables, NULL, NULL, NULL) != SQLITE_OK) {
        (void)sqlite_fail(db);
        (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return STORE_FAILED;
    }
    return STORE_OK;
}

void sqlite_bind(sqlite3_stmt *statement, const char *types, ...)
{
    va_list list;
    va_start(list, types);
    for (int i = 1; types[i - 1] != '\0'; i++) {
        switch (types[i - 1]) {
        case 'i':
            sqlite3_bind_int64(statement, i, va_arg(list, int64_t));
            break;
        case 'u':
            sqlite3_bind_int64(statement, i, (int64_t)(va_arg(list, uint64_t) & INT64_MAX));
            break;
        case 't':
            sqlite3_bind_text(statement, i, va_arg(list, const char *), -1, SQLITE_STATIC);
            break;
        case 'h':
            sqlite3_bind_blob(statement, i, va_arg(list, const struct hash *)->bytes, IDS_HASH,
                              SQLITE_STATIC);
            break;
        default:
            sqlite3_bind_blob(statement, i, va_arg(list, const struct report_id *)->bytes,
                              IDS_REPORT, SQLITE_STATIC);
        }
    }
    va_end(list);
}

enum store_status sqlite_run(sqlite3 *db, sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);
    if (result != SQLITE_DONE && result != SQLITE_ROW) {
        enum store_status status = sqlite_fail(db);
        sqlite3_reset(statement);
        return status;
    }
    sqlite3_reset(statement);
    return STORE_OK;
}

const char *sqlite_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

uint64_t sqlite_uint(sqlite3_stmt *statement, int column)
{
    return (uint64_t)sqlite3_column_int64(statement, column);
}

void sqlite_copy_id(sqlite3_stmt *statement, int column, void *ret_bytes, size_t size)
{
    const void *bytes = sqlite3_column_blob(statement, column);
    if (bytes != NULL && (size_t)sqlite3_column_bytes(statement, column) == size) {
        memcpy(ret_bytes, bytes, size);
    }
}
