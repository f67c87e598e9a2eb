// SPDX-License-Identifier: Apache-2.0
/* The sender's files in a spool folder. Context: any thread. */
#ifndef SONDE_UPLOAD_FOLDER_H
#define SONDE_UPLOAD_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <sonde/status.h>

#include "upload_state.h"

/* Lock out other senders until the descriptor is closed. Returns OK | BUSY | DENIED | LIMIT |
 * OS. */
SONDE_NODISCARD enum sonde_status sonde__upload_lock(int32_t folder, int32_t *ret_fd,
                                                     struct sonde_error *ret_error);

/* Read the state in a file; all zero if there is none or it cannot be read. */
void sonde__upload_load(int32_t folder, const char *name, struct sonde__upload_state *ret_state);
/* Replace the state atomically: after a kill the file has the old or the new state. The caller
 * holds the lock. Returns 0 or an errno. */
int sonde__upload_keep(int32_t folder, const char *name, const struct sonde__upload_state *state);

/* Open and lock the report of a finished run. False: not finished, or gone. */
bool sonde__upload_take(int32_t folder, const char *run, int32_t *ret_fd);

/* Remove states whose reports were sent or removed by a cap. */
void sonde__upload_remove_orphans(int32_t folder);

/* The id of the report in these bytes; "": none. */
void sonde__upload_id_of(const void *bytes, size_t size, char *ret_id, size_t capacity);

#endif
