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
    uint64_t most_ms;   /* of a question, after which the server ends it; 0: any */
    uint64_t wait_ms;   /* for an answer, after which the connection is given up; 0: any */
    uint64_t failed_ns; /* when the last try to connect failed; by a clock that is not set */
    uint64_t rest_ns;   /* after that none is made for so long */
    bool has_hung;      /* a question was not answered in its time */
};

/* A step of SQLite's machine is about so much time. */
#define POSTGRES_STEPS_OF_MS 100000u

/* All writers of the database take turns, also those of other collectors: they hold a lock until
 * their transaction ends. */
#define POSTGRES_BEGIN "BEGIN; SELECT pg_advisory_xact_lock(7450, 1)"

/* Have a connection; a new one if it was lost. After a failed try the next is later:
 * a second, and three times as long as the try took, for other requests of the thread. */
bool postgres_connect(struct postgres_link *link);
/* Hold the lock of the link's number, here and after each new connection. FAILED: another has it.
 */
enum store_status postgres_claim(struct postgres_link *link);
void postgres_disconnect(struct postgres_link *link);
/* Wait for the answer to what was sent (is_sent: 1, as libpq's functions have it), as PQexec()
 * does, but not much longer than a question may take: a server that is stopped closes no
 * connection. Then the link has_hung. Returns the last result, or null. Ownership: PQclear(). */
PGresult *postgres_wait(struct postgres_link *link, int is_sent);
/* Give up a connection that has hung: it fails, and is made again after a while. */
void postgres_give_up(struct postgres_link *link);
/* What became of a statement: ROW (it was done) | KNOWN | LONG | FAILED, with store_error(). */
enum db_result postgres_look(struct postgres_link *link, const PGresult *result);
/* Connect if necessary, and run statements without parameters. OK | FAILED. */
enum store_status postgres_execute(struct postgres_link *link, const char *text);
/* Run one whose answer is a number. */
enum store_status postgres_number(struct postgres_link *link, const char *text, int64_t *ret);
/* FAILED also if the server rolled back instead. */
enum store_status postgres_commit(struct postgres_link *link);
void postgres_end_transaction(struct postgres_link *link);
/* Bound questions; 0: only the time in which the server has to answer (BOUND_MS). */
void postgres_bound(struct postgres_link *link, uint64_t most_ms);

#endif
