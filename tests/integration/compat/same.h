// SPDX-License-Identifier: Apache-2.0
/* One program, run plain and watched from the same parent: the results must be equal. */
#ifndef SONDE_TEST_SAME_H
#define SONDE_TEST_SAME_H

#include "programs.h"
#include "test.h"

enum { SAME_TIMEOUT_S = 60 };

/* Both runs give the same stdout, stderr (but for lines that sonde adds) and status, and
 * the plain one ends with `status`. input may be null. */
void check_same(const char *const argv[], const char *input, int status);
/* The same for a script of bash in which "$@" stands before each program that is watched: nothing,
 * or `sonde run --report FILE --`. $PROGRAMS is the folder of this test's programs, $SCRIPTS that
 * of its sources, $FOLDER a fresh folder for each run. Gives the plain output back where ret_out is
 * not null; caller frees. */
void check_script(const char *script, const char *input, int status, char **ret_out);
/* The same with `sonde run --follow`. */
void check_followed(const char *script, int status, char **ret_out);

#endif
