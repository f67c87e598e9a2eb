// SPDX-License-Identifier: Apache-2.0
/* A descriptor at which several threads wait by turns. As long as one of them waits there, the
 * loops of the others are attended, whatever they do. Erlang's schedulers do so. Without work they
 * all sleep in the function where they would wait for the descriptor: that is no stall either.
 *
 * A runtime may also move whole loops between its threads (GHC): one thread then waits where
 * another one used to. Neither is stalled, and each has to learn its loop anew. Pure. Context: any
 * thread. */
#ifndef SONDE_WATCH_SHARED_H
#define SONDE_WATCH_SHARED_H

#include "probe_page.h"

/* Stack pointers of two calls from one function differ by at most this, with small frames in
 * between. */
#define SONDE__WATCH_SHARED_BYTES 256u

/* Does the turn of `slot` not count, because another thread attends to the loop or all sleep?
 * count: slots of the page in use. waits: its thread is blocked. */
bool sonde__watch_is_attended(const struct sonde__probe_page *page, uint32_t count,
                              const struct sonde__probe_slot *slot, bool waits);
/* Has another thread than that of `slot` waited on this epoll descriptor? */
bool sonde__watch_is_shared(const struct sonde__probe_page *page, uint32_t count,
                            const struct sonde__probe_slot *slot, uint64_t descriptor);
/* Has the thread left its loop for one that belonged to another thread? */
bool sonde__watch_has_moved(const struct sonde__probe_page *page, uint32_t count,
                            const struct sonde__probe_slot *slot);

#endif
