// SPDX-License-Identifier: Apache-2.0
/* Address -> functions, files and lines, inlined calls included, from the DWARF of one ELF file.
 *
 * Opening reads unit headers only; a unit is scanned at the first look-up that falls into it and
 * kept. A bad unit costs that unit and is counted. Context: any thread, one at a time. */
#ifndef SONDE_DWARF_LOOKUP_H
#define SONDE_DWARF_LOOKUP_H

#include "dwarf_unit.h"

struct sonde__dwarf;

struct sonde__dwarf_frame {
    const char
        *name; /* linkage name, else plain name; "" when there is none. Lives as the reader */
    const char *file; /* path; "" when unknown */
    uint32_t line;    /* 0: unknown */
    uint32_t column;  /* 0: unknown */
    bool inlined;     /* into the next frame */
};

struct sonde__dwarf_counts {
    uint32_t units;
    uint32_t bad_units;
};

/* `sections` must outlive the reader. Returns OK | ABSENT (no units) | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__dwarf_open(const struct sonde__dwarf_sections *sections,
                                                    struct sonde__dwarf **ret_dwarf);
void sonde__dwarf_close(struct sonde__dwarf *dwarf);

/* The frames at a vaddr, innermost first, at most `max`; returns how many there are in all (0: the
 * DWARF knows nothing of this address). A line without a function gives one frame without a name.
 */
size_t sonde__dwarf_lookup(struct sonde__dwarf *dwarf, uint64_t vaddr,
                           struct sonde__dwarf_frame *ret_frames, size_t max);

struct sonde__dwarf_counts sonde__dwarf_counts(const struct sonde__dwarf *dwarf);

#endif
