// SPDX-License-Identifier: Apache-2.0
/* A descriptor at which several threads wait in turns: whatever one of them does, its loop is
 * attended as long as another one waits there. Erlang's schedulers do so, and when there is nothing
 * to do they all sleep, at the place where they would wait for the descriptor: that is no stall
 * either. Pure. Context: any thread. */
#ifndef SONDE_WATCH_SHARED_H
#define SONDE_WATCH_SHARED_H

#include "probe_page.h"

/* Two calls of one function stand so near to each other, with some small ones between. */
#define SONDE__WATCH_SHARED_BYTES 256u

/* Is the turn of `slot`, one of the `count` of the page, none? waits: its thread is blocked. */
bool sonde__watch_is_attended(const struct sonde__probe_page *page, uint32_t count,
                              const struct sonde__probe_slot *slot, bool waits);

#endif
