// SPDX-License-Identifier: Apache-2.0
/* A collector on loopback, for the tests of this folder, and scripts that talk to it. */
#ifndef SONDE_TEST_COLLECTOR_H
#define SONDE_TEST_COLLECTOR_H

#include "json.h"
#include "programs.h"

struct collector_run {
    struct program program;
    int port;
    char admin[64], ingest[64]; /* keys of the first start */
    const char *const *before;  /* the command that starts it, null-terminated; or null */
    const char *folder;         /* of its data, in the test's folder; null: "data" */
    const char *database;       /* for --database; null: none */
};

/* Start it with the data folder "data" of the test's folder, which stays for the next start.
 * options: more of them, null-terminated, or null. */
struct collector_run collector_start(const char *const options[]);
/* Start it as `run` says, whose other members are set. */
void collector_begin(struct collector_run *run, const char *const options[]);
/* The same by another command, as env. */
struct collector_run collector_start_by(const char *const before[], const char *const options[]);
/* Start it again after its end, at another port. */
void collector_again(struct collector_run *run);
/* SIGTERM; fails the test unless it ends with 0. */
void collector_stop(struct collector_run *run);
/* A file with a report of one stall; made once per test. */
const char *collector_report(void);
/* Run a shell script in the test's folder with $URL, $ADMIN, $INGEST, $REPORT, $SONDE, $COLLECTOR,
 * $LOOP, $SENDERS, $HOOKS, $EVENTS (scripts of this folder), $CI (the folder of examples for CI),
 * and the functions post, get, lock and unlock: lock keeps others from the SQLite database until
 * unlock. Returns its stdout (free it). A script that fails fails the test. */
char *collector_script(const struct collector_run *run, const char *script);
/* Wait until the store has all that the journal has. */
void collector_settle(const struct collector_run *run);
/* GET a path with the admin key as JSON. Free with json_free(). */
struct json *collector_get(const struct collector_run *run, const char *path);

#endif
