// SPDX-License-Identifier: Apache-2.0
/* Rows for COPY … FROM STDIN (FORMAT binary) (PostgreSQL 15 documentation, COPY, "Binary Format"):
 * they are gathered, and sent together. */
#ifndef SONDE_COLLECTOR_POSTGRES_COPY_H
#define SONDE_COLLECTOR_POSTGRES_COPY_H

#include "postgres_values.h"

struct postgres_copy {
    char *bytes;
    size_t size, capacity;
};

/* Append a row of the values, which are the columns in their order. False: no memory. */
bool postgres_copy_add(struct postgres_copy *copy, const struct postgres_values *values);
/* Run the statement with the rows, which are forgotten then. Returns the last result, or null.
 * Ownership: PQclear(). */
PGresult *postgres_copy_send(struct postgres_copy *copy, PGconn *connection, const char *text);
void postgres_copy_clear(struct postgres_copy *copy);
void postgres_copy_done(struct postgres_copy *copy);

#endif
