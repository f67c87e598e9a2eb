// SPDX-License-Identifier: Apache-2.0
/* The stacks of all processes that descend from the program, for --timeout: a test that hangs
 * mostly waits for one of them.
 *
 * They are found by parents, so also those of other sessions and stopped ones, but not those whose
 * parent has ended. They are only read: what runs is sampled by a perf event or not at all.
 * Context: the thread that samples. */
#ifndef SONDE_WATCH_FAMILY_H
#define SONDE_WATCH_FAMILY_H

#include "watch_session.h"

/* Processes that are looked at. How many more there are is said. */
#define SONDE__WATCH_FAMILY_MAX 128u

/* Queue the stacks of each; says which processes could not be read, and why. why: a static string.
 */
void sonde__watch_show_family(struct sonde__watch_session *session, const char *why);

#endif
