// SPDX-License-Identifier: Apache-2.0
/* Programs that a test starts, looks at and ends. */
#ifndef SONDE_TEST_START_H
#define SONDE_TEST_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "test.h"

/* Start argv[0] with its standard output to us, and wait until it has printed a line; else fails
 * the test. The program is killed when the test's process dies. */
pid_t start_program(const char *const argv[]);
/* Kill it and wait for it. */
void stop_program(pid_t pid);
/* Wait until all its threads are blocked (state S). */
void wait_blocked(pid_t pid);
/* The path of this build's sonde program, and of a program built with a test. */
const char *sonde_program(void);
const char *test_program(const char *folder, const char *name);
/* Run a line of shell with $SONDE, that program, and $DIR, the test's folder. */
struct test_run shell(const char *line);

/* `message` is one line: not empty, one newline at its end, no control characters, and it holds
 * `part`. */
void check_one_line(const char *message, const char *part);
/* Does it parse? Asks python3. */
void check_json(const char *text);

#endif
