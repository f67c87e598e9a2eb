// SPDX-License-Identifier: Apache-2.0
/* Text from outside on its way to a stream. */
#ifndef SONDE_CLI_PRINT_H
#define SONDE_CLI_PRINT_H

#include <stdint.h>
#include <stdio.h>

#include "symbol_answer.h"

/* Text from outside with control characters made visible. */
void sonde__cli_print_visible(FILE *out, const char *text);

/* "/src/main.c:12"; without the line where that is 0, nothing without a file. */
void sonde__cli_print_source(FILE *out, const char *file, uint32_t line);

/* A function, or "??", and behind `between` its place, if that is known. raw: the name as the file
 * has it. */
void sonde__cli_print_call(FILE *out, bool raw, const struct sonde__call *call,
                           const char *between);

#endif
