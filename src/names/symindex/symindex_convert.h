// SPDX-License-Identifier: Apache-2.0
/* Debug information -> index file (docs/index-format.md).
 *
 * Reads the DWARF and the symbol tables of one image once and makes its index. A bad unit is left
 * out and listed in the index. Memory: some 60 bytes for each inlined call. Context: any thread;
 * several conversions may run at once. */
#ifndef SONDE_SYMINDEX_CONVERT_H
#define SONDE_SYMINDEX_CONVERT_H

#include <sonde/status.h>

#include "breakpad.h"
#include "dwarf_split.h"
#include "image_elf.h"
#include "image_macho.h"

struct sonde__symindex_source {
    const struct sonde__elf *debug; /* the file with the DWARF */
    const struct sonde__elf *image; /* the image, if that is another file; or null */
    /* for a Mach-O, with the ELFs null: the dSYM's file, and the image */
    const struct sonde__macho *macho_debug, *macho_image;
    /* a Breakpad symbol file, with all of these null; else null */
    const struct sonde__breakpad *breakpad;
    /* the debug sections, unless they are read from `debug`; else null */
    const struct sonde__dwarf_sections *sections;
    /* Find the split unit of a skeleton; false: not found. If several skeletons claim one, the
     * first gets it; each asks once or twice. Null: there are no split units. The result must
     * outlive the conversion. */
    bool (*split)(void *ctx, const struct sonde__dwarf_unit *skeleton,
                  struct sonde__dwarf_split *ret_split);
    void *split_ctx;
    const char *damage; /* of the sections as a whole (static), or null */
    bool symbols_only;  /* ignore the DWARF */
    /* Number of threads that read units, including the caller's; 0 means 1. The index does not
     * depend on it. `split` is called by one thread at a time. Each further thread takes some
     * megabytes. */
    unsigned threads;
    /* Called by the caller's thread before each unit, or null; false: stop with LIMIT. */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};

struct sonde__symindex_made {
    uint8_t *data; /* free with sonde__mem_free() */
    size_t size;
    uint32_t units, bad_units;
    uint32_t ranges, calls, functions, names, symbols;
};

/* Returns OK | ABSENT (neither DWARF nor symbols of code) | UNSUPPORTED (compressed sections,
 * more than 4 GiB of code) | CORRUPT (no code in it) | LIMIT | MEMORY.
 */
SONDE_NODISCARD enum sonde_status
sonde__symindex_convert(const struct sonde__symindex_source *source,
                        struct sonde__symindex_made *ret_made, struct sonde_error *ret_error);

#endif
