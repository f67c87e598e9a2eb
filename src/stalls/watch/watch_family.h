// SPDX-License-Identifier: Apache-2.0
/* The stacks of all processes that descend from the program, for --timeout: a hanging test mostly
 * waits for one of them.
 *
 * Descendants are found by parent pid. That includes stopped processes and other sessions, but not
 * processes whose parent has ended. They are only read: running threads are sampled by a perf event
 * or not at all. Context: the thread that samples. */
#ifndef SONDE_WATCH_FAMILY_H
#define SONDE_WATCH_FAMILY_H

#include "watch_session.h"

/* Processes that are read. A message tells how many more there are. */
#define SONDE__WATCH_FAMILY_MAX 128u

/* Queue the stacks of each process, and a message for each that could not be read. why: a static
 * string. */
void sonde__watch_show_family(struct sonde__watch_session *session, const char *why);

#endif
