// SPDX-License-Identifier: Apache-2.0
/* Samples the thread of a loop in a turn. Nothing here waits for names or files. */
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
/* Before the first sample of a turn. */
void sonde__watch_begin_sampling(struct sonde__watch_session *session,
                                 struct sonde__watch_loop *loop, uint64_t now_ns);
void sonde__watch_take_sample(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                              uint64_t now_ns);
/* The turn has ended: what its thread did after the last sample. */
void sonde__watch_end_samples(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                              uint64_t duration_ns);
/* Is the thread still in the sampled turn? A sample of the loop's own wait is never kept. */
bool sonde__watch_is_still_busy(const struct sonde__watch_loop *loop);

#endif
