// SPDX-License-Identifier: Apache-2.0
#include "db_postgres.h"

#include <stdlib.h>
#include <string.h>

#include "postgres_copy.h"
#include "postgres_link.h"
#include "postgres_values.h"
#include "schema_postgres.h"

/* Gathered rows that are sent together at most, and bytes of a COPY. */
enum { ROWS_MAX = 5000, COPY_MAX = 4 << 20 };

struct statement {
    struct db_statement statement;
    struct statement *next; /* of the connection's gathered ones */
    char *text, name[24];   /* name: of a statement that the server keeps; else "" */
    unsigned epoch;         /* of the connection that has it */
    bool is_gathered, is_copy;
    uint32_t rows; /* gathered */
    struct postgres_values values;
    struct postgres_copy copy; /* gathered rows of a COPY; of others the values have them */
    PGresult *result;
    int row;
    unsigned char *bytes; /* of a column */
};

struct postgres {
    struct db db;
    struct postgres_link link;
    struct statement *gathered;
    unsigned names;
    bool is_in_transaction;
    bool has_failed; /* the transaction */
};

static struct postgres *of(struct db *db)
{
    return (struct postgres *)db;
}

/* --- statements --- */

static struct db_statement *prepare(struct db *db, const char *text, bool is_kept)
{
    struct statement *s = calloc(1, sizeof *s);
    char *own = s != NULL ? postgres_parameters(text) : NULL;
    if (own == NULL) {
        free(s);
        (void)db_fail("no memory");
        return NULL;
    }
    s->statement.db = db;
    s->text = own;
    s->is_copy = strncmp(text, "COPY ", 5) == 0;
    s->is_gathered = s->is_copy || (is_kept && strstr(text, "unnest(?1") != NULL);
    if (is_kept && !s->is_copy) {
        snprintf(s->name, sizeof s->name, "sonde%u", of(db)->names++);
    }
    if (s->is_gathered) { /* at the end: they are sent in the order in which they were prepared */
        struct statement **last = &of(db)->gathered;
        while (*last != NULL) {
            last = &(*last)->next;
        }
        *last = s;
    }
    return &s->statement;
}

static void bind(struct db_statement *statement, int index, const struct db_value *value)
{
    struct statement *s = (struct statement *)statement;
    postgres_set(&s->values, (unsigned)index - 1, value);
}

static PGresult *run_once(struct postgres *p, struct statement *s)
{
    const struct postgres_values *v = &s->values;
    PGconn *connection = p->link.connection;
    if (s->is_copy) {
        return postgres_copy_send(&s->copy, connection, s->text);
    }
    if (s->name[0] == '\0') {
        return postgres_wait(&p->link, PQsendQueryParams(connection, s->text, v->count, v->types,
                                                         v->texts, v->sizes, v->formats, 0));
    }
    if (s->epoch != p->link.epoch) {
        PGresult *result = postgres_wait(
            &p->link, PQsendPrepare(connection, s->name, s->text, v->count, v->types));
        if (PQresultStatus(result) != PGRES_COMMAND_OK) {
            return result;
        }
        PQclear(result);
        s->epoch = p->link.epoch;
    }
    return postgres_wait(&p->link, PQsendQueryPrepared(connection, s->name, v->count, v->texts,
                                                       v->sizes, v->formats, 0));
}

/* Send it. Beside transactions, again if the connection was lost. */
static enum db_result run(struct postgres *p, struct statement *s)
{
    if (p->is_in_transaction ? p->has_failed : !postgres_connect(&p->link)) {
        return DB_FAILED; /* store_error() has the first failure */
    }
    s->row = -1;
    s->result = run_once(p, s);
    if (p->link.has_hung) {
        PQclear(s->result);
        s->result = NULL;
        postgres_give_up(&p->link);
        return DB_FAILED;
    }
    if (!p->is_in_transaction && PQstatus(p->link.connection) != CONNECTION_OK &&
        postgres_connect(&p->link)) {
        PQclear(s->result);
        s->result = run_once(p, s);
    }
    enum db_result result = postgres_look(&p->link, s->result);
    p->has_failed = p->has_failed || (p->is_in_transaction && result != DB_ROW);
    return result;
}

static enum db_result send_gathered(struct postgres *p, struct statement *s)
{
    if (s->rows == 0) {
        return DB_ROW;
    }
    s->rows = 0;
    enum db_result result = DB_FAILED;
    if (s->is_copy || postgres_end_arrays(&s->values)) {
        result = run(p, s);
    } else {
        (void)db_fail("no memory");
    }
    PQclear(s->result);
    s->result = NULL;
    postgres_clear_arrays(&s->values);
    return result;
}

static enum db_result gather(struct postgres *p, struct statement *s)
{
    bool is_added =
        s->is_copy ? postgres_copy_add(&s->copy, &s->values) : postgres_add_row(&s->values);
    if (!is_added) {
        (void)db_fail("no memory");
        p->has_failed = true;
        return DB_FAILED;
    }
    bool is_full = ++s->rows >= ROWS_MAX && (!s->is_copy || s->copy.size >= COPY_MAX);
    return !is_full || send_gathered(p, s) == DB_ROW ? DB_DONE : DB_FAILED;
}

