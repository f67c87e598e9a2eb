// SPDX-License-Identifier: Apache-2.0
/* Maps an instruction to its line with the tables of CPython's code objects
 * (Objects/lnotab_notes.txt of 3.8 to 3.10; InternalDocs/code_objects.md, "Location table"). */
#ifndef SONDE_PYTHON_LINES_H
#define SONDE_PYTHON_LINES_H

#include "python_layout.h"

/* The line of the instruction at byte `lasti` of a code object (-1 or less: before its first). 0:
 * unknown, or no line. lines: enum python_lines */
uint32_t python_line(unsigned lines, const uint8_t *table, size_t size, uint32_t first_line,
                     int64_t lasti);

#endif
