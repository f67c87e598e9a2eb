// SPDX-License-Identifier: Apache-2.0
/* The notes of this process (sonde/note.h). Who reads them never waits for who writes. */
#ifndef SONDE_API_WATCH_NOTES_H
#define SONDE_API_WATCH_NOTES_H

#include <stdbool.h>

#include "probe_page.h"
#include "watch_note.h"

/* As they are now, and the phase of a loop. False: there is nothing. Context: the watch's thread.
 */
bool sonde__api_notes_read(const struct sonde__probe_slot *slot,
                           struct sonde__watch_notes *ret_notes);
/* In a fork child: the thread that was writing may be gone. Context: pthread_atfork. */
void sonde__api_notes_after_fork(void);

#endif
