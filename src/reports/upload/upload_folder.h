// SPDX-License-Identifier: Apache-2.0
/* The sender's files in a spool folder. Context: any thread. */
#ifndef SONDE_UPLOAD_FOLDER_H
#define SONDE_UPLOAD_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <sonde/status.h>

#include "upload_state.h"

/* Hold other senders off until the descriptor is closed. Returns OK | BUSY | DENIED | LIMIT | OS.
 */
SONDE_NODISCARD enum sonde_status sonde__upload_lock(int32_t folder, int32_t *ret_fd,
                                                     struct sonde_error *ret_error);

/* The state in a file; without one, or one that cannot be read, all zero. */
void sonde__upload_load(int32_t folder, const char *name, struct sonde__upload_state *ret_state);
/* Replace it at once: whoever is killed leaves the former one, or this. The lock must be held.
 * Returns 0 or an errno. */
int sonde__upload_keep(int32_t folder, const char *name, const struct sonde__upload_state *state);

/* Open the report of a run that is over, and lock it. False: it is not over, or is gone. */
bool sonde__upload_take(int32_t folder, const char *run, int32_t *ret_fd);

/* States of reports that are gone: sent, or removed by a cap. */
void sonde__upload_remove_orphans(int32_t folder);

/* The id of the report in those bytes; "" where it has none. */
void sonde__upload_id_of(const void *bytes, size_t size, char *ret_id, size_t capacity);

#endif
