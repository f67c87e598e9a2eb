// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "db_sqlite.h"
#include "store_parts.h"

#define STEPS_MAX 500000000u
enum { WRITER_CACHE_KB = 8192, LANE_CACHE_KB = 2048 };

static enum store_status prepare(struct store *store)
{
    for (size_t i = 0; i < STORE_STATEMENTS; i++) {
        store->statements[i] = store->writer->kind->prepare(store->writer, store_texts[i], true);
        if (store->statements[i] == NULL) {
            return STORE_FAILED;
        }
    }
    store->knows = store->lanes[0].db->kind->prepare(
        store->lanes[0].db, "SELECT 1 FROM report WHERE project = ?1 AND id = ?2", true);
    return store->knows != NULL ? STORE_OK : STORE_FAILED;
}

static enum store_status open_all(struct store *store)
{
    store->writer = db_sqlite_open(store->path, WRITER_CACHE_KB);
    if (store->writer == NULL || db_sqlite_make_tables(store->writer) != STORE_OK) {
        return STORE_FAILED;
    }
    for (unsigned i = 0; i < STORE_LANES; i++) {
        store->lanes[i].db = db_sqlite_open(store->path, LANE_CACHE_KB);
        if (store->lanes[i].db == NULL) {
            return STORE_FAILED;
        }
    }
    store_limit_steps(store, STEPS_MAX);
    return prepare(store);
}

static struct store *make(const char *folder)
{
    size_t size = strlen(folder) + sizeof "/collector.db";
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return NULL;
    }
    pthread_mutex_init(&store->writing, NULL);
    for (unsigned i = 0; i < STORE_LANES; i++) {
        pthread_mutex_init(&store->lanes[i].mutex, NULL);
    }
    store->seen = seen_begin();
    store->path = malloc(size);
    if (store->seen == NULL || store->path == NULL) {
        store_close(store);
        return NULL;
    }
    snprintf(store->path, size, "%s/collector.db", folder);
    return store;
}

enum store_status store_open(const char *folder, struct store **ret_store,
                             struct sonde_error *ret_error)
{
    struct store *store = make(folder);
    enum store_status status = store != NULL ? open_all(store) : db_fail("no memory");
    if (status != STORE_OK) {
        snprintf(ret_error->what, sizeof ret_error->what, "%s", store_error());
        store_close(store);
        return status;
    }
    *ret_store = store;
    return STORE_OK;
}

/* With a connection of its own: questions need not wait for it. */
enum store_status store_learn(struct store *store)
{
    struct db *db = db_sqlite_open(store->path, LANE_CACHE_KB);
    struct db_statement *statement =
        db != NULL ? db->kind->prepare(db, "SELECT project, id FROM report", false) : NULL;
    enum db_result result;
    while ((result = db_step(statement)) == DB_ROW) {
        struct report_id id = {{0}};
        (void)db_copy_id(statement, 1, id.bytes, sizeof id.bytes);
        seen_add(store->seen, (uint32_t)db_uint(statement, 0), &id);
    }
    if (result == DB_DONE) {
        seen_is_whole(store->seen);
    }
    db_end(statement);
    if (db != NULL) {
        db->kind->close(db);
    }
    return result == DB_DONE ? STORE_OK : STORE_FAILED;
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
    pthread_mutex_destroy(&store->writing);
    free(store->path);
    free(store);
}
