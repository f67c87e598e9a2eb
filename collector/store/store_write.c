// SPDX-License-Identifier: Apache-2.0
#include "sqlite.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000u)

static enum store_status execute(struct store *store, const char *text)
{
    return sqlite3_exec(store->writer, text, NULL, NULL, NULL) == SQLITE_OK
               ? STORE_OK
               : sqlite_fail(store->writer);
}

enum store_status store_begin(struct store *store)
{
    pthread_mutex_lock(&store->writing);
    enum store_status status = execute(store, "BEGIN IMMEDIATE");
    if (status != STORE_OK) {
        pthread_mutex_unlock(&store->writing);
    }
    return status;
}

enum store_status store_commit(struct store *store, struct journal_place read)
{
    sqlite3_stmt *statement = store->statements[SQLITE_SET_PLACE];
    sqlite_bind(statement, "uu", read.segment, read.offset);
    enum store_status status = sqlite_run(store->writer, statement);
    if (status == STORE_OK) {
        status = execute(store, "COMMIT");
    }
    if (status != STORE_OK) {
        (void)sqlite3_exec(store->writer, "ROLLBACK", NULL, NULL, NULL);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

void store_rollback(struct store *store)
{
    (void)sqlite3_exec(store->writer, "ROLLBACK", NULL, NULL, NULL);
    pthread_mutex_unlock(&store->writing);
}

enum store_status store_sync(struct store *store)
{
    pthread_mutex_lock(&store->writing);
    int result =
        sqlite3_wal_checkpoint_v2(store->writer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    enum store_status status = result == SQLITE_OK ? STORE_OK : sqlite_fail(store->writer);
    pthread_mutex_unlock(&store->writing);
    return status;
}

/* --- one event --- */

struct adding {
    struct store *store;
    const struct store_report *report;
    int64_t report_number;
    uint64_t time_ns; /* of the event */
};

/* When it was. A sender's clock may be wrong: nothing is later than its arrival. */
static uint64_t time_of(const struct store_report *report, const struct digest_event *event)
{
    uint64_t begin_ns = report->digest->time_ns;
    if (begin_ns == 0 || begin_ns > report->received_ns ||
        event->begin_ns > report->received_ns - begin_ns) {
        return report->received_ns;
    }
    return begin_ns + event->begin_ns;
}

/* Find the group, or make it. */
static enum store_status find_group(const struct adding *a, const struct digest_event *event,
                                    int64_t *ret_number, uint64_t *ret_longest_ns)
{
    sqlite3 *db = a->store->writer;
    sqlite3_stmt *find = a->store->statements[SQLITE_FIND_GROUP];
    sqlite3_stmt *make = a->store->statements[SQLITE_ADD_GROUP];
    const char *build = a->report->digest->build;
    sqlite_bind(find, "uut", (uint64_t)a->report->project, (uint64_t)event->kind, event->group);
    int result = sqlite3_step(find);
    if (result == SQLITE_ROW) {
        *ret_number = sqlite3_column_int64(find, 0);
        *ret_longest_ns = sqlite_uint(find, 1);
    }
    enum store_status status =
        result == SQLITE_ROW || result == SQLITE_DONE ? STORE_OK : sqlite_fail(db);
    sqlite3_reset(find);
    if (result != SQLITE_DONE || status != STORE_OK) {
        return status;
    }
    sqlite_bind(make,
                "uutttt"
                "uuuttr",
                (uint64_t)a->report->project, (uint64_t)event->kind, event->group, event->title,
                event->summary, event->why, (uint64_t)event->severity, a->time_ns, a->time_ns,
                build, build, &a->report->id);
    status = sqlite_run(db, make);
    *ret_number = sqlite3_last_insert_rowid(db);
    *ret_longest_ns = event->longest_ns;
    return status;
}

static enum store_status add_device(const struct adding *a, int64_t group)
{
    sqlite3 *db = a->store->writer;
    sqlite3_stmt *statement = a->store->statements[SQLITE_ADD_DEVICE];
    sqlite_bind(statement, "it", group, a->report->digest->device);
    enum store_status status = sqlite_run(db, statement);
    if (status == STORE_OK && sqlite3_changes(db) == 1) {
        statement = a->store->statements[SQLITE_COUNT_DEVICE];
        sqlite_bind(statement, "i", group);
        status = sqlite_run(db, statement);
    }
    return status;
}

static enum store_status add_sums(const struct adding *a, const struct digest_event *event,
                                  int64_t group)
{
    sqlite3 *db = a->store->writer;
    sqlite3_stmt *statement = a->store->statements[SQLITE_ADD_TO_GROUP];
    const char *build = a->report->digest->build;
    sqlite_bind(statement, "iuuuuut", group, event->count, event->total_ns,
                (uint64_t)event->is_fatal, (uint64_t)event->severity, a->time_ns, build);
    enum store_status status = sqlite_run(db, statement);
    if (status == STORE_OK) {
        statement = a->store->statements[SQLITE_ADD_SUM];
        sqlite_bind(statement, "iutuuu", group, a->time_ns / HOUR_NS, build, event->count,
                    event->total_ns, event->longest_ns);
        status = sqlite_run(db, statement);
    }
    if (status == STORE_OK) {
        statement = a->store->statements[SQLITE_ADD_EVENT];
        sqlite_bind(statement, "iiuu", group, a->report_number, event->count, event->total_ns);
        status = sqlite_run(db, statement);
    }
    return status;
}

static enum store_status add_event(const struct adding *a, const struct digest_event *event)
{
    int64_t group = 0;
    uint64_t longest_ns = 0;
    enum store_status status = find_group(a, event, &group, &longest_ns);
    if (status == STORE_OK) {
        status = add_sums(a, event, group);
    }
    if (status == STORE_OK) {
        status = add_device(a, group);
    }
    if (status == STORE_OK && event->longest_ns >= longest_ns && event->summary[0] != '\0') {
        sqlite3_stmt *statement = a->store->statements[SQLITE_SHOW_LONGER];
        sqlite_bind(statement, "iutrt", group, event->longest_ns, event->summary, &a->report->id,
                    event->title);
        status = sqlite_run(a->store->writer, statement);
    }
    return status;
}

/* --- one report --- */

static enum store_status add_row(struct store *store, const struct store_report *report)
{
    static const struct digest none = {0};
    const struct digest *digest = report->digest != NULL ? report->digest : &none;
    const char *note = report->digest != NULL ? digest->loss : report->why;
    sqlite3_stmt *statement = store->statements[SQLITE_ADD_REPORT];
    sqlite_bind(statement,
                "uruutttt"
                "thu",
                (uint64_t)report->project, &report->id, (uint64_t)digest->kind, report->received_ns,
                digest->program, digest->build, digest->device, digest->os, note, &report->blob,
                report->size_bytes);
    enum store_status status = sqlite_run(store->writer, statement);
    return status == STORE_OK && sqlite3_changes(store->writer) == 0 ? STORE_KNOWN : status;
}

enum store_status store_add_report(struct store *store, const struct store_report *report)
{
    const struct digest *digest = report->digest;
    seen_add(store->seen, report->project, &report->id);
    enum store_status status = add_row(store, report);
    if (status != STORE_OK || digest == NULL) {
        return status;
    }
    struct adding a = {.store = store,
                       .report = report,
                       .report_number = sqlite3_last_insert_rowid(store->writer)};
    for (uint32_t i = 0; i < digest->event_count && status == STORE_OK; i++) {
        a.time_ns = time_of(report, &digest->events[i]);
        status = add_event(&a, &digest->events[i]);
    }
    return status;
}
