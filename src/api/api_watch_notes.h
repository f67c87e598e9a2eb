// SPDX-License-Identifier: Apache-2.0
/* The notes of this process (sonde/note.h). Readers never wait for writers. */
#ifndef SONDE_API_WATCH_NOTES_H
#define SONDE_API_WATCH_NOTES_H

#include <stdbool.h>

#include "probe_page.h"
#include "sampler_note.h"

/* Copy the current notes and a loop's phase. False: none. Context: the watch's thread. */
bool sonde__api_notes_read(const struct sonde__probe_slot *slot,
                           struct sonde__sampler_notes *ret_notes);
/* In a fork child: the writing thread may be gone. Context: pthread_atfork. */
void sonde__api_notes_after_fork(void);

#endif
