// SPDX-License-Identifier: Apache-2.0
/* Deadline scopes of the watched threads (probe_scope.h). Each nesting level of a thread is treated
 * as a loop, with the limit of its open scope as the threshold.
 *
 * Lost time is reported once: time reported for an inner scope does not count against the scopes
 * around it. Scopes exist only in a watch of its own process, which can read the labels. Context:
 * the thread that samples. */
#ifndef SONDE_WATCH_SCOPES_H
#define SONDE_WATCH_SCOPES_H

#include "probe_scope.h"
#include "watch_session.h"

struct sonde__probe_long; /* probe_page.h */

/* The levels of one thread. */
struct sonde__watch_scoped {
    uint32_t used; /* levels that have had a scope */
    struct sonde__watch_loop levels[SONDE__PROBE_SCOPE_LEVELS];
};

struct sonde__watch_scope_list {
    uint32_t used; /* places in use: the probe takes the first free one */
    struct sonde__watch_scoped *threads[SONDE__PROBE_SCOPE_THREADS]; /* null: never looked at */
};

/* Inspect all scopes. Returns the time until the next look is due; UINT64_MAX: no scope is open. */
uint64_t sonde__watch_scopes_inspect(struct sonde__watch_session *session, uint64_t now_ns,
                                     bool *ret_busy);
/* Is any scope open? Asked before the watch sleeps for good. */
bool sonde__watch_scopes_are_open(const struct sonde__watch_session *session);
/* Does any scope have a stall that is not written yet, or is in the live file? */
bool sonde__watch_scopes_are_unsettled(const struct sonde__watch_session *session);
uint32_t sonde__watch_scopes_stalled(const struct sonde__watch_session *session);
/* The watch ends: report open stalls, and free all. */
void sonde__watch_scopes_finish(struct sonde__watch_session *session);

/* The watch sees a new scope: read its name and limit. False: the program is changing the scope
 * now. */
bool sonde__watch_scope_begin(struct sonde__watch_loop *loop, uint64_t since_ns);
/* Report this stall? If so, its time counts for the scopes around it. */
bool sonde__watch_scope_reports(struct sonde__watch_loop *loop, uint64_t duration_ns);
/* The name of a scope that has ended. */
void sonde__watch_scope_name(const struct sonde__probe_long *turn, char *ret_text, size_t capacity);

#endif
