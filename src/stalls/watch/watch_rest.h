// SPDX-License-Identifier: Apache-2.0
/* The pause between two rounds: how long, and what ends it. */
#ifndef SONDE_WATCH_REST_H
#define SONDE_WATCH_REST_H

#include "watch_session.h"

/* Wait until a round is due. wait_ns: the loops' wish; limit_ns: no longer than this, UINT64_MAX if
 * nothing is planned. runs: the program can be watched. Returns SONDE__HOST_* events. Context: the
 * thread that samples. */
uint32_t sonde__watch_rest(struct sonde__watch_session *session, uint64_t now_ns, uint64_t wait_ns,
                           uint64_t limit_ns, bool runs);

#endif
