// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "db_postgres.h"
#include "db_sqlite.h"
#include "identity.h"
#include "store_parts.h"

#define STEPS_MAX 500000000u
enum { WRITER_CACHE_KB = 8192, LANE_CACHE_KB = 2048 };

static struct db *connect_to(const struct store *store, uint32_t cache_kb)
{
    return store->is_shared ? db_postgres_open(store->where)
                            : db_sqlite_open(store->where, cache_kb);
}

/* Statements of a shared database only are null in the other. */
static enum store_status prepare(struct store *store)
{
    struct db *db = store->writer;
    for (size_t i = 0; i < STORE_STATEMENTS; i++) {
        bool is_other = store->is_shared && store_texts_postgres[i] != NULL;
        const char *text = is_other ? store_texts_postgres[i] : store_texts[i];
        store->statements[i] = text != NULL ? db->kind->prepare(db, text, true) : NULL;
        if (text != NULL && store->statements[i] == NULL) {
            return STORE_FAILED;
        }
    }
    store->knows = store->lanes[0].db->kind->prepare(
        store->lanes[0].db, "SELECT 1 FROM report WHERE project = ?1 AND id = ?2", true);
    return store->knows != NULL ? STORE_OK : STORE_FAILED;
}

static enum store_status find_number(struct store *store, const char *folder)
{
    int64_t database = 0;
    store->collector = 1;
    if (!store->is_shared || folder == NULL) {
        return STORE_OK;
    }
    struct store_asking asking = store_ask(store, "SELECT id FROM about");
    if (store_next(&asking)) {
        database = db_number(asking.statement, 0);
    }
    enum store_status status = store_end(&asking);
    if (status == STORE_OK) {
        status = identity_of_shared(folder, database, &store->collector);
    }
    return status == STORE_OK ? store->writer->kind->claim(store->writer, store->collector)
                              : status;
}

/* libpq takes the URI of another database for a database's name, and asks the local server for it.
 * The text may have a password: only its scheme is shown. */
static enum store_status check_uri(const char *where)
{
    static const char schemes[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-";
    size_t size = strspn(where, schemes);
    bool is_ours =
        strncmp(where, "postgresql:", size + 1) == 0 || strncmp(where, "postgres:", size + 1) == 0;
    if (strncmp(where + size, "://", 3) != 0 || is_ours) {
        return STORE_OK;
    }
    return db_fail("%.*s:// is no database of this program: expected is"
                   " postgresql://USER@HOST/NAME or 'host=HOST user=USER dbname=NAME'",
                   (int)(size < 20 ? size : 20), where);
}

static enum store_status open_all(struct store *store, const char *folder)
{
    enum store_status status = store->is_shared ? check_uri(store->where) : identity_of_own(folder);
    store->writer = status == STORE_OK ? connect_to(store, WRITER_CACHE_KB) : NULL;
    if (store->writer == NULL) {
        return STORE_FAILED;
    }
    status = store->is_shared ? db_postgres_make_tables(store->writer)
                              : db_sqlite_make_tables(store->writer);
    for (unsigned i = 0; i < STORE_LANES && status == STORE_OK; i++) {
        store->lanes[i].db = connect_to(store, LANE_CACHE_KB);
        status = store->lanes[i].db != NULL ? STORE_OK : STORE_FAILED;
    }
    if (status != STORE_OK) {
        return status;
    }
    store_limit_steps(store, STEPS_MAX);
    status = find_number(store, folder);
    return status == STORE_OK ? prepare(store) : status;
}

static struct store *make(const char *folder, const char *database)
{
    size_t size = strlen(database != NULL ? database : folder) + sizeof "/collector.db";
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    pthread_mutex_init(&store->writing, NULL);
    for (unsigned i = 0; i < STORE_LANES; i++) {
        pthread_mutex_init(&store->lanes[i].mutex, NULL);
    }
    store->is_shared = database != NULL;
    store->seen = seen_begin();
    store->gather = gather_begin();
    store->tell = tell_begin();
    store->sieve = sieve_begin();
    store->where = malloc(size);
    if (store->seen == NULL || store->gather == NULL || store->tell == NULL ||
        store->sieve == NULL || store->where == NULL) {
        store_close(store);
        return NULL;
    }
    snprintf(store->where, size, "%s%s", database != NULL ? database : folder,
             database != NULL ? "" : "/collector.db");
    return store;
}

enum store_status store_open(const char *folder, const char *database, struct store **ret_store,
                             struct sonde_error *ret_error)
{
    struct store *store = make(folder, database);
    enum store_status status = store != NULL ? open_all(store, folder) : db_fail("no memory");
    if (status != STORE_OK) {
        snprintf(ret_error->what, sizeof ret_error->what, "%s", store_error());
        store_close(store);
        return status;
    }
    *ret_store = store;
    return STORE_OK;
}

/* Add some reports, from *number on. *ret_count: how many there were. */
static enum store_status learn_some(struct store *store, struct db *db, int64_t *number,
                                    unsigned *ret_count)
{
    struct db_statement *statement =
        db->kind->prepare(db,
                          "SELECT project, id, number FROM report WHERE number > ?1"
                          " ORDER BY number LIMIT 10000",
                          false);
    enum db_result result;
    db_bind(statement, "i", *number);
    for (*ret_count = 0; (result = db_step(statement)) == DB_ROW; ++*ret_count) {
        struct report_id id = {{0}};
        (void)db_copy_id(statement, 1, id.bytes, sizeof id.bytes);
        seen_add(store->seen, (uint32_t)db_uint(statement, 0), &id);
        *number = db_number(statement, 2);
    }
    db_end(statement);
    return result == DB_DONE ? STORE_OK : STORE_FAILED;
}

/* With a connection of its own: questions need not wait for it. */
enum store_status store_learn(struct store *store)
{
    int64_t number = 0;
    unsigned count = 1;
    struct db *db = connect_to(store, LANE_CACHE_KB);
    enum store_status status = db != NULL ? STORE_OK : STORE_FAILED;
    while (status == STORE_OK && count > 0) {
        status = learn_some(store, db, &number, &count);
    }
    if (status == STORE_OK) {
        seen_is_whole(store->seen);
    }
    if (db != NULL) {
        db->kind->close(db);
    }
    return status;
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < STORE_STATEMENTS; i++) {
        db_end(store->statements[i]);
    }
    db_end(store->knows);
    for (unsigned i = 0; i < STORE_LANES; i++) {
        if (store->lanes[i].db != NULL) {
            store->lanes[i].db->kind->close(store->lanes[i].db);
        }
        pthread_mutex_destroy(&store->lanes[i].mutex);
    }
    if (store->writer != NULL) {
        store->writer->kind->close(store->writer);
    }
    seen_end(store->seen);
    gather_end(store->gather);
    tell_end(store->tell);
    sieve_end(store->sieve);
    pthread_mutex_destroy(&store->writing);
    free(store->where);
    free(store);
}
