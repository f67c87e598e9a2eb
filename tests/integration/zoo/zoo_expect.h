// SPDX-License-Identifier: Apache-2.0
/* A program of the zoo with known stalls, durations and loop, and an idle one. */
#ifndef SONDE_TEST_ZOO_EXPECT_H
#define SONDE_TEST_ZOO_EXPECT_H

#include "zoo.h"

/* The argument to be idle for so many milliseconds. */
#define ZOO_IDLE "5000"

/* Each injected stall is found in the main thread, in a loop of this kind ("condition"), with its
 * duration and on its path. */
void zoo_find(const char *const argv[], const char *loop);
/* No stall, and at least so many turns. */
void zoo_silent(const char *const argv[], unsigned turns);

#endif
