// SPDX-License-Identifier: Apache-2.0
/* Deadline scopes of the watched threads (probe_scope.h). Each level of a thread is a loop of the
 * watch like others, whose threshold is the limit of the scope that is open there.
 *
 * One time that a thread lost is one report: what was reported of an inner scope does not count
 * against the scopes around it. Only in a watch of its own process, which can read the labels.
 * Context: the thread that samples. */
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
    uint32_t used; /* threads: the probe takes the first free place */
    struct sonde__watch_scoped *threads[SONDE__PROBE_SCOPE_THREADS]; /* null: never looked at */
};

/* Until the next look at any of them is due; UINT64_MAX: no scope is open. */
uint64_t sonde__watch_scopes_inspect(struct sonde__watch_session *session, uint64_t now_ns,
                                     bool *ret_busy);
/* Is any scope open? Asked before the watch sleeps for good. */
bool sonde__watch_scopes_are_open(const struct sonde__watch_session *session);
/* Has one a stall that is not written yet, or that is in the live file? */
bool sonde__watch_scopes_are_unsettled(const struct sonde__watch_session *session);
uint32_t sonde__watch_scopes_stalled(const struct sonde__watch_session *session);
/* The end of the watch: report stalls that last, and free all. */
void sonde__watch_scopes_finish(struct sonde__watch_session *session);

/* A scope begins, as far as the watch sees: what it is, and its limit. False: it changes just now.
 */
bool sonde__watch_scope_begin(struct sonde__watch_loop *loop, uint64_t since_ns);
/* Is a stall of it to be reported? If so, it counts for the scopes around it. */
bool sonde__watch_scope_reports(struct sonde__watch_loop *loop, uint64_t duration_ns);
/* What a scope that is over is called. */
void sonde__watch_scope_name(const struct sonde__probe_long *turn, char *ret_text, size_t capacity);

#endif
