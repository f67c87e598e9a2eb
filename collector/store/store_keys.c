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

/* Run a change that was bound, and end it; what: its line in the list of actions. Both or none are
 * done, and they are on the disk then. */
static enum store_status change(struct store *store, sqlite3_stmt *statement, uint64_t now_ns,
                                uint32_t project, const char *what)
{
    const struct store_actor command = {.now_ns = now_ns};
    enum store_status status = STORE_OK;
    (void)sqlite3_exec(store->writer, "SAVEPOINT change", NULL, NULL, NULL);
    int result = sqlite3_step(statement);
    if (result == SQLITE_CONSTRAINT) {
        status = STORE_KNOWN;
    } else if (result != SQLITE_DONE) {
        status = sqlite_fail(store->writer);
    } else if (sqlite3_changes(store->writer) == 0) {
        status = STORE_ABSENT;
    }
    int64_t row = sqlite3_last_insert_rowid(store->writer);
    sqlite3_finalize(statement);
    if (status == STORE_OK) {
        status = sqlite_add_action(store, &command, project, what);
    }
    if (status != STORE_OK) {
        (void)sqlite3_exec(store->writer, "ROLLBACK TO change", NULL, NULL, NULL);
    }
    if (sqlite3_exec(store->writer, "RELEASE change", NULL, NULL, NULL) != SQLITE_OK) {
        (void)sqlite3_exec(store->writer, "ROLLBACK", NULL, NULL, NULL);
        status = status == STORE_OK ? sqlite_fail(store->writer) : status;
    }
    sqlite3_set_last_insert_rowid(store->writer, row);
    return status == STORE_OK ? sqlite_sync(store) : status;
}

enum store_status store_add_project(struct store *store, const char *name, uint64_t now_ns,
                                    uint32_t *ret_number)
{
    enum store_status status = STORE_FAILED;
    pthread_mutex_lock(&store->writing);
    sqlite3_stmt *statement =
        prepare(store->writer, "INSERT INTO project(name, made_ns) VALUES(?, ?)");
    if (statement != NULL) {
        char what[STORE_NAME_MAX + 32];
        sqlite_bind(statement, "tu", name, now_ns);
        snprintf(what, sizeof what, "project %s: added", name);
        status = change(store, statement, now_ns, 0, what);
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

enum store_status store_set_limit(struct store *store, uint32_t project, const struct limit *limit,
                                  uint64_t now_ns)
{
    char what[96];
    enum store_status status = STORE_FAILED;
    pthread_mutex_lock(&store->writing);
    sqlite3_stmt *statement = prepare(
        store->writer, "UPDATE project SET per_minute = ?2, per_day = ?3 WHERE number = ?1");
    if (statement != NULL) {
        sqlite_bind(statement, "uuu", (uint64_t)project, (uint64_t)limit->per_minute,
                    limit->per_day);
        snprintf(what, sizeof what, "limit of reports: %u a minute, %llu a day", limit->per_minute,
                 (unsigned long long)limit->per_day);
        status = change(store, statement, now_ns, project, what);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

uint64_t store_used(struct store *store, uint32_t project, uint64_t day)
{
    uint64_t reports = 0;
    struct sqlite_asking asking =
        sqlite_ask(store, "SELECT reports FROM used WHERE project = ? AND day = ?");
    sqlite_bind(asking.statement, "uu", (uint64_t)project, day);
    if (sqlite_row(&asking)) {
        reports = sqlite_uint(asking.statement, 0);
    }
    (void)sqlite_end(&asking);
    return reports;
}

static void copy_name(char to[STORE_NAME_MAX + 1], sqlite3_stmt *statement, int column)
{
    snprintf(to, STORE_NAME_MAX + 1, "%s", sqlite_text(statement, column));
}

enum store_status store_projects(struct store *store, store_each_project *each, void *ctx)
{
    struct sqlite_asking asking =
        sqlite_ask(store, "SELECT number, made_ns, name, per_minute, per_day FROM project"
                          " ORDER BY name");
    while (sqlite_row(&asking)) {
        struct store_project project = {.number = (uint32_t)sqlite_uint(asking.statement, 0),
                                        .made_ns = sqlite_uint(asking.statement, 1),
                                        .limit = {(uint32_t)sqlite_uint(asking.statement, 3),
                                                  sqlite_uint(asking.statement, 4)}};
        copy_name(project.name, asking.statement, 2);
        each(ctx, &project);
    }
    return sqlite_end(&asking);
}

enum store_status store_add_key(struct store *store, const struct store_key *key,
                                int64_t *ret_number)
{
    char what[STORE_NAME_MAX + 48];
    enum store_status status = STORE_FAILED;
    pthread_mutex_lock(&store->writing);
    sqlite3_stmt *statement =
        prepare(store->writer,
                "INSERT INTO secret(project, role, hash, label, made_ns) VALUES(?, ?, ?, ?, ?)");
    if (statement != NULL) {
        sqlite_bind(statement, "uuhtu", (uint64_t)key->project, (uint64_t)key->role, &key->hash,
                    key->label, key->made_ns);
        snprintf(what, sizeof what, "key added: role %d, label %s", (int)key->role, key->label);
        status = change(store, statement, key->made_ns, key->project, what);
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
        char what[64];
        sqlite_bind(statement, "ui", now_ns, number);
        snprintf(what, sizeof what, "key %lld: revoked", (long long)number);
        status = change(store, statement, now_ns, 0, what);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

static void fill_key(sqlite3_stmt *statement, struct store_key *ret_key)
{
    *ret_key = (struct store_key){
        .number = sqlite3_column_int64(statement, 0),
        .project = (uint32_t)sqlite_uint(statement, 1),
        .role = (enum store_role)sqlite_uint(statement, 2),
        .made_ns = sqlite_uint(statement, 3),
        .revoked_ns = sqlite_uint(statement, 4),
        .limit = {(uint32_t)sqlite_uint(statement, 6), sqlite_uint(statement, 7)}};
    copy_name(ret_key->label, statement, 5);
}

#define KEY_COLUMNS                                                                                \
    "SELECT secret.number, project, role, secret.made_ns, revoked_ns, label, per_minute, per_day " \
    "FROM secret LEFT JOIN project ON project.number = secret.project "

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
    struct sqlite_asking asking = sqlite_ask(store, KEY_COLUMNS "ORDER BY secret.number");
    while (sqlite_row(&asking)) {
        struct store_key key;
        fill_key(asking.statement, &key);
        each(ctx, &key);
    }
    return sqlite_end(&asking);
}
