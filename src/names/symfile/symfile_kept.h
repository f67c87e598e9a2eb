// SPDX-License-Identifier: Apache-2.0
/* Index files that were made on the way, kept for the next time: $XDG_CACHE_HOME/sonde/index, else
 * ~/.cache/sonde/index, one BUILD-ID.sndidx each. The folder may be deleted at any time; what is
 * damaged or of another version in it is made again; what was not used for the longest time is
 * removed when it becomes too large, and at once what a writer left that ended in the middle.
 * Context: any thread. */
#ifndef SONDE_SYMFILE_KEPT_H
#define SONDE_SYMFILE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "image_set.h"

enum { SONDE__SYMFILE_KEPT_PATH = 4096 };

/* A file in the user's cache folder: "index/…". False: there is no such folder, or it does not fit.
 * ret_path has room for SONDE__SYMFILE_KEPT_PATH bytes. */
bool symfile_cache_file(const char *name, char *ret_path);

/* Where the index of that build-id is kept. False: it has none, or there is no such folder. */
bool sonde__symfile_kept_path(const struct sonde__build_id *id, char *ret_path);

/* Keep an index there, for its owner only. What cannot be written is not kept, and nothing is
 * said. */
void symfile_keep(const char *path, const void *data, size_t size);

/* Take note that it was used. */
void symfile_kept_used(const char *path);

/* The build-id as text; "" when there is none. And from lower-case digits, in pairs. */
enum { SONDE__SYMFILE_ID_TEXT = 2 * SONDE__BUILD_ID_MAX + 1 };
bool sonde__symfile_id_parse(const char *text, struct sonde__build_id *ret_id);
void sonde__symfile_id_text(const struct sonde__build_id *id, char *ret_text);

#endif
