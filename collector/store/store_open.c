// SPDX-License-Identifier: Apache-2.0
#include "sqlite.h"

#include <stdlib.h>
#include <string.h>

static const char *const texts[SQLITE_STATEMENTS] = {
    [SQLITE_ADD_REPORT] =
        "INSERT OR IGNORE INTO report(project, id, kind, received_ns, program, build, device, os,"
        " note, blob, size_bytes) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SQLITE_FIND_GROUP] = "SELECT number, longest_ns, joined, state FROM cause"
                          " WHERE project = ? AND kind = ? AND id = ?",
    [SQLITE_ADD_GROUP] =
        "INSERT INTO cause(project, kind, id, title, summary, why, severity, count, total_ns,"
        " longest_ns, devices, fatal, first_ns, last_ns, first_build, last_build, longest)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, ?, ?, ?, ?, ?)",
    [SQLITE_ADD_TO_GROUP] =
        "UPDATE cause SET count = count + ?2, total_ns = total_ns + ?3, fatal = fatal + ?4,"
        " severity = max(severity, ?5),"
        " first_build = iif(?6 < first_ns, ?7, first_build), first_ns = min(first_ns, ?6),"
        " last_build = iif(?6 >= last_ns, ?7, last_build), last_ns = max(last_ns, ?6)"
        " WHERE number = ?1",
    [SQLITE_SHOW_LONGER] = "UPDATE cause SET longest_ns = ?2, summary = ?3, longest = ?4,"
                           " title = iif(?5 != '', ?5, title)"
                           " WHERE number = ?1 AND longest_ns <= ?2",
    [SQLITE_ADD_DEVICE] = "INSERT OR IGNORE INTO device(cause, id) VALUES(?, ?)",
    [SQLITE_COUNT_DEVICE] = "UPDATE cause SET devices = devices + 1 WHERE number = ?",
    /* unless another cause of the group has it */
    [SQLITE_COUNT_JOINT_DEVICE] =
        "UPDATE cause SET devices = devices + 1 WHERE number = ?1 AND NOT EXISTS("
        "SELECT 1 FROM cause AS other JOIN device ON device.cause = other.number"
        " WHERE other.joined = ?1 AND other.joined <> 0 AND other.number <> ?2"
        " AND device.id = ?3)",
    [SQLITE_ADD_TAG] =
        "INSERT INTO tag(cause, name, value, count) SELECT ?1, ?2, iif("
        "EXISTS(SELECT 1 FROM tag WHERE cause = ?1 AND name = ?2 AND value = ?3) OR"
        " (SELECT count(*) FROM tag WHERE cause = ?1 AND name = ?2) < ?5, ?3, '(others)'), ?4"
        " WHERE 1 ON CONFLICT DO UPDATE SET count = count + excluded.count",
    [SQLITE_ADD_USED] =
        "INSERT INTO used(project, day, reports, bytes) VALUES(?, ?, 1, ?) ON CONFLICT DO UPDATE"
        " SET reports = reports + 1, bytes = bytes + excluded.bytes",
    [SQLITE_ADD_BUILD] =
        "INSERT INTO build(project, name, first_ns) VALUES(?, ?, ?) ON CONFLICT DO UPDATE"
        " SET first_ns = excluded.first_ns WHERE excluded.first_ns < first_ns",
    [SQLITE_FIND_MARK] =
        "SELECT state, state_ns, state_build, until_ns, until_count, count,"
        " ifnull((SELECT first_ns FROM build WHERE project = ?2 AND name = ?3), 0),"
        " ifnull((SELECT first_ns FROM build WHERE project = ?2 AND name = state_build), 0)"
        " FROM cause WHERE number = ?1",
    [SQLITE_SET_STATE] = "UPDATE cause SET state = ?2, state_ns = ?3 WHERE number = ?1",
    [SQLITE_ADD_ACTION] = "INSERT INTO action(time_ns, secret, project, what) VALUES(?, ?, ?, ?)",
    [SQLITE_ADD_SUM] =
        "INSERT INTO sum(cause, hour, build, count, total_ns, longest_ns) VALUES(?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET count = count + excluded.count,"
        " total_ns = total_ns + excluded.total_ns,"
        " longest_ns = max(longest_ns, excluded.longest_ns)",
    [SQLITE_ADD_EVENT] =
        "INSERT INTO event(cause, report, count, total_ns, named) VALUES(?, ?, ?, ?, ?)"
        " ON CONFLICT DO"
        " UPDATE SET count = count + excluded.count, total_ns = total_ns + excluded.total_ns",
    [SQLITE_SET_PLACE] = "INSERT OR REPLACE INTO place(one, segment, offset) VALUES(1, ?, ?)",
};

