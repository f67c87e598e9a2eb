// SPDX-License-Identifier: Apache-2.0
/* The debug sections of one object file, from an ELF, inflated sections, a Mach-O, or a member of a
 * package of split files.
 *
 * The reader works on plain bytes; other forms are converted first. The views must outlive the
 * reader. Context: any thread. */
#ifndef SONDE_DWARF_SECTIONS_H
#define SONDE_DWARF_SECTIONS_H

#include "base_bytes.h"

struct sonde__elf;
struct sonde__macho;

struct sonde__dwarf_sections {
    struct sonde__bytes info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
    struct sonde__bytes types;              /* type units of version 4; DIEs as in `info` */
    struct sonde__bytes cu_index, tu_index; /* of a package of split units (dwarf_split.h) */
    /* dwz's file with the common parts of several files (DWARF 5 §7.3.6); or null */
    const struct sonde__dwarf_sections *supplementary;
};

enum sonde__dwarf_section {
    SONDE__DWARF_INFO,
    SONDE__DWARF_ABBREV,
    SONDE__DWARF_LINE,
    SONDE__DWARF_STR,
    SONDE__DWARF_LINE_STR,
    SONDE__DWARF_STR_OFFSETS,
    SONDE__DWARF_ADDR,
    SONDE__DWARF_RANGES,
    SONDE__DWARF_RNGLISTS,
    SONDE__DWARF_TYPES,
    SONDE__DWARF_CU_INDEX,
    SONDE__DWARF_TU_INDEX,
    SONDE__DWARF_SECTION_COUNT,
};

/* Its name without the format's prefix: "info" for ".debug_info" and "__debug_info". */
const char *sonde__dwarf_section_name(enum sonde__dwarf_section section);

/* Its member in `sections`. */
struct sonde__bytes *sonde__dwarf_section(struct sonde__dwarf_sections *sections,
                                          enum sonde__dwarf_section section);

/* All sections empty, no supplementary file. */
void sonde__dwarf_sections_init(struct sonde__dwarf_sections *sections);

/* The sections of an ELF, as views of it. False: some are compressed; they stay empty. */
bool sonde__dwarf_sections_of_elf(const struct sonde__elf *elf,
                                  struct sonde__dwarf_sections *ret_sections);

/* The sections of a Mach-O's segment __DWARF. False: some are compressed; they stay empty. */
bool sonde__dwarf_sections_of_macho(const struct sonde__macho *macho,
                                    struct sonde__dwarf_sections *ret_sections);

#endif
