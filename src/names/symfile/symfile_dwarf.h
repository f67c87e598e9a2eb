// SPDX-License-Identifier: Apache-2.0
/* All debug information of a file: its own sections, inflated; dwz's supplementary file; the split
 * units of its skeletons, from .dwo files or a .dwp package.
 *
 * Further files are checked: by build-id, or by the id that a skeleton and its split unit share.
 * Search order: the supplementary file by the name in .gnu_debugaltlink (or .debug_sup), from the
 * folder of the file that names it; by its base name under DEBUG_ROOT/.dwz; by its build-id under
 * DEBUG_ROOT/.build-id. A package next to the file or its debug file (FILE.dwp). A .dwo by its name
 * in the folder where it was compiled, then next to those files. Context: any thread, one at a
 * time. */
#ifndef SONDE_SYMFILE_DWARF_H
#define SONDE_SYMFILE_DWARF_H

#include "dwarf_split.h"
#include "mem_table.h"
#include "symfile_open.h"
#include "symfile_sections.h"

/* Must not be copied: it has pointers into itself. */
struct sonde__symfile_dwarf {
    struct sonde__dwarf_sections sections;
    const char *damage; /* of sections that could not be read completely (static text), or null */
    /* for the search of split units */
    const struct sonde__symfile_options *options;
    const struct sonde__symfile_pair *pair;
    struct sonde__symfile_sections own, common;
    struct sonde__host_file common_file;
    struct symfile_split_file *package, *files;
    bool package_tried;
    struct symfile_given *given; /* split units and the skeletons that got them */
    size_t given_count, given_capacity;
    struct sonde__mem_table given_table; /* by id of the split unit */
};

/* `options` and `pair` must outlive it. Returns as sonde__symfile_sections_open(); a missing
 * supplementary file counts as damage. Ownership: release with _close(). */
SONDE_NODISCARD enum sonde_status
sonde__symfile_dwarf_open(const struct sonde__symfile_options *options,
                          const struct sonde__symfile_pair *pair,
                          struct sonde__symfile_dwarf *ret_dwarf, struct sonde_error *ret_error);
void sonde__symfile_dwarf_close(struct sonde__symfile_dwarf *dwarf);

/* A sonde__symindex_source split callback; ctx is `dwarf`. False: not found, or given to an earlier
 * skeleton. The result lives as long as `dwarf`. */
bool sonde__symfile_dwarf_split(void *dwarf, const struct sonde__dwarf_unit *skeleton,
                                struct sonde__dwarf_split *ret_split);

/* The type unit of a signature in the file's package. False: none. Same lifetime. */
bool sonde__symfile_dwarf_type(void *dwarf, uint64_t signature,
                               struct sonde__dwarf_split *ret_split);
/* The signature in slot `index` of the package's type units, 0: free slot. False: no more. */
bool sonde__symfile_dwarf_type_at(void *dwarf, uint32_t index, uint64_t *ret_signature);

#endif
