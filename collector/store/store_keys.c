// SPDX-License-Identifier: Apache-2.0
#include "store_parts.h"

#include <string.h>

bool store_is_name(const char *text)
{
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return size >= 1 && size <= STORE_NAME_MAX && text[size] == '\0' && text[0] != '.';
}

/* --- changes --- */

struct changing {
    struct store *store;
    struct db_statement *statement;
};

/* Begin a change: one statement whose answer is the number of the row that it made or changed. */
static struct changing begin(struct store *store, const char *text)
{
    pthread_mutex_lock(&store->writing);
    struct db *db = store->writer;
    struct db_statement *statement =
        db->kind->begin(db) == STORE_OK ? db->kind->prepare(db, text, false) : NULL;
    return (struct changing){store, statement};
}

/* Run the statement, which was bound. */
static enum store_status run(struct changing *c, int64_t *ret_number)
{
    enum store_status status = db_run_for(c->statement, ret_number);
    db_end(c->statement);
    c->statement = NULL;
    return status;
}

/* End the change; what: its line in the list of actions. */
static enum store_status finish(struct changing *c, enum store_status status, uint64_t now_ns,
                                uint32_t project, const char *what)
{
    const struct store_actor command = {.now_ns = now_ns};
    return store_end_change(c->store, status, &command, project, what);
}

static enum store_status end(struct changing *c, uint64_t now_ns, uint32_t project,
                             const char *what, int64_t *ret_number)
{
    enum store_status status = run(c, ret_number);
    return finish(c, status, now_ns, project, what);
}

enum store_status store_add_project(struct store *store, const char *name, uint64_t now_ns,
                                    uint32_t *ret_number)
{
    int64_t number = 0;
    char what[STORE_NAME_MAX + 32];
    struct changing c =
        begin(store, "INSERT INTO project(name, made_ns) VALUES(?1, ?2) RETURNING number");
    db_bind(c.statement, "tu", name, now_ns);
    snprintf(what, sizeof what, "project %s: added", name);
    enum store_status status = end(&c, now_ns, 0, what, &number);
    *ret_number = (uint32_t)number;
    return status;
}

enum store_status store_find_project(struct store *store, const char *name, uint32_t *ret_number)
{
    struct store_asking asking = store_ask(store, "SELECT number FROM project WHERE name = ?1");
    db_bind(asking.statement, "t", name);
    bool is_there = store_next(&asking);
    if (is_there) {
        *ret_number = (uint32_t)db_uint(asking.statement, 0);
    }
    return store_end_of_one(&asking, is_there);
}

enum store_status store_set_limit(struct store *store, uint32_t project, const struct limit *limit,
                                  uint64_t now_ns)
{
    int64_t number;
    char what[96];
    struct changing c = begin(store, "UPDATE project SET per_minute = ?2, per_day = ?3"
                                     " WHERE number = ?1 RETURNING number");
    db_bind(c.statement, "uuu", (uint64_t)project, (uint64_t)limit->per_minute, limit->per_day);
    snprintf(what, sizeof what, "limit of reports: %u a minute, %llu a day", limit->per_minute,
             (unsigned long long)limit->per_day);
    return end(&c, now_ns, project, what, &number);
}

uint64_t store_used(struct store *store, uint32_t project, uint64_t day)
{
    uint64_t reports = 0;
    struct store_asking asking =
        store_ask(store, "SELECT reports FROM used WHERE project = ?1 AND day = ?2");
    db_bind(asking.statement, "uu", (uint64_t)project, day);
    if (store_next(&asking)) {
        reports = db_uint(asking.statement, 0);
    }
    (void)store_end(&asking);
    return reports;
}

static void copy_name(char to[STORE_NAME_MAX + 1], struct db_statement *statement, int column)
{
    snprintf(to, STORE_NAME_MAX + 1, "%s", db_text(statement, column));
}

enum store_status store_projects(struct store *store, store_each_project *each, void *ctx)
{
    struct store_asking asking =
        store_ask(store, "SELECT number, made_ns, name, per_minute, per_day FROM project"
                         " ORDER BY name");
    while (store_next(&asking)) {
        struct store_project project = {
            .number = (uint32_t)db_uint(asking.statement, 0),
            .made_ns = db_uint(asking.statement, 1),
            .limit = {(uint32_t)db_uint(asking.statement, 3), db_uint(asking.statement, 4)}};
        copy_name(project.name, asking.statement, 2);
        each(ctx, &project);
    }
    return store_end(&asking);
}

