// SPDX-License-Identifier: Apache-2.0
/* The files of a watch in the spool folder. */
#ifndef SONDE_WATCH_SPOOL_H
#define SONDE_WATCH_SPOOL_H

#include <stdbool.h>

#include <sonde/status.h>

struct sonde__watch_session;

/* Create the files, before the writer is created. False: not asked for, or failed (`*ret_error`).
 * sonde__watch_spool_begin() follows it, once there is a writer, and reports why there is no live
 * file. Context: the thread that samples. */
bool sonde__watch_spool_open(struct sonde__watch_session *session, struct sonde_error *ret_error);
void sonde__watch_spool_begin(struct sonde__watch_session *session);
/* In a forked child: close the parent's files, whose locks show that the parent lives. Context:
 * handler. */
void sonde__watch_spool_leave(const struct sonde__watch_session *session);
/* Call it after the writer has finished. */
void sonde__watch_spool_end(struct sonde__watch_session *session);

#endif