static enum store_status flush(struct db *db)
{
    for (struct statement *s = of(db)->gathered; s != NULL; s = s->next) {
        if (send_gathered(of(db), s) != DB_ROW) {
            return STORE_FAILED;
        }
    }
    return STORE_OK;
}

static void forget_gathered(struct postgres *p)
{
    for (struct statement *s = p->gathered; s != NULL; s = s->next) {
        s->rows = 0;
        postgres_clear_arrays(&s->values);
        postgres_copy_clear(&s->copy);
    }
}

static enum db_result step(struct db_statement *statement)
{
    struct statement *s = (struct statement *)statement;
    struct postgres *p = of(statement->db);
    if (s->is_gathered) {
        return gather(p, s);
    }
    if (s->result == NULL) {
        enum db_result result = run(p, s);
        if (result != DB_ROW) {
            return result;
        }
    }
    return ++s->row < PQntuples(s->result) ? DB_ROW : DB_DONE;
}

static void reset(struct db_statement *statement)
{
    struct statement *s = (struct statement *)statement;
    PQclear(s->result);
    s->result = NULL;
}

static void end(struct db_statement *statement)
{
    struct statement *s = (struct statement *)statement;
    struct statement **at = &of(statement->db)->gathered;
    while (*at != NULL && *at != s) {
        at = &(*at)->next;
    }
    if (*at == s) {
        *at = s->next;
    }
    reset(statement);
    postgres_done(&s->values);
    postgres_copy_done(&s->copy);
    PQfreemem(s->bytes);
    free(s->text);
    free(s);
}

/* --- columns --- */

static int64_t number(struct db_statement *statement, int column)
{
    struct statement *s = (struct statement *)statement;
    return strtoll(PQgetvalue(s->result, s->row, column), NULL, 10);
}

static const char *text(struct db_statement *statement, int column)
{
    struct statement *s = (struct statement *)statement;
    return PQgetvalue(s->result, s->row, column); /* "" for null */
}

static const void *bytes(struct db_statement *statement, int column, size_t *ret_size)
{
    struct statement *s = (struct statement *)statement;
    PQfreemem(s->bytes);
    s->bytes = PQunescapeBytea((unsigned char *)PQgetvalue(s->result, s->row, column), ret_size);
    return s->bytes;
}

/* --- transactions --- */

static enum store_status begin(struct db *db)
{
    struct postgres *p = of(db);
    enum store_status status = postgres_execute(&p->link, POSTGRES_BEGIN);
    if (status != STORE_OK && PQstatus(p->link.connection) == CONNECTION_OK) {
        postgres_end_transaction(&p->link);
    } else if (status != STORE_OK) {
        status = postgres_execute(&p->link, POSTGRES_BEGIN); /* the connection was lost before */
    }
    p->is_in_transaction = status == STORE_OK;
    p->has_failed = false;
    return status;
}

static void roll_back(struct db *db)
{
    struct postgres *p = of(db);
    forget_gathered(p);
    if (p->is_in_transaction) {
        postgres_end_transaction(&p->link);
    }
    p->is_in_transaction = false;
}

static enum store_status commit(struct db *db)
{
    struct postgres *p = of(db);
    enum store_status status = flush(db);
    if (status == STORE_OK && !p->has_failed) {
        status = postgres_commit(&p->link);
        p->is_in_transaction = status != STORE_OK;
    }
    if (status != STORE_OK || p->has_failed) {
        roll_back(db);
        return STORE_FAILED;
    }
    return STORE_OK;
}

/* A commit is on the disk: the connection asks for that. */
static enum store_status sync_it(struct db *db)
{
    (void)db;
    return STORE_OK;
}

static void bound(struct db *db, uint64_t steps)
{
    postgres_bound(&of(db)->link, steps / POSTGRES_STEPS_OF_MS);
}

static enum store_status claim(struct db *db, int64_t number)
{
    of(db)->link.number = number;
    return postgres_claim(&of(db)->link);
}

static void close_it(struct db *db)
{
    postgres_disconnect(&of(db)->link);
    free(db);
}

static const struct db_kind kind = {.prepare = prepare,
                                    .bind = bind,
                                    .step = step,
                                    .reset = reset,
                                    .end = end,
                                    .number = number,
                                    .text = text,
                                    .bytes = bytes,
                                    .begin = begin,
                                    .flush = flush,
                                    .commit = commit,
                                    .roll_back = roll_back,
                                    .sync = sync_it,
                                    .claim = claim,
                                    .bound = bound,
                                    .close = close_it};

struct db *db_postgres_open(const char *where)
{
    struct postgres *p = calloc(1, sizeof *p);
    if (p == NULL) {
        (void)db_fail("no memory");
        return NULL;
    }
    p->db.kind = &kind;
    p->link.where = where;
    if (!postgres_connect(&p->link)) {
        close_it(&p->db);
        return NULL;
    }
    return &p->db;
}

enum store_status db_postgres_make_tables(struct db *db)
{
    enum store_status status = begin(db);
    status = status == STORE_OK ? schema_postgres_make(&of(db)->link) : status;
    if (status == STORE_OK) {
        return commit(db);
    }
    roll_back(db);
    return status;
}
