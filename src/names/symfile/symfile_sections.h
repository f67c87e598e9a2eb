// SPDX-License-Identifier: Apache-2.0
/* The debug sections of an ELF. Compressed ones are inflated once, into a nameless mapped file.
 * Context: any thread. */
#ifndef SONDE_SYMFILE_SECTIONS_H
#define SONDE_SYMFILE_SECTIONS_H

#include <sonde/status.h>

#include "dwarf_sections.h"
#include "host_scratch.h"
#include "image_elf.h"

struct sonde__symfile_sections {
    struct sonde__dwarf_sections views; /* into the ELF's view, and into the scratch */
    struct sonde__host_scratch scratch;
    uint64_t inflated_bytes; /* 0: nothing was compressed */
    const char *damage;      /* of incomplete sections (static text), or null */
};

/* split: use the sections of a split file (".debug_info.dwo"), not those of a linked one.
 *
 * A section with malformed compressed data keeps the part before the error; one of impossible size
 * is skipped. Returns OK (also without sections) | UNSUPPORTED (the decompressor is missing) |
 * LIMIT (no room) | MEMORY. Ownership: release with _close(). */
SONDE_NODISCARD enum sonde_status
sonde__symfile_sections_open(const struct sonde__elf *elf, bool split,
                             struct sonde__symfile_sections *ret_sections,
                             struct sonde_error *ret_error);
void sonde__symfile_sections_close(struct sonde__symfile_sections *sections);

#endif
