// SPDX-License-Identifier: Apache-2.0
/* Databases behind one interface, for the files of this folder: connections, and statements in the
 * SQL that all of them understand: parameters ?1 to ?N, ON CONFLICT(columns), RETURNING, CASE.
 * Integers have 64 bits. A kind of database is one file, db_KIND.c. */
#ifndef SONDE_COLLECTOR_DB_H
#define SONDE_COLLECTOR_DB_H

#include "store.h"

struct db_kind;

/* A connection. Context: one thread at a time. */
struct db {
    const struct db_kind *kind;
};

/* A prepared statement: bind, step until the last row, reset. */
struct db_statement {
    struct db *db;
};

enum db_result {
    DB_ROW,
    DB_DONE,
    DB_KNOWN, /* a row with this key is there already */
    DB_LONG,  /* it takes too many steps */
    DB_FAILED,
};

enum db_type { DB_NUMBER, DB_TEXT, DB_BYTES };

struct db_value {
    enum db_type type;
    int64_t number;
    const void *bytes; /* of a text (null: none), or bytes: they must stay until the reset */
    size_t size;
};

struct db_kind {
    /* is_kept: it is used often. Null: it failed. */
    struct db_statement *(*prepare)(struct db *db, const char *text, bool is_kept);
    void (*bind)(struct db_statement *statement, int index, const struct db_value *value);
    enum db_result (*step)(struct db_statement *statement);
    void (*reset)(struct db_statement *statement);
    void (*end)(struct db_statement *statement);
    int64_t (*number)(struct db_statement *statement, int column);
    const char *(*text)(struct db_statement *statement, int column);
    const void *(*bytes)(struct db_statement *statement, int column, size_t *ret_size);
    /* The only transaction that writes: others wait for its end. */
    enum store_status (*begin)(struct db *db);
    /* Send what was gathered. */
    enum store_status (*flush)(struct db *db);
    enum store_status (*commit)(struct db *db);
    void (*roll_back)(struct db *db);
    /* Put all commits on the disk. */
    enum store_status (*sync)(struct db *db);
    /* Say that this connection is the collector's with this number: there is one. Null: it needs no
     * saying. */
    enum store_status (*claim)(struct db *db, int64_t number);
    /* End questions after so many steps; 0: never. */
    void (*bound)(struct db *db, uint64_t steps);
    void (*close)(struct db *db);
};

/* Null statements, whose preparation failed, are allowed in all of these. */

/* Bind: i an int64_t, u a uint64_t, t a text (or null), h a struct hash *, r a struct report_id *,
 * b bytes and a size_t, e no bytes (no argument). */
void db_bind(struct db_statement *statement, const char *types, ...);
enum db_result db_step(struct db_statement *statement);
void db_reset(struct db_statement *statement);
void db_end(struct db_statement *statement);
/* Run a statement that needs no answer, and reset it. OK | KNOWN | FAILED. */
enum store_status db_run(struct db_statement *statement);
/* The same for one whose answer is a number. OK | ABSENT (it has no row) | KNOWN | FAILED. */
enum store_status db_run_for(struct db_statement *statement, int64_t *ret_number);

/* Columns of a row. Texts ("" for null) and bytes stay until the next step. */
int64_t db_number(struct db_statement *statement, int column);
uint64_t db_uint(struct db_statement *statement, int column);
const char *db_text(struct db_statement *statement, int column);
const void *db_bytes(struct db_statement *statement, int column, size_t *ret_size);
/* A column of so many bytes; another one leaves ret_bytes as it is: false. */
bool db_copy_id(struct db_statement *statement, int column, void *ret_bytes, size_t size);

/* Keep a text for store_error(); returns FAILED. */
enum store_status db_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same where the database is damaged, which is logged once. */
enum store_status db_damaged(const char *why);
/* The same for a change that makes no sense; returns UNFIT. */
enum store_status db_unfit(const char *text);

#endif
