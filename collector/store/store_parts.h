// SPDX-License-Identifier: Apache-2.0
/* What the files of the store share: its connections, and the statements of the writer. The writer
 * has one connection. Questions have STORE_LANES, each for one question at a time. */
#ifndef SONDE_COLLECTOR_STORE_PARTS_H
#define SONDE_COLLECTOR_STORE_PARTS_H

#include <pthread.h>

#include "db.h"
#include "gather.h"
#include "seen.h"
#include "sieve.h"
#include "tell.h"

/* Statements of the writer, prepared once (store_texts.c). */
enum store_statement {
    STORE_ADD_REPORT,
    STORE_FIND_CAUSE,
    STORE_ADD_CAUSE,
    STORE_ADD_TO_GROUP,
    STORE_SHOW_LONGER,
    STORE_ADD_DEVICE,
    STORE_COUNT_JOINT_DEVICE,
    STORE_ADD_SUM,
    STORE_ADD_EVENT,
    STORE_ADD_TAG,
    STORE_ADD_USED,
    STORE_ADD_BUILD,
    STORE_ADD_BUILD_SUM,
    STORE_ADD_MACHINE,
    STORE_ADD_LISTED,
    STORE_ADD_API,
    STORE_FIND_MARK,
    STORE_SET_STATE,
    STORE_ADD_ACTION,
    STORE_SET_PLACE,
    STORE_ADD_WANT,
    STORE_ADD_PART,
    STORE_FIND_HOOKS,
    STORE_ADD_MESSAGE,
    STORE_LOSE_MESSAGE,
    STORE_FIND_SPIKE,
    STORE_FIND_HOURS,
    STORE_SET_SPIKE,
    STORE_FIND_SIFTS,
    STORE_ADD_TO_SIFT,
    STORE_ADD_SIFTED,
    STORE_TAKE_SIFTED,
    STORE_SET_NOTE,
    STORE_ADD_DAY,  /* of a shared database only */
    STORE_ADD_FILE, /* the same */
    STORE_STATEMENTS,
};
extern const char *const store_texts[STORE_STATEMENTS];
/* Those that are other ones in PostgreSQL. */
extern const char *const store_texts_postgres[STORE_STATEMENTS];

struct store_lane {
    pthread_mutex_t mutex;
    struct db *db;
};

struct store {
    bool is_shared;    /* the database is a server, which other collectors use, too */
    char *where;       /* the database */
    int64_t collector; /* the number of this one in it */
    uint64_t day;      /* whose tables are there, in this transaction; UINT64_MAX: none yet */
    struct db *writer;
    struct db_statement *statements[STORE_STATEMENTS];
    struct store_lane lanes[STORE_LANES];
    struct db_statement *knows; /* of lane 0 */
    struct seen *seen;
    struct gather *gather; /* of the writer's transaction */
    struct tell *tell;
    struct sieve *sieve;
    pthread_mutex_t writing; /* the writer, and changes beside it */
};

/* A question: one statement of the thread's lane, which is held until the end. Bind after asking;
 * then rows until false, then the end. */
struct store_asking {
    struct store_lane *lane;
    struct db_statement *statement;
    enum db_result result;
};
struct store_asking store_ask(struct store *store, const char *text);
bool store_next(struct store_asking *asking);
/* OK | LONG | FAILED. */
enum store_status store_end(struct store_asking *asking);
/* The same, for a question whose answer must have a row: ABSENT. */
enum store_status store_end_of_one(struct store_asking *asking, bool is_there);

/* Write what the transaction has gathered, and forget it, so that rows are as all events so far
 * have left them; or only what one row of `cause` gets. */
enum store_status store_flush(struct store *store);
enum store_status store_flush_group(struct store *store, int64_t number);
/* Write the row of `event` that the cause has gathered. */
enum store_status store_write_row(struct store *store, struct gather_cause *cause);

/* Write a change to the list of actions. what: one line. */
enum store_status store_add_action(struct store *store, const struct store_actor *actor,
                                   uint32_t project, const char *what);

/* Begin a change beside the writer's transactions. FAILED: it has not begun. */
enum store_status store_begin_change(struct store *store);
/* End it, all or nothing by `status`, with a line in the list of actions; it is on the disk then.
 * Returns `status`, or why it is not done. */
enum store_status store_end_change(struct store *store, enum store_status status,
                                   const struct store_actor *actor, uint32_t project,
                                   const char *what);

/* The tables that have rows by the number of a report as long as its file is kept: of events, of
 * symbols that it waits for (it cannot be read again), of its parts, and of what filters dropped.
 */
#define STORE_OF_FILES(each) each("event") each("want") each("part") each("sifted")

/* Count a report for its build, which is then known. time_ns: when it was. */
enum store_status store_add_build(struct store *store, const struct store_report *report,
                                  uint64_t time_ns);
/* Count calls of a cause for the build of their report. */
enum store_status store_add_call(struct store *store, const struct store_report *report,
                                 int64_t cause, const struct digest_event *event);

/* Keep what a report waits for; and what its event number `number` added to a cause. */
enum store_status store_add_wants(struct store *store, int64_t report,
                                  const struct digest_wants *wants);
enum store_status store_add_part(struct store *store, int64_t report, uint32_t number,
                                 int64_t cause, uint64_t time_ns, const struct digest_event *event);
/* Take what a report added back from its causes. It waits for nothing then. digest: of the report,
 * with its tags and machine; null: take nothing back. */
enum store_status store_take_back(struct store *store, int64_t report, const struct digest *digest);

#endif
