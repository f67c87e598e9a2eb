// SPDX-License-Identifier: Apache-2.0
/* The cache of index files: $XDG_CACHE_HOME/sonde/index, else ~/.cache/sonde/index, with one
 * BUILD-ID.sndidx per image. The folder may be deleted at any time. Damaged files and those of
 * other versions are made again. If the cache is too large, the least recently used files are
 * removed; incomplete files of a dead writer are removed at once. Context: any thread. */
#ifndef SONDE_SYMFILE_KEPT_H
#define SONDE_SYMFILE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "image_set.h"

enum { SONDE__SYMFILE_KEPT_PATH = 4096 };

/* Path of a file in the user's cache folder: "index/…". False: no such folder, or the path does not
 * fit. ret_path has room for SONDE__SYMFILE_KEPT_PATH bytes. */
bool symfile_cache_file(const char *name, char *ret_path);

/* Path of the kept index with that build-id. False: no build-id, or no such folder. */
bool sonde__symfile_kept_path(const struct sonde__build_id *id, char *ret_path);

/* Keep an index there, readable by its owner only. Errors are ignored. */
void symfile_keep(const char *path, const void *data, size_t size);

/* Mark it as used. */
void symfile_kept_used(const char *path);

/* A Breakpad file may have only the first 16 bytes of an ELF's build-id (breakpad.h). Those bytes
 * of a longer one; false: it is not longer. */
bool sonde__symfile_short_id(const struct sonde__build_id *id, struct sonde__build_id *ret_short);
/* Do symbols with the build-id `of` belong to an image with `id`? They do if both are equal, or
 * `of` is the short one of `id`. */
bool sonde__symfile_belongs(const struct sonde__build_id *of, const struct sonde__build_id *id);

/* A build-id to text ("" for none), and from pairs of lower-case hexadecimal digits. */
enum { SONDE__SYMFILE_ID_TEXT = 2 * SONDE__BUILD_ID_MAX + 1 };
bool sonde__symfile_id_parse(const char *text, struct sonde__build_id *ret_id);
void sonde__symfile_id_text(const struct sonde__build_id *id, char *ret_text);

#endif
