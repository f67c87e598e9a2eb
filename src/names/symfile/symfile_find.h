// SPDX-License-Identifier: Apache-2.0
/* Finds the files of one image: its own, and its separate debug file. Candidates are checked by
 * build-id, or, without one, by the debug link's CRC. Context: any thread. */
#ifndef SONDE_SYMFILE_FIND_H
#define SONDE_SYMFILE_FIND_H

#include "host_file.h"
#include "image_elf.h"
#include "image_set.h"
#include "symfile_cache.h"

/* A mapped file and its ELF view. */
struct symfile_view {
    struct sonde__host_file file;
    char *path; /* below its root; null: no memory */
    struct sonde__elf elf;
};

/* Open the ELF at a path below root. */
SONDE_NODISCARD enum sonde_status symfile_view_open(const char *root, const char *path,
                                                    struct symfile_view *ret_view,
                                                    struct sonde_error *ret_error);
void symfile_view_done(struct symfile_view *view);

bool symfile_same_build_id(const struct sonde__build_id *a, const struct sonde__build_id *b);

/* ROOT/.build-id/xx/rest.debug. False: it does not fit. */
bool symfile_build_id_path(const char *debug_root, const struct sonde__build_id *id, char *ret_path,
                           size_t size);

/* The image's own file. */
SONDE_NODISCARD enum sonde_status symfile_find_own(const struct sonde__symfile_options *options,
                                                   const struct sonde__image *image,
                                                   struct symfile_view *ret_view,
                                                   struct sonde_error *ret_error);

/* Linux' PATH_MAX; a longer path is truncated and so not found. */
#define SYMFILE_PATH_BYTES 4096

/* Find the separate debug file. own: the image's view, or null. False: no match. */
bool symfile_find_debug(const struct sonde__symfile_options *options,
                        const struct sonde__image *image, const struct sonde__elf *own,
                        struct symfile_view *ret_view);

/* Path of the debug file with that build-id, cached or fetched now (symfile_fetch.h). False: none.
 * ret_path has room for SYMFILE_PATH_BYTES. */
bool symfile_fetched(const struct sonde__symfile_options *options, const struct sonde__build_id *id,
                     char *ret_path);

#endif