const char *const store_roles[] = {"", "ingest", "read", "write", "admin", NULL};

enum store_status store_add_key(struct store *store, const struct store_key *key,
                                int64_t *ret_number)
{
    char what[STORE_NAME_MAX + 64];
    struct changing c = begin(store, "INSERT INTO secret(project, role, hash, label, made_ns)"
                                     " VALUES(?1, ?2, ?3, ?4, ?5) RETURNING number");
    db_bind(c.statement, "uuhtu", (uint64_t)key->project, (uint64_t)key->role, &key->hash,
            key->label, key->made_ns);
    enum store_status status = run(&c, ret_number);
    snprintf(what, sizeof what, "key %lld: added, %s%s%s", (long long)*ret_number,
             store_roles[key->role], key->label[0] != '\0' ? ", " : "", key->label);
    return finish(&c, status, key->made_ns, key->project, what);
}

enum store_status store_rotate_key(struct store *store, int64_t number, const struct hash *hash,
                                   uint64_t now_ns, int64_t *ret_number)
{
    int64_t project = 0;
    char what[96];
    struct changing c = begin(store, "INSERT INTO secret(project, role, hash, label, made_ns)"
                                     " SELECT project, role, ?2, label, ?3 FROM secret"
                                     " WHERE number = ?1 AND revoked_ns = 0 RETURNING number");
    struct db *db = store->writer;
    db_bind(c.statement, "ihu", number, hash, now_ns);
    enum store_status status = run(&c, ret_number);
    if (status == STORE_OK) {
        c.statement = db->kind->prepare(
            db, "UPDATE secret SET revoked_ns = ?1 WHERE number = ?2 RETURNING project", false);
        db_bind(c.statement, "ui", now_ns, number);
        status = run(&c, &project);
    }
    snprintf(what, sizeof what, "key %lld: revoked, key %lld is in its place", (long long)number,
             (long long)*ret_number);
    return finish(&c, status, now_ns, (uint32_t)project, what);
}

enum store_status store_revoke_key(struct store *store, int64_t number, uint64_t now_ns)
{
    int64_t project = 0;
    char what[64];
    struct changing c = begin(store, "UPDATE secret SET revoked_ns = ?1 WHERE number = ?2"
                                     " AND revoked_ns = 0 RETURNING project");
    db_bind(c.statement, "ui", now_ns, number);
    enum store_status status = run(&c, &project);
    snprintf(what, sizeof what, "key %lld: revoked", (long long)number);
    return finish(&c, status, now_ns, (uint32_t)project, what);
}

static void fill_key(struct db_statement *statement, struct store_key *ret_key)
{
    *ret_key =
        (struct store_key){.number = db_number(statement, 0),
                           .project = (uint32_t)db_uint(statement, 1),
                           .role = (enum store_role)db_uint(statement, 2),
                           .made_ns = db_uint(statement, 3),
                           .revoked_ns = db_uint(statement, 4),
                           .limit = {(uint32_t)db_uint(statement, 6), db_uint(statement, 7)}};
    copy_name(ret_key->label, statement, 5);
}

#define KEY_COLUMNS                                                                                \
    "SELECT secret.number, project, role, secret.made_ns, revoked_ns, label, per_minute, "         \
    "per_day, "                                                                                    \
    "project.name FROM secret LEFT JOIN project ON project.number = secret.project "

enum store_status store_find_key(struct store *store, const struct hash *hash,
                                 struct store_key *ret_key)
{
    struct store_asking asking = store_ask(store, KEY_COLUMNS "WHERE hash = ?1 AND revoked_ns = 0");
    db_bind(asking.statement, "h", hash);
    bool is_there = store_next(&asking);
    if (is_there) {
        fill_key(asking.statement, ret_key);
        ret_key->hash = *hash;
    }
    return store_end_of_one(&asking, is_there);
}

enum store_status store_keys(struct store *store, store_each_key *each, void *ctx)
{
    struct store_asking asking = store_ask(store, KEY_COLUMNS "ORDER BY secret.number");
    while (store_next(&asking)) {
        struct store_key key;
        fill_key(asking.statement, &key);
        each(ctx, &key, db_text(asking.statement, 8));
    }
    return store_end(&asking);
}
