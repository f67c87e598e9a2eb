// SPDX-License-Identifier: Apache-2.0
/* Line tables (DWARF 5 §6.2; versions 2 to 5): address -> file and line, of one unit.
 *
 * The program is run once into rows sorted by address; a sequence that the linker discarded is left
 * out. A malformed program keeps the rows before the fault. Context: any thread. */
#ifndef SONDE_DWARF_LINE_H
#define SONDE_DWARF_LINE_H

#include "dwarf_unit.h"

struct sonde__dwarf_row {
    uint64_t address;
    uint32_t file; /* index in the table's files as the program counts them */
    uint32_t line; /* 0: end of a sequence, or code without a line */
    uint32_t column;
    bool end; /* no code of this sequence from here on */
};

struct sonde__dwarf_file {
    const char *name;
    const char *directory; /* "" when none */
};

struct sonde__dwarf_lines {
    struct sonde__dwarf_row *rows; /* sorted by address */
    size_t row_count, row_capacity;
    struct sonde__dwarf_file
        *files; /* files[i] is file i of the program; versions < 5: 0 is none */
    size_t file_count, file_capacity;
    const char **directories;
    size_t directory_count, directory_capacity;
    bool damaged; /* the program was malformed somewhere */
};

/* Read the line table of a unit (which has one). Returns OK | CORRUPT (no usable header) | MEMORY |
 * LIMIT. Free with _done(), also after a failure; zeroed by the caller at first. */
SONDE_NODISCARD enum sonde_status
sonde__dwarf_lines_load(const struct sonde__dwarf_sections *sections,
                        const struct sonde__dwarf_unit *unit, struct sonde__dwarf_lines *lines);
void sonde__dwarf_lines_done(struct sonde__dwarf_lines *lines);

/* The row that covers `address`, or null. */
const struct sonde__dwarf_row *sonde__dwarf_lines_find(const struct sonde__dwarf_lines *lines,
                                                       uint64_t address);

/* Write "directory/name" of a file into `text` (absolute by the unit's comp_dir where it is known).
 * Returns false when there is no such file. */
bool sonde__dwarf_file_path(const struct sonde__dwarf_lines *lines,
                            const struct sonde__dwarf_unit *unit, uint32_t file, char *ret_text,
                            size_t size);

#endif
