// SPDX-License-Identifier: Apache-2.0
/* Stalls in the first turns of a loop, before it is known (probe_early.h).
 *
 * An early turn is sampled like every other one. If it was a stall, it is kept until the probe
 * knows the loop, and reported if the wait at both of its ends has proved to be the loop's; else it
 * is forgotten. It is in no live file, and a program that does not come back from it has no stall:
 * what waits once on an epoll descriptor and then works, is no loop. That is only said. Context:
 * the thread that samples. */
#ifndef SONDE_WATCH_EARLY_H
#define SONDE_WATCH_EARLY_H

#include "entry_record.h"
#include "watch_session.h"

/* Stalls kept of one thread: a loop is known after three waits. Later ones are counted only. */
#define SONDE__WATCH_EARLY_STALLS 4u
/* After so long an early turn is given up: the thread does something else. */
#define SONDE__WATCH_EARLY_MAX_NS ((uint64_t)60 * 1000000000u)

/* The wait that the thread's turns begin with: its loop, or what may be it. */
const volatile struct sonde__probe_candidate *
sonde__watch_early_wait(const struct sonde__probe_slot *slot);
/* Is this state of a slot an early turn that is still watched at now_ns? */
bool sonde__watch_early_lasts(uint64_t beat, uint64_t now_ns);
/* Is it one that is watched no more: old, or its descriptor is closed or another thread's? */
bool sonde__watch_early_rests(const struct sonde__watch_loop *loop, uint64_t beat, uint64_t now_ns);

/* A turn begins. */
void sonde__watch_early_begin(struct sonde__watch_loop *loop, bool early);
/* Has the early turn ended at a wait of its own kind? */
bool sonde__watch_early_has_end(const struct sonde__watch_loop *loop);
/* The thread has not come back for duration_ns, and is watched no more: say so. Nothing is said if
 * the turn has ended elsewhere. */
void sonde__watch_early_tell(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                             uint64_t duration_ns);
/* The turn since since_ns was a stall. most_ns: it may have lasted so long. Ownership: takes over
 * what `stall` holds, leaving it empty, and ended->images. */
void sonde__watch_early_keep(struct sonde__watch_session *session, struct sonde__watch_loop *loop,
                             struct sonde__sampler_stall *stall,
                             const struct sonde__entry_ended *ended, uint64_t since_ns,
                             uint64_t most_ns);
/* Report what is kept, or forget it, if it is known what the loop is. */
void sonde__watch_early_settle(struct sonde__watch_session *session,
                               struct sonde__watch_loop *loop);
/* Forget what is kept. */
void sonde__watch_early_drop(struct sonde__watch_loop *loop);
/* The watch ends: say what is left, and forget it. */
void sonde__watch_early_finish(struct sonde__watch_session *session,
                               struct sonde__watch_loop *loop);

#endif
