// SPDX-License-Identifier: Apache-2.0
/* PostgreSQL 15 or later, by libpq. A commit is on the server's disk when it returns. A connection
 * that was lost is made again by the next question or transaction; a transaction in which it was
 * lost fails.
 *
 * A statement whose parameters are arrays (unnest), or a COPY, is gathered: each run adds a row,
 * and db_flush(), or the commit, sends them as one statement. The parameters of a COPY are its
 * columns. Texts are sent as valid UTF-8, because the server refuses others. */
#ifndef SONDE_COLLECTOR_DB_POSTGRES_H
#define SONDE_COLLECTOR_DB_POSTGRES_H

#include "db.h"

/* Connect. where: a URI or "key=value …" (PostgreSQL 15 documentation, 34.1.1). Null: it failed.
 * Ownership: close. */
struct db *db_postgres_open(const char *where);
/* Bring the tables to this program's version (schema_postgres.c). OK | FAILED. */
enum store_status db_postgres_make_tables(struct db *db);

#endif
