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

enum store_status sqlite_fail_with(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(last_error, sizeof last_error, format, list);
    va_end(list);
    return STORE_FAILED;
}

enum store_status sqlite_unfit(const char *text)
{
    (void)sqlite_fail_with("%s", text);
    return STORE_UNFIT;
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

/* A checkpoint alone would not do: with a question that began before the last commit it may have
 * nothing to do, and syncs nothing. */
enum store_status sqlite_sync(struct store *store)
{
    sqlite3_file *wal = NULL;
    (void)sqlite3_file_control(store->writer, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (wal != NULL && wal->pMethods != NULL) {
        int result = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
        if (result != SQLITE_OK) {
            return sqlite_fail_with("its log cannot be synced: %s", sqlite3_errstr(result));
        }
    }
    int result =
        sqlite3_wal_checkpoint_v2(store->writer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    bool is_done = result == SQLITE_OK || (wal != NULL && result == SQLITE_BUSY); /* by another */
    return is_done ? STORE_OK : sqlite_fail(store->writer);
}

enum store_status sqlite_add_action(struct store *store, const struct store_actor *actor,
                                    uint32_t project, const char *what)
{
    sqlite3_stmt *statement = store->statements[SQLITE_ADD_ACTION];
    sqlite_bind(statement, "uiut", actor->now_ns, actor->secret, (uint64_t)project, what);
    return sqlite_run(store->writer, statement);
}
