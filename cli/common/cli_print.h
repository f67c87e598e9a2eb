// SPDX-License-Identifier: Apache-2.0
/* Prints text from outside to a stream. */
#ifndef SONDE_CLI_PRINT_H
#define SONDE_CLI_PRINT_H

#include <stdint.h>
#include <stdio.h>

#include "symbol_answer.h"

/* Control characters become visible. */
void sonde__cli_print_visible(FILE *out, const char *text);

/* "/src/main.c:12"; without ":0" if the line is 0; nothing without a file. */
void sonde__cli_print_source(FILE *out, const char *file, uint32_t line);

/* A function or "??", followed by `between` and its source place if known. raw: print the stored
 * name. */
void sonde__cli_print_call(FILE *out, bool raw, const struct sonde__call *call,
                           const char *between);

#endif
