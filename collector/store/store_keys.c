// SPDX-License-Identifier: Apache-2.0
#include "sqlite.h"

#include <string.h>

bool store_is_name(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return size >= 1 && size <= STORE_NAME_MAX && text[size] == '\0' && text[0] != '.';
}

/* Prepare a statement of a rare question or change. Null: failed. */
static sqlite3_stmt *prepare(sqlite3 *db, const char *text)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) {
        (void)sqlite_fail(db);
    }
    return statement;
}

/* Run a change that was bound, and end it. */
static enum store_status change(struct store *store, sqlite3_stmt *statement)
{
    enum store_status status = STORE_OK;
    int result = sqlite3_step(statement);
    if (result == SQLITE_CONSTRAINT) {
        status = STORE_KNOWN;
    } else if (result != SQLITE_DONE) {
        status = sqlite_fail(store->writer);
    } else if (sqlite3_changes(store->writer) == 0) {
        status = STORE_ABSENT;
    }
    sqlite3_finalize(statement);
    return status;
}

enum store_status store_add_project(struct store *store, const char *name, uint64_t now_ns,
                                    uint32_t *ret_number)
{
    enum store_status status = STORE_FAILED;
    pthread_mutex_lock(&store->writing);
    sqlite3_stmt *statement =
        prepare(store->writer, "INSERT INTO project(name, made_ns) VALUES(?, ?)");
    if (statement != NULL) {
        sqlite_bind(statement, "tu", name, now_ns);
        status = change(store, statement);
        *ret_number = (uint32_t)sqlite3_last_insert_rowid(store->writer);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

enum store_status store_find_project(struct store *store, const char *name, uint32_t *ret_number)
{
    struct sqlite_asking asking = sqlite_ask(store, "SELECT number FROM project WHERE name = ?");
    sqlite_bind(asking.statement, "t", name);
    bool is_there = sqlite_row(&asking);
    if (is_there) {
        *ret_number = (uint32_t)sqlite_uint(asking.statement, 0);
    }
    return sqlite_end_of_one(&asking, is_there);
}

static void copy_name(char to[STORE_NAME_MAX + 1], sqlite3_stmt *statement, int column)
{
    snprintf(to, STORE_NAME_MAX + 1, "%s", sqlite_text(statement, column));
}

enum store_status store_projects(struct store *store, store_each_project *each, void *ctx)
{
    struct sqlite_asking asking =
        sqlite_ask(store, "SELECT number, made_ns, name FROM project ORDER BY name");
    while (sqlite_row(&asking)) {
        struct store_project project = {.number = (uint32_t)sqlite_uint(asking.statement, 0),
                                        .made_ns = sqlite_uint(asking.statement, 1)};
        copy_name(project.name, asking.statement, 2);
        each(ctx, &project);
    }
    return sqlite_end(&asking);
}

enum store_status store_add_key(struct store *store, const struct store_key *key,
                                int64_t *ret_number)
{
    enum store_status status = STORE_FAILED;
    pthread_mutex_lock(&store->writing);
    sqlite3_stmt *statement =
        prepare(store->writer,
                "INSERT INTO secret(project, role, hash, label, made_ns) VALUES(?, ?, ?, ?, ?)");
    if (statement != NULL) {
        sqlite_bind(statement, "uuhtu", (uint64_t)key->project, (uint64_t)key->role, &key->hash,
                    key->label, key->made_ns);
        status = change(store, statement);
        *ret_number = sqlite3_last_insert_rowid(store->writer);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

enum store_status store_revoke_key(struct store *store, int64_t number, uint64_t now_ns)
{
    enum store_status status = STORE_FAILED;
    pthread_mutex_lock(&store->writing);
    sqlite3_stmt *statement = prepare(
        store->writer, "UPDATE secret SET revoked_ns = ? WHERE number = ? AND revoked_ns = 0");
    if (statement != NULL) {
        sqlite_bind(statement, "ui", now_ns, number);
        status = change(store, statement);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

static void fill_key(sqlite3_stmt *statement, struct store_key *ret_key)
{
    *ret_key = (struct store_key){.number = sqlite3_column_int64(statement, 0),
                                  .project = (uint32_t)sqlite_uint(statement, 1),
                                  .role = (enum store_role)sqlite_uint(statement, 2),
                                  .made_ns = sqlite_uint(statement, 3),
                                  .revoked_ns = sqlite_uint(statement, 4)};
    copy_name(ret_key->label, statement, 5);
}

#define KEY_COLUMNS "SELECT number, project, role, made_ns, revoked_ns, label FROM secret "

enum store_status store_find_key(struct store *store, const struct hash *hash,
                                 struct store_key *ret_key)
{
    struct sqlite_asking asking =
        sqlite_ask(store, KEY_COLUMNS "WHERE hash = ? AND revoked_ns = 0");
    sqlite_bind(asking.statement, "h", hash);
    bool is_there = sqlite_row(&asking);
    if (is_there) {
        fill_key(asking.statement, ret_key);
        ret_key->hash = *hash;
    }
    return sqlite_end_of_one(&asking, is_there);
}

enum store_status store_keys(struct store *store, store_each_key *each, void *ctx)
{
    struct sqlite_asking asking = sqlite_ask(store, KEY_COLUMNS "ORDER BY number");
    while (sqlite_row(&asking)) {
        struct store_key key;
        fill_key(asking.statement, &key);
        each(ctx, &key);
    }
    return sqlite_end(&asking);
}
