// SPDX-License-Identifier: Apache-2.0
#include "postgres_link.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define SECOND_NS      1000000000u
#define MS_NS          1000000u
#define OLDEST_VERSION 150000 /* as libpq has it: 15.0 */

/* What each connection needs, also if the server's configuration says something else. A collector
 * that is stopped in a transaction loses it, so that others can write; the server learns in some
 * seconds that one is gone with its machine. */
static const char settings[] = "SET client_encoding = 'UTF8'; SET bytea_output = 'hex';"
                               "SET synchronous_commit = on; SET lock_timeout = '10s';"
                               "SET idle_in_transaction_session_timeout = '30s';"
                               "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;"
                               "SET tcp_keepalives_count = 3;"
                               "SET client_min_messages = error";

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void say_nothing(void *ctx, const PGresult *notice)
{
    (void)ctx, (void)notice;
}

enum db_result postgres_look(struct postgres_link *link, const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        return DB_ROW;
    }
    const char *text = PQresultErrorMessage(result);
    (void)db_fail("%s", text[0] != '\0' ? text : PQerrorMessage(link->connection));
    if (state != NULL && strcmp(state, "23505") == 0) { /* unique_violation */
        return DB_KNOWN;
    }
    return state != NULL && strcmp(state, "57014") == 0 ? DB_LONG : DB_FAILED; /* query_canceled */
}

/* The server ends a question by itself; one that cannot is not waited for. */
enum { PATIENCE_MS = 2000, BOUND_MS = 8000 };

/* Wait until there is something to read. False: the time is over. */
static bool await(PGconn *connection, uint64_t until_ns)
{
    struct pollfd one = {.fd = PQsocket(connection), .events = POLLIN};
    for (;;) {
        uint64_t at_ns = now_ns();
        if (at_ns >= until_ns) {
            return false;
        }
        uint64_t left_ms = (until_ns - at_ns) / MS_NS + 1;
        if (poll(&one, 1, left_ms < 60000 ? (int)left_ms : 60000) > 0) {
            return true;
        }
    }
}

PGresult *postgres_wait(struct postgres_link *link, int is_sent)
{
    PGconn *c = link->connection;
    PGresult *last = NULL;
    uint64_t until_ns = link->wait_ms != 0 ? now_ns() + link->wait_ms * MS_NS : UINT64_MAX;
    while (is_sent == 1) {
        while (!link->has_hung && PQisBusy(c) != 0) {
            link->has_hung = !await(c, until_ns);
            if (link->has_hung) {
                (void)shutdown(PQsocket(c), SHUT_RDWR); /* libpq finds it closed */
            } else if (PQconsumeInput(c) == 0) {
                break;
            }
        }
        PGresult *result = PQgetResult(c);
        if (result == NULL) {
            break;
        }
        PQclear(last);
        last = result;
    }
    return last;
}

void postgres_give_up(struct postgres_link *link)
{
    postgres_disconnect(link);
    link->has_hung = false;
    link->failed_ns = now_ns();
    link->rest_ns = 3 * link->wait_ms * MS_NS;
    (void)db_fail("the database does not answer");
}

static enum store_status run(struct postgres_link *link, const char *text)
{
    PGresult *result = postgres_wait(link, PQsendQuery(link->connection, text));
    enum db_result done = postgres_look(link, result);
    PQclear(result);
    return done == DB_ROW ? STORE_OK : STORE_FAILED;
}

/* Is it a server that this program can use? */
static bool is_fit(struct postgres_link *link)
{
    int version = PQserverVersion(link->connection);
    const char *encoding = PQparameterStatus(link->connection, "server_encoding");
    if (version < OLDEST_VERSION) {
        (void)db_fail("the server is PostgreSQL %d, 15 or later is needed", version / 10000);
        return false;
    }
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0) {
        (void)db_fail("the database has the encoding %s, UTF8 is needed",
                      encoding != NULL ? encoding : "(unknown)");
        return false;
    }
    return true;
}

enum store_status postgres_claim(struct postgres_link *link)
{
    char text[160];
    snprintf(text, sizeof text,
             "SET lock_timeout = '5s'; SELECT pg_advisory_lock(%lld); SET lock_timeout = '10s'",
             (long long)link->number);
    if (run(link, text) == STORE_OK) {
        return STORE_OK;
    }
    return PQstatus(link->connection) == CONNECTION_OK
               ? db_fail(
                     "another collector has the number of this one: was its data folder copied?")
               : STORE_FAILED;
}

static bool set_up(struct postgres_link *link)
{
    char set[64];
    snprintf(set, sizeof set, "SET statement_timeout = %llu", (unsigned long long)link->most_ms);
    return is_fit(link) && run(link, settings) == STORE_OK && run(link, set) == STORE_OK &&
           (link->number == 0 || postgres_claim(link) == STORE_OK);
}

