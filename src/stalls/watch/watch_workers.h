// SPDX-License-Identifier: Apache-2.0
/* Forked children that execute nothing (workers of servers). A child that waits for events takes a
 * page of the shared memory, and gets a supervisor process of its own. At most SONDE__PROBE_WORKERS
 * at a time; more are counted. */
#ifndef SONDE_WATCH_WORKERS_H
#define SONDE_WATCH_WORKERS_H

#include "watch_session.h"

/* Start missing supervisors, in each round of the first supervisor. */
void sonde__watch_attend_workers(struct sonde__watch_session *session, uint64_t now_ns);
/* May a child begin to wait soon? Then the supervisor does not sleep without limit, because a child
 * makes no system call to wake it. */
bool sonde__watch_expects_workers(const struct sonde__watch_session *session, uint64_t now_ns);
/* Report at the end how many there were, and what was not watched. */
void sonde__watch_print_workers(struct sonde__watch_session *session);
/* Free the child's place if the child has ended. Call it at the end of the child's supervisor. */
void sonde__watch_release_worker(struct sonde__watch_session *session);

#endif
