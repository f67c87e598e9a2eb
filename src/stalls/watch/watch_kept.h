// SPDX-License-Identifier: Apache-2.0
/* The live file of a plugin: what was recorded so far, as a whole report without names, written
 * anew twice a second and renamed. The program does not take part: its calls cost the same, and
 * whichever processes are killed, the file has each count as of the last look. Context: the thread
 * that samples. */
#ifndef SONDE_WATCH_KEPT_H
#define SONDE_WATCH_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct sonde__report;
struct sonde__spool_session;
struct sonde__watch_plugin;
struct sonde__watch_session;

/* One look, also of a recording without a watch: replace the live file by a report with the header
 * and the process of `like`, which plugin->keep fills. again: also if nothing has changed.
 * since_ns: the time since the recording began. Returns 0 or an errno; then the old file stays. */
int sonde__watch_keep_look(struct sonde__spool_session *spool, const struct sonde__report *like,
                           const struct sonde__watch_plugin *plugin, const void *memory, bool again,
                           uint64_t since_ns);

/* Once there is a writer; and when the report in the spool folder is complete. */
void sonde__watch_keep_begin(struct sonde__watch_session *session);
void sonde__watch_keep_end(struct sonde__watch_session *session);
/* Time until the next look; UINT64_MAX: there is no such file. */
uint64_t sonde__watch_until_kept(const struct sonde__watch_session *session, uint64_t now_ns);
/* Look. */
void sonde__watch_keep(struct sonde__watch_session *session, uint64_t now_ns);

#endif
