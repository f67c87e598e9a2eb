// SPDX-License-Identifier: Apache-2.0
/* A connection to PostgreSQL, made again when it was lost. */
#ifndef SONDE_COLLECTOR_POSTGRES_LINK_H
#define SONDE_COLLECTOR_POSTGRES_LINK_H

#include <libpq-fe.h>

#include "db.h"

struct postgres_link {
    const char *where;
    PGconn *connection;
    unsigned epoch;     /* counts connections, from 1 */
    int64_t number;     /* of the collector whose it is; 0: nobody's */
    uint64_t most_ms;   /* of a question; 0: any */
    uint64_t failed_ns; /* when the last try to connect failed; by a clock that is not set */
};

/* A step of SQLite's machine is about so much time. */
#define POSTGRES_STEPS_OF_MS 100000u

/* All writers of the database take turns, also those of other collectors: they hold a lock until
 * their transaction ends. */
#define POSTGRES_BEGIN "BEGIN; SELECT pg_advisory_xact_lock(7450, 1)"

/* Have a connection; a new one if it was lost. After a failed try the next is a second later. */
bool postgres_connect(struct postgres_link *link);
/* Hold the lock of the link's number, here and after each new connection. FAILED: another has it.
 */
enum store_status postgres_claim(struct postgres_link *link);
void postgres_disconnect(struct postgres_link *link);
/* What became of a statement: ROW (it was done) | KNOWN | LONG | FAILED, with store_error(). */
enum db_result postgres_look(struct postgres_link *link, const PGresult *result);
/* Connect if necessary, and run statements without parameters. OK | FAILED. */
enum store_status postgres_execute(struct postgres_link *link, const char *text);
/* Run one whose answer is a number. */
enum store_status postgres_number(struct postgres_link *link, const char *text, int64_t *ret);
/* FAILED also if the server rolled back instead. */
enum store_status postgres_commit(struct postgres_link *link);
void postgres_end_transaction(struct postgres_link *link);
void postgres_bound(struct postgres_link *link, uint64_t most_ms);

#endif
