// SPDX-License-Identifier: Apache-2.0
/* The SQLite database, for the files of this folder: connections and prepared statements. The
 * writer has one connection. Questions have STORE_LANES, each for one question at a time. */
#ifndef SONDE_COLLECTOR_SQLITE_H
#define SONDE_COLLECTOR_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>

#include "seen.h"
#include "store.h"

/* Statements of the writer, prepared once. */
enum sqlite_statement {
    SQLITE_ADD_REPORT,
    SQLITE_FIND_GROUP,
    SQLITE_ADD_GROUP,
    SQLITE_ADD_TO_GROUP,
    SQLITE_SHOW_LONGER,
    SQLITE_ADD_DEVICE,
    SQLITE_COUNT_DEVICE,
    SQLITE_COUNT_JOINT_DEVICE,
    SQLITE_ADD_SUM,
    SQLITE_ADD_EVENT,
    SQLITE_ADD_TAG,
    SQLITE_ADD_USED,
    SQLITE_ADD_BUILD,
    SQLITE_FIND_MARK,
    SQLITE_SET_STATE,
    SQLITE_ADD_ACTION,
    SQLITE_SET_PLACE,
    SQLITE_STATEMENTS,
};

struct sqlite_lane {
    pthread_mutex_t mutex;
    sqlite3 *db;
    uint64_t steps, steps_max; /* of the question that is asked now, in units of STEPS */
};

struct store {
    sqlite3 *writer;
    sqlite3_stmt *statements[SQLITE_STATEMENTS];
    struct sqlite_lane lanes[STORE_LANES];
    sqlite3_stmt *knows; /* of lane 0 */
    struct seen *seen;
    pthread_mutex_t writing; /* the writer, and changes beside it */
};

/* A question: one statement of the thread's lane, which is held until the end. Bind after asking;
 * then rows until false, then the end. */
struct sqlite_asking {
    struct sqlite_lane *lane;
    sqlite3_stmt *statement;
    int result;
};
struct sqlite_asking sqlite_ask(struct store *store, const char *text);
bool sqlite_row(struct sqlite_asking *asking);
/* OK | LONG | FAILED. */
enum store_status sqlite_end(struct sqlite_asking *asking);
/* The same, for a question whose answer must have a row: ABSENT. */
enum store_status sqlite_end_of_one(struct sqlite_asking *asking, bool is_there);
/* Bound the questions of a lane's connection. */
void sqlite_bound_lane(struct sqlite_lane *lane);

/* Keep the connection's error text for store_error(); returns FAILED. */
enum store_status sqlite_fail(sqlite3 *db);
/* The same with another text. */
enum store_status sqlite_fail_with(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a change that makes no sense; returns UNFIT. */
enum store_status sqlite_unfit(const char *text);
/* Bring the tables to this program's version (schema.c). Returns OK | FAILED. */
enum store_status sqlite_make_tables(sqlite3 *db);
/* Bind: i an int64_t, u a uint64_t, t a text (or null), h a struct hash *, r a struct report_id *.
 * Texts and hashes must stay until the statement is reset. */
void sqlite_bind(sqlite3_stmt *statement, const char *types, ...);
/* Write a change of a group to the list of actions. what: one line. */
enum store_status sqlite_add_action(struct store *store, const struct store_actor *actor,
                                    uint32_t project, const char *what);
/* Put all commits on the disk. The caller has `writing`. */
enum store_status sqlite_sync(struct store *store);
/* Run a statement without rows, and reset it. */
enum store_status sqlite_run(sqlite3 *db, sqlite3_stmt *statement);
/* A column as text; "" for null. */
const char *sqlite_text(sqlite3_stmt *statement, int column);
/* A column of so many bytes; another one leaves ret_bytes as it is. */
void sqlite_copy_id(sqlite3_stmt *statement, int column, void *ret_bytes, size_t size);
uint64_t sqlite_uint(sqlite3_stmt *statement, int column);

#endif
