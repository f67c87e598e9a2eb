// SPDX-License-Identifier: Apache-2.0
/* Opens the types (types.h) of a program, library, debug file or dSYM bundle. Debug information is
 * found, checked and inflated as for indexes. Context: any thread, one at a time. */
#ifndef SONDE_SYMFILE_TYPES_H
#define SONDE_SYMFILE_TYPES_H

#include "symfile_dwarf.h"
#include "symfile_index_file.h"
#include "symfile_macho.h"
#include "types.h"

/* Must not be copied: it has pointers into itself. */
struct sonde__symfile_types {
    struct sonde__types *types;
    const char *damage; /* of sections that could not be read completely (static text), or null */
    /* private */
    struct sonde__symfile_pair pair;
    struct sonde__symfile_dwarf dwarf;
    struct sonde__symfile_macho macho;
    struct sonde__dwarf_sections sections;
    bool has_pair, has_dwarf, has_macho;
};

/* wanted: the machine of a universal file; may be null. Returns OK | ABSENT (no such file, or no
 * debug information, which sets `ret_no_debug`) | DENIED | UNSUPPORTED (neither ELF nor Mach-O;
 * compressed sections of a Mach-O) | CORRUPT | LIMIT | MEMORY | OS. Ownership: release with
 * _close(). */
SONDE_NODISCARD enum sonde_status
sonde__symfile_types_open(const struct sonde__symfile_options *options, const char *path,
                          const struct sonde__symfile_index_wanted *wanted,
                          struct sonde__symfile_types *ret_types, bool *ret_no_debug,
                          struct sonde_error *ret_error);
void sonde__symfile_types_close(struct sonde__symfile_types *types);

#endif