/* The writer's commits are atomic, and on the disk at the next store_sync(): what is not yet there
 * is in the journal. */
static bool open_connection(const char *path, int flags, sqlite3 **ret_db)
{
    return sqlite3_open_v2(path, ret_db, flags | SQLITE_OPEN_FULLMUTEX, NULL) == SQLITE_OK &&
           sqlite3_busy_timeout(*ret_db, 10000) == SQLITE_OK &&
           sqlite3_exec(*ret_db,
                        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                        "PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY",
                        NULL, NULL, NULL) == SQLITE_OK;
}

static enum store_status prepare(struct store *store)
{
    for (size_t i = 0; i < SQLITE_STATEMENTS; i++) {
        if (sqlite3_prepare_v3(store->writer, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK) {
            return sqlite_fail(store->writer);
        }
    }
    return sqlite3_prepare_v3(store->lanes[0].db,
                              "SELECT 1 FROM report WHERE project = ? AND id = ?", -1,
                              SQLITE_PREPARE_PERSISTENT, &store->knows, NULL) == SQLITE_OK
               ? STORE_OK
               : sqlite_fail(store->lanes[0].db);
}

static enum store_status open_all(struct store *store, const char *path)
{
    if (!open_connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store->writer)) {
        return sqlite_fail(store->writer);
    }
    (void)sqlite3_exec(store->writer, "PRAGMA cache_size = -8192", NULL, NULL, NULL);
    enum store_status status = sqlite_make_tables(store->writer);
    if (status != STORE_OK) {
        return status;
    }
    for (unsigned i = 0; i < STORE_LANES; i++) {
        if (!open_connection(path, SQLITE_OPEN_READWRITE, &store->lanes[i].db)) {
            return sqlite_fail(store->lanes[i].db);
        }
        if (i != 0) {
            sqlite_bound_lane(&store->lanes[i]);
        }
    }
    return prepare(store);
}

enum store_status store_open(const char *folder, struct store **ret_store,
                             struct sonde_error *ret_error)
{
    char path[4096];
    struct store *store = calloc(1, sizeof *store);
    snprintf(path, sizeof path, "%s/collector.db", folder);
    if (store != NULL) {
        store->seen = seen_begin();
        pthread_mutex_init(&store->writing, NULL);
        for (unsigned i = 0; i < STORE_LANES; i++) {
            pthread_mutex_init(&store->lanes[i].mutex, NULL);
        }
    }
    bool has_memory = store != NULL && store->seen != NULL;
    enum store_status status = has_memory ? open_all(store, path) : sqlite_fail(NULL);
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
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    enum store_status status = STORE_FAILED;
    const char *path = sqlite3_db_filename(store->writer, "main");
    if (open_connection(path, SQLITE_OPEN_READWRITE, &db) &&
        sqlite3_prepare_v2(db, "SELECT project, id FROM report", -1, &statement, NULL) ==
            SQLITE_OK) {
        int result;
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
            struct report_id id = {{0}};
            sqlite_copy_id(statement, 1, id.bytes, sizeof id.bytes);
            seen_add(store->seen, (uint32_t)sqlite_uint(statement, 0), &id);
        }
        status = result == SQLITE_DONE ? STORE_OK : STORE_FAILED;
    }
    if (status == STORE_OK) {
        seen_is_whole(store->seen);
    } else {
        (void)sqlite_fail(db);
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return status;
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < SQLITE_STATEMENTS; i++) {
        sqlite3_finalize(store->statements[i]);
    }
    sqlite3_finalize(store->knows);
    for (unsigned i = 0; i < STORE_LANES; i++) {
        sqlite3_close(store->lanes[i].db);
        pthread_mutex_destroy(&store->lanes[i].mutex);
    }
    sqlite3_close(store->writer);
    seen_end(store->seen);
    pthread_mutex_destroy(&store->writing);
    free(store);
}
