// SPDX-License-Identifier: Apache-2.0
/* What ended a wait whose owner no lock records: a condition, a semaphore, or another futex. A
 * runtime may keep a thread from its loop as long as another one does not go on: GHC's threads
 * share a few places to run Haskell code, and a foreign call that blocks keeps its place.
 *
 * Only what was seen is said: the wait began during the stall of another thread, and both were over
 * at the same time. Context: the thread that samples. */
#ifndef SONDE_WATCH_RELEASE_H
#define SONDE_WATCH_RELEASE_H

#include "watch_session.h"

/* Call it when a stall has ended, before it is reported: if it ended with that of another thread,
 * its cause says so. Keeps its times for the stalls that end after it. */
void sonde__watch_note_release(struct sonde__watch_session *session,
                               struct sonde__watch_loop *loop);

#endif
