// SPDX-License-Identifier: Apache-2.0
/* Carries out a decision about a loop: from the first sample of a turn to the stall that is queued
 * for the writer. Nothing here waits for names or files. */
#ifndef SONDE_WATCH_STALLED_H
#define SONDE_WATCH_STALLED_H

#include "watch_session.h"

void sonde__watch_act(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                      enum sonde__decide_action action, uint64_t now_ns);
/* The program has ended during a stall. */
void sonde__watch_report_open(struct sonde__watch_session *session, struct sonde__watch_loop *loop);
/* Report a turn that no look has seen, or keep an early one. All of it is uncovered. spent: by its
 * thread, at most. */
void sonde__watch_report_missed(struct sonde__watch_session *session,
                                struct sonde__watch_loop *loop,
                                const struct sonde__probe_long *turn, uint64_t duration_ns,
                                const struct sonde__decide_spent *spent);

#endif
