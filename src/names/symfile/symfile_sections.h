// SPDX-License-Identifier: Apache-2.0
/* The debug sections of an ELF as bytes: those that are compressed are inflated once, into one
 * nameless file that is mapped. Context: any thread. */
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
    const char *damage;      /* of a section that could not be read whole (static text), or null */
};

/* split: those of a split file (".debug_info.dwo") instead of those of a linked one.
 *
 * A section with malformed compressed data keeps the part before the error; one with an impossible
 * size is skipped. Returns OK (also when there are none) | UNSUPPORTED (the library of its
 * compression is not there) | LIMIT (no room) | MEMORY. Ownership: release with _close(). */
SONDE_NODISCARD enum sonde_status
sonde__symfile_sections_open(const struct sonde__elf *elf, bool split,
                             struct sonde__symfile_sections *ret_sections,
                             struct sonde_error *ret_error);
void sonde__symfile_sections_close(struct sonde__symfile_sections *sections);

#endif
