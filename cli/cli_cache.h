// SPDX-License-Identifier: Apache-2.0
/* Index files that were made on the way, kept for the next time: $XDG_CACHE_HOME/sonde/index, else
 * ~/.cache/sonde/index, one BUILD-ID.sndidx each. The folder may be deleted at any time; what is
 * damaged or of another version in it is made again. */
#ifndef SONDE_CLI_CACHE_H
#define SONDE_CLI_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "image_set.h"

enum { SONDE__CLI_CACHE_PATH = 4096 };

/* Where the index of that build-id is kept. False: it has none, or there is no such folder. */
bool sonde__cli_cache_path(const struct sonde__build_id *id, char *ret_path);

/* Keep an index there, for its owner only. What cannot be written is not kept, and nothing is
 * said. */
void sonde__cli_cache_keep(const char *path, const void *data, size_t size);

#endif