/* Does a part begin in a password whose reserved characters are not written as %XX? */
static bool is_of_password(const PQconninfoOption *o, bool is_uri)
{
    if (o->val == NULL) {
        return false;
    }
    if (strcmp(o->keyword, "port") == 0) {
        return o->val[strspn(o->val, "0123456789,")] != '\0';
    }
    bool is_name = strcmp(o->keyword, "host") == 0 || strcmp(o->keyword, "dbname") == 0;
    return is_uri && is_name && strchr(o->val, '@') != NULL;
}

/* What libpq says of a text that it cannot read, or reads otherwise than it was meant, quotes parts
 * of it. Returns whether it was such a failure. */
static bool fail_by_text(const char *where)
{
    static const char hint[] = "in a URI @ : / ? # and % of a name or password are written as %XX";
    char *text = NULL;
    PQconninfoOption *options = PQconninfoParse(where, &text);
    bool is_failure = options == NULL, is_uri = strstr(where, "://") != NULL;
    if (is_failure) {
        (void)db_fail("%.*s: %s", text != NULL ? (int)strcspn(text, "\":\n") : 0,
                      text != NULL ? text : "", hint);
    }
    for (PQconninfoOption *o = options; o != NULL && o->keyword != NULL && !is_failure; o++) {
        is_failure = is_of_password(o, is_uri);
        if (is_failure) {
            (void)db_fail("not a %s: %s", o->keyword, hint);
        }
    }
    PQfreemem(text);
    PQconninfoFree(options);
    return is_failure;
}

bool postgres_connect(struct postgres_link *link)
{
    static const char *const names[] = {"application_name", "connect_timeout", "tcp_user_timeout",
                                        "keepalives_idle",  "dbname",          NULL};
    const char *const values[] = {"sonde-collector", "3", "10000", "10", link->where, NULL};
    if (link->connection != NULL && PQstatus(link->connection) == CONNECTION_OK) {
        return true;
    }
    uint64_t from_ns = now_ns();
    if (link->failed_ns != 0 && from_ns - link->failed_ns < link->rest_ns) {
        (void)db_fail("the database does not answer");
        return false;
    }
    postgres_disconnect(link);
    link->connection = PQconnectdbParams(names, values, 1);
    if (link->connection != NULL) {
        PQsetNoticeReceiver(link->connection, say_nothing, NULL);
    }
    bool is_there = link->connection != NULL && PQstatus(link->connection) == CONNECTION_OK;
    if (!is_there && !fail_by_text(link->where)) {
        (void)db_fail("%s",
                      link->connection != NULL ? PQerrorMessage(link->connection) : "no memory");
    }
    if (!is_there || !set_up(link)) {
        postgres_disconnect(link);
        link->has_hung = false;
        link->failed_ns = now_ns();
        link->rest_ns = SECOND_NS + 3 * (link->failed_ns - from_ns);
        return false;
    }
    link->failed_ns = 0;
    link->epoch++;
    return true;
}

void postgres_disconnect(struct postgres_link *link)
{
    PQfinish(link->connection);
    link->connection = NULL;
}

enum store_status postgres_execute(struct postgres_link *link, const char *text)
{
    return postgres_connect(link) ? run(link, text) : STORE_FAILED;
}

enum store_status postgres_number(struct postgres_link *link, const char *text, int64_t *ret)
{
    PGresult *result = PQexec(link->connection, text);
    bool is_there = postgres_look(link, result) == DB_ROW && PQntuples(result) == 1;
    if (is_there) {
        *ret = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    }
    PQclear(result);
    return is_there ? STORE_OK : STORE_FAILED;
}

enum store_status postgres_commit(struct postgres_link *link)
{
    PGresult *result = PQexec(link->connection, "COMMIT");
    enum db_result done = postgres_look(link, result);
    if (done == DB_ROW && strcmp(PQcmdStatus(result), "COMMIT") != 0) {
        (void)db_fail("the server rolled the transaction back");
        done = DB_FAILED;
    }
    PQclear(result);
    return done == DB_ROW ? STORE_OK : STORE_FAILED;
}

void postgres_end_transaction(struct postgres_link *link)
{
    PQclear(PQexec(link->connection, "ROLLBACK"));
}

void postgres_bound(struct postgres_link *link, uint64_t most_ms)
{
    char set[64];
    link->most_ms = most_ms;
    link->wait_ms = (most_ms != 0 ? most_ms : BOUND_MS) + PATIENCE_MS;
    snprintf(set, sizeof set, "SET statement_timeout = %llu", (unsigned long long)most_ms);
    (void)run(link, set);
}
