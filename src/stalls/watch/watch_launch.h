// SPDX-License-Identifier: Apache-2.0
/* The launch of a program: from its start to the first wait of its main thread's loop.
 *
 * A loop is known only after several turns. Until then the launch is watched like one long turn; it
 * ends at the loop's first wait, by the probe's stamp, and later samples are dropped. A program
 * that has no loop after a minute has no launch. Loops that only pass time or wait for other
 * threads (weak kinds) do not count, because start-up code does the same. Context: the thread that
 * samples. */
#ifndef SONDE_WATCH_LAUNCH_H
#define SONDE_WATCH_LAUNCH_H

#include "watch_session.h"

/* After this time without a loop, none is expected. */
#define SONDE__WATCH_LAUNCH_MAX_NS ((uint64_t)60 * 1000000000u)
/* A loop ends the launch only after this time or SONDE__PROBE_YOUNG_TURNS turns: start-up code may
 * wait a few times for one thing. */
#define SONDE__WATCH_LAUNCH_RIPE_NS ((uint64_t)2 * 1000000000u)

/* Call it when the session begins. Does nothing without options.launch_ns. */
void sonde__watch_launch_begin(struct sonde__watch_session *session);
/* As sonde__watch_loop_inspect(). */
uint64_t sonde__watch_launch_inspect(struct sonde__watch_session *session, uint64_t now_ns,
                                     bool *ret_busy);
/* Call it when the program or the watch ends. */
void sonde__watch_launch_finish(struct sonde__watch_session *session);
/* Forget the launch: the program has executed another one. */
void sonde__watch_launch_drop(struct sonde__watch_session *session);

#endif
