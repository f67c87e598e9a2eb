// SPDX-License-Identifier: Apache-2.0
/* Headers of line number programs (DWARF 5 §6.2.4; versions 2 to 5): the program's parameters, its
 * files and directories. The caller runs the program. Context: any thread. */
#ifndef SONDE_DWARF_LINE_H
#define SONDE_DWARF_LINE_H

#include "dwarf_unit.h"

struct sonde__dwarf_file {
    const char *name;
    const char *directory; /* "" when none */
};

struct sonde__dwarf_lines {
    /* files[i] is file i of the program; before version 5, 0 is none */
    struct sonde__dwarf_file *files;
    size_t file_count, file_capacity;
    const char **directories;
    size_t directory_count, directory_capacity;
};

struct sonde__dwarf_program {
    const struct sonde__dwarf_sections *sections;
    struct sonde__dwarf_unit unit;    /* with the line table's own version and sizes */
    struct sonde__dwarf_lines *lines; /* its files and directories */
    struct sonde__bytes at;           /* first instruction; ends with the program */
    uint8_t min_instruction, max_operations, line_range, opcode_base;
    int8_t line_base;
    uint8_t lengths[256];     /* operands of standard opcodes */
    enum sonde_status status; /* MEMORY or LIMIT, if that stopped the reading */
};

/* Read the header of a unit's program, which must exist, and its files and directories into `lines`
 * (zeroed initially; free with sonde__dwarf_lines_done(), also after a failure). Returns OK |
 * CORRUPT | MEMORY | LIMIT. */
SONDE_NODISCARD enum sonde_status
sonde__dwarf_program_open(const struct sonde__dwarf_sections *sections,
                          const struct sonde__dwarf_unit *unit, struct sonde__dwarf_lines *lines,
                          struct sonde__dwarf_program *ret_program);

/* DW_LNE_define_file. False: no memory, with the program's status set. */
bool sonde__dwarf_program_add_file(struct sonde__dwarf_program *program, const char *name,
                                   uint64_t directory);

void sonde__dwarf_lines_done(struct sonde__dwarf_lines *lines);

/* Write "directory/name" of a file to `text` (absolute if the unit's comp_dir is known). False: no
 * such file. */
bool sonde__dwarf_file_path(const struct sonde__dwarf_lines *lines,
                            const struct sonde__dwarf_unit *unit, uint32_t file, char *ret_text,
                            size_t size);

#endif
