// SPDX-License-Identifier: Apache-2.0
/* The main loop of a watch. */
#ifndef SONDE_WATCH_ROUNDS_H
#define SONDE_WATCH_ROUNDS_H

#include "watch_session.h"

/* Watch until `wait` reports the end, write the end of the report, and free sampler and output. The
 * caller has set options, page, carry, pid, wait and output. */
void sonde__watch_session_run(struct sonde__watch_session *session);

/* Report once what the system refuses to the supervisor (sonde__host_waiter_doubt()). */
void sonde__watch_print_doubt(struct sonde__watch_session *session);

#endif
