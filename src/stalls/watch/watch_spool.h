// SPDX-License-Identifier: Apache-2.0
/* The files of a watch in the spool folder, from its begin to its end. */
#ifndef SONDE_WATCH_SPOOL_H
#define SONDE_WATCH_SPOOL_H

#include <stdbool.h>

#include <sonde/status.h>

struct sonde__watch_session;

/* Make the files, before the writer is created; false: not asked for, or not possible, which
 * `*ret_error` says. sonde__watch_spool_begin() follows it with a writer, and says why there is no
 * live file. Context: the thread that samples. */
bool sonde__watch_spool_open(struct sonde__watch_session *session, struct sonde_error *ret_error);
void sonde__watch_spool_begin(struct sonde__watch_session *session);
/* In a fork child: close the files of the parent, whose locks say that it lives. Context: handler.
 */
void sonde__watch_spool_leave(const struct sonde__watch_session *session);
/* After the writer's end. */
void sonde__watch_spool_end(struct sonde__watch_session *session);

#endif
