// SPDX-License-Identifier: Apache-2.0
/* What a stalled thread waits for, and its owner. When the stall is confirmed, the chain of owners
 * is followed: the owner of a lock, what that owner waits for, and so on. The thread is examined
 * again when it waits in another call.
 *
 * The cause must be read while the thread waits, so the thread that samples reads it. The work is
 * therefore bounded: the length of the chain, and one search of all processes per stall and per
 * four seconds. Context: the thread that samples. */
#ifndef SONDE_SAMPLER_CAUSE_H
#define SONDE_SAMPLER_CAUSE_H

#include "cause.h"
#include "sampler.h"
#include "sampler_stall.h"

/* CPU time of a search for the other ends of pipes and sockets: enough for some 2,000
 * descriptors. */
#define SONDE__SAMPLER_CAUSE_SEARCH_NS        ((uint64_t)8 * 1000000u)
#define SONDE__SAMPLER_CAUSE_SEARCH_PERIOD_NS ((uint64_t)4000 * 1000000u)

/* Call it when the stall is confirmed and has its samples and other threads. search: all processes
 * may be searched. Returns true if the thread is in a circle of waits, or waits for one. */
bool sonde__sampler_cause_begin(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall,
                                bool search, struct sonde__cause_circle *ret_circle);
/* Call it while the stall goes on: at each doubling of its length, examine the thread at the end of
 * the chain again, which did not wait when the stall was confirmed, and follow the chain from
 * there. So a circle that closes later is found. Returns true for a new circle. */
bool sonde__sampler_cause_again(struct sonde__sampler *sampler, struct sonde__sampler_stall *stall,
                                uint64_t counted_ns, struct sonde__cause_circle *ret_circle);
/* Call it after each further sample. Does nothing before _begin(). */
void sonde__sampler_cause_change(struct sonde__sampler *sampler,
                                 struct sonde__sampler_stall *stall);

#endif
