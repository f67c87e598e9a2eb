// SPDX-License-Identifier: Apache-2.0
/* Carries out a decision about a loop: samples its thread, and queues its stall for the writer.
 * Nothing here waits for names or files. */
#ifndef SONDE_WATCH_SAMPLING_H
#define SONDE_WATCH_SAMPLING_H

#include "watch_session.h"

/* The loop waits. Where processors are short, the thread of the next turn may run for a few ms, and
 * then lack a processor until the turn ends: no look would see what it did. So it is sampled as
 * soon as it runs. */
void sonde__watch_await_turn(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                             uint64_t now_ns);
/* A turn is seen for the first time. */
void sonde__watch_begin_turn(struct sonde__watch_session *session, struct sonde__watch_loop *loop);
void sonde__watch_act(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                      enum sonde__watch_action action, uint64_t now_ns);
/* The program has ended during a stall. */
void sonde__watch_report_open(struct sonde__watch_session *session, struct sonde__watch_loop *loop);
/* Report a turn that no look has seen. All of it is uncovered. spent: by its thread, at most. */
void sonde__watch_report_missed(struct sonde__watch_session *session,
                                const struct sonde__watch_loop *loop,
                                const struct sonde__probe_long *turn, uint64_t duration_ns,
                                const struct sonde__watch_spent *spent);

#endif
