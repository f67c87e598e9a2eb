// SPDX-License-Identifier: Apache-2.0
/* A line number program ready to run: what its header says (DWARF 5 §6.2.4), for those who run it
 * (dwarf_line.c: the rows of one unit; symindex: all units of a file). Context: any thread. */
#ifndef SONDE_DWARF_LINE_PROGRAM_H
#define SONDE_DWARF_LINE_PROGRAM_H

#include "dwarf_line.h"

struct sonde__dwarf_program {
    const struct sonde__dwarf_sections *sections;
    struct sonde__dwarf_unit unit;    /* with the line table's own version and sizes */
    struct sonde__dwarf_lines *lines; /* its files and directories */
    struct sonde__bytes at;           /* the first instruction; ends with the program */
    uint8_t min_instruction, max_operations, line_range, opcode_base;
    int8_t line_base;
    uint8_t lengths[256];     /* operands of standard opcodes */
    enum sonde_status status; /* MEMORY or LIMIT where that stopped it */
};

/* Read the header of a unit's program (which has one), and its files and directories into `lines`
 * (zeroed by the caller at first; free with sonde__dwarf_lines_done(), also after a failure).
 * Returns OK | CORRUPT | MEMORY | LIMIT. */
SONDE_NODISCARD enum sonde_status
sonde__dwarf_program_open(const struct sonde__dwarf_sections *sections,
                          const struct sonde__dwarf_unit *unit, struct sonde__dwarf_lines *lines,
                          struct sonde__dwarf_program *ret_program);

/* DW_LNE_define_file. False: no memory (said in the program's status). */
bool sonde__dwarf_program_add_file(struct sonde__dwarf_program *program, const char *name,
                                   uint64_t directory);

#endif
