// SPDX-License-Identifier: Apache-2.0
/* What a stalled thread waits for, and who has it: when the stall is confirmed, also of the threads
 * that the answer leads to (the owner of a lock, and what that one waits for); later, when the
 * thread waits in another call.
 *
 * It is found on the thread that samples, because it must be read while the thread waits. So it is
 * bounded: the chain of owners, and a search of all processes once a stall and not more often than
 * once in four seconds. Context: the thread that samples. */
#ifndef SONDE_WATCH_CAUSE_H
#define SONDE_WATCH_CAUSE_H

#include "cause.h"
#include "watch_capture.h"
#include "watch_stall.h"

/* CPU time of a search for the other ends of pipes and sockets: some 2,000 descriptors. */
#define SONDE__WATCH_CAUSE_SEARCH_NS        ((uint64_t)8 * 1000000u)
#define SONDE__WATCH_CAUSE_SEARCH_PERIOD_NS ((uint64_t)4000 * 1000000u)

/* The stall is confirmed and has its samples and other threads. search: all processes may be
 * searched. Returns whether there is a circle of waits that the thread is in, or leads to. */
bool sonde__watch_cause_begin(struct sonde__watch_sampler *sampler,
                              struct sonde__watch_stall *stall, bool search,
                              struct sonde__cause_circle *ret_circle);
/* The stall has got another sample; nothing before _begin(). */
void sonde__watch_cause_change(struct sonde__watch_sampler *sampler,
                               struct sonde__watch_stall *stall);

#endif
