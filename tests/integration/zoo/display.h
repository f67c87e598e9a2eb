// SPDX-License-Identifier: Apache-2.0
/* An X server without a screen, for one test, and its place in the environment. */
#ifndef SONDE_TEST_DISPLAY_H
#define SONDE_TEST_DISPLAY_H

#include <sys/types.h>

#include "programs.h"

/* Start Xvfb and set DISPLAY. False: Xvfb is not on PATH (./dev setup test). */
bool display_start(void);
void display_end(void);
/* The server's. */
pid_t display_pid(void);

/* "NAME=VALUE" for the programs that the test starts; four in a test. */
void environment_add(const char *assignment);

#endif
