// SPDX-License-Identifier: Apache-2.0
/* A session of the watch that a test makes, and whose waits it makes. */
#ifndef TEST_SESSION_H
#define TEST_SESSION_H

#include "probe_scope.h"
#include "probe_turn.h"
#include "watch_rounds.h"

#define MS 1000000ull

enum { GIVE_UP = 4000 }; /* waits after which a test ends a session that has not ended */

/* Of this process, with a threshold of 250 ms and without samples. ctx: of the session and of its
 * callbacks. free_session() frees it. */
struct sonde__watch_session *make_session(void *ctx);
void free_session(struct sonde__watch_session *s);

#endif
