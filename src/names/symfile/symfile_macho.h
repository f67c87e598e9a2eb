// SPDX-License-Identifier: Apache-2.0
/* Opens a Mach-O and the file with its debug information: the Mach-O itself, or the dSYM bundle
 * with the same UUID. Context: any thread.
 *
 * A bundle is a folder NAME.dSYM with files in Contents/Resources/DWARF. It is searched next to the
 * file, next to each folder above that could be the application's bundle
 * (App.app/Contents/MacOS/App -> App.app.dSYM), and in the user's folders. */
#ifndef SONDE_SYMFILE_MACHO_H
#define SONDE_SYMFILE_MACHO_H

#include <sonde/status.h>

#include "host_file.h"
#include "image_macho.h"

/* Universal files of today have up to five. */
#define SONDE__SYMFILE_SLICES_MAX 16u

struct sonde__symfile_macho {
    struct sonde__macho own;
    struct sonde__macho debug; /* the same as `own` if there is no other */
    bool separate;             /* debug is another file */
    struct sonde__host_file own_file, debug_file;
};

struct sonde__symfile_macho_wanted {
    const struct sonde__build_id *uuid; /* null or of size 0: any */
    const char *arch;                   /* "arm64", ...; null: any */
    const char *const *folders;         /* with dSYM bundles */
    unsigned folder_count;
};

/* Open a file or a dSYM bundle. If nothing is wanted, the file must contain one Mach-O. Returns OK
 * | ABSENT (no such file, or without that UUID or machine) | DENIED | UNSUPPORTED (not a Mach-O;
 * several, and none was chosen; an archive) | CORRUPT | LIMIT | OS. Ownership: release with
 * _close(). */
SONDE_NODISCARD enum sonde_status
sonde__symfile_macho_open(const char *path, const struct sonde__symfile_macho_wanted *wanted,
                          struct sonde__symfile_macho *ret_macho, struct sonde_error *ret_error);
void sonde__symfile_macho_close(struct sonde__symfile_macho *macho);

/* Find the dSYM file with that UUID in a folder (FOLDER/NAME.dSYM/...). False: none. `path` has
 * room for `size` bytes. */
bool sonde__symfile_macho_find(const char *folder, const struct sonde__build_id *uuid, char *path,
                               size_t size);

/* List the Mach-Os of a file or bundle, at most SONDE__SYMFILE_SLICES_MAX, with UUID (size 0: none)
 * and machine; archives have none. Returns the number; 0: not a Mach-O. */
struct sonde__symfile_slice {
    struct sonde__build_id uuid;
    const char *arch;
};
unsigned sonde__symfile_macho_slices(const char *path, struct sonde__symfile_slice *ret_slices);

#endif
