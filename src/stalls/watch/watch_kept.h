// SPDX-License-Identifier: Apache-2.0
/* The live file of a plugin: what was recorded so far, as a whole report without names, written
 * anew twice a second and renamed. The program does not take part: its calls cost the same, and
 * whichever processes are killed, the file has each count as of the last look. Context: the thread
 * that samples. */
#ifndef SONDE_WATCH_KEPT_H
#define SONDE_WATCH_KEPT_H

#include <stdint.h>

struct sonde__watch_session;

/* Once there is a writer; and when the report in the spool folder is complete. */
void sonde__watch_keep_begin(struct sonde__watch_session *session);
void sonde__watch_keep_end(struct sonde__watch_session *session);
/* Time until the next look; UINT64_MAX: there is no such file. */
uint64_t sonde__watch_until_kept(const struct sonde__watch_session *session, uint64_t now_ns);
/* Look. */
void sonde__watch_keep(struct sonde__watch_session *session, uint64_t now_ns);

#endif
