// SPDX-License-Identifier: Apache-2.0
/* Shell commands with a running server that takes reports, or fails on command
 * (report_server.py). */
#ifndef TEST_UPLOAD_H
#define TEST_UPLOAD_H

#include "start.h"

/* `count` reports of this shell's stacks, as runs that are over leave them. */
#define REPORTS(count)                                                                             \
    "mkdir -m 700 spool; for i in $(seq " #count "); do "                                          \
    "$SONDE stacks --report spool/2026112${i}T164012Z-7.sonde $$ >$DIR/stacks; "                   \
    "chmod 600 spool/*; done; "

/* Run a line of shell in $DIR, with a server of those modes at $URL, and as $DSN; $LOOP is run_loop
 * (../run/loop.c), $TURNS enough turns of it to be known as a loop. Then it prints "stored: N" of
 * the server, and "asked: N". Skips the test where the library with the transport was not built. */
struct test_run with_server(const char *modes, const char *line);

/* The same; the output holds each of `parts`, null-terminated. */
void expect_parts(const char *modes, const char *line, const char *const parts[]);
#define EXPECT(modes, line, ...) expect_parts(modes, line, (const char *const[]){__VA_ARGS__, NULL})

#endif
