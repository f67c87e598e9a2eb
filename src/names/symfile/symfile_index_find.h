// SPDX-License-Identifier: Apache-2.0
/* Finds the index of an image on this machine by its build-id and its path. The first of:
 *
 *     1. in each of the user's folders: FOLDER/ID.sndidx, FOLDER/.build-id/xx/rest.debug, a dSYM,
 *        the index of a Breakpad file that has only the first 16 bytes of ID
 *     2. the image's file, with the separate file that symfile_cache.h finds for it
 *     3. the kept index (symfile_kept.h)
 *     4. the debug root; debuginfod's cache; debuginfod
 *
 * Context: any thread, one at a time. */
#ifndef SONDE_SYMFILE_INDEX_FIND_H
#define SONDE_SYMFILE_INDEX_FIND_H

#include "symfile_index_file.h"
#include "symfile_macho.h"

struct sonde__symfile_index_sought {
    const char *path;          /* of the image's file; null: unknown */
    struct sonde__build_id id; /* size 0: any */
    const char *arch;          /* chooses a Mach-O in a universal file ("arm64"); null: any */
    enum sonde__symfile_index_make make;
};

/* options: as for sonde__symfile_index_file_open(). Returns OK | ABSENT (nothing found, or only
 * files with another build-id) | the first failure of a file that was found. Must not be copied. */
SONDE_NODISCARD enum sonde_status sonde__symfile_index_find(
    const struct sonde__symfile_options *options, const struct sonde__symfile_index_sought *sought,
    struct sonde__symfile_index_file *ret_index, struct sonde_error *ret_error);

/* List the build-ids of a program, library or Breakpad file, a Mach-O's for each machine; those of
 * others have no machine. At most SONDE__SYMFILE_SLICES_MAX. Returns the number; 0: it is neither.
 */
unsigned sonde__symfile_ids(const char *path, struct sonde__symfile_slice *ret_slices);

/* FOLDER/ID.sndidx. False: it does not fit. ret_path has room for SYMFILE_PATH_BYTES. */
bool symfile_index_path(const char *folder, size_t folder_size, const struct sonde__build_id *id,
                        char *ret_path);

#endif
