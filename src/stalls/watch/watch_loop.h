// SPDX-License-Identifier: Apache-2.0
/* One event loop of the program: detect its stalls, sample its thread, report. */
#ifndef SONDE_WATCH_LOOP_H
#define SONDE_WATCH_LOOP_H

#include "watch_session.h"

/* Inspect the loop's thread, and act on what it does. Returns the time until it is due again.
 * *ret_busy becomes true if the thread is away from its wait. */
uint64_t sonde__watch_loop_inspect(struct sonde__watch_session *session,
                                   struct sonde__watch_loop *loop, uint64_t now_ns, bool *ret_busy);
/* The program has ended: report a stall that is open. */
void sonde__watch_loop_finish(struct sonde__watch_session *session, struct sonde__watch_loop *loop);

#endif
