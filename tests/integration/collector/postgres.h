// SPDX-License-Identifier: Apache-2.0
/* A PostgreSQL server of Debian's package in a folder of the test, for tests of the collector. */
#ifndef SONDE_TEST_POSTGRES_H
#define SONDE_TEST_POSTGRES_H

#include <sys/types.h>

struct postgres_server {
    pid_t pid;
    char folder[80];
    char where[320]; /* for --database */
};

/* Start it; skips the test where there is none. */
struct postgres_server postgres_start(void);
/* Start it again with the same data. */
void postgres_again(struct postgres_server *server);
/* Run statements; returns the first column of the last one's rows, a line each. Caller frees. */
char *postgres_ask(const struct postgres_server *server, const char *text);
/* End it at once: sessions are cut. */
void postgres_stop(struct postgres_server *server);

#endif
