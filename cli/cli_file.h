// SPDX-License-Identifier: Apache-2.0
/* Files that appear whole or not at all, and JSON strings for verbs without a report. */
#ifndef SONDE_CLI_FILE_H
#define SONDE_CLI_FILE_H

#include "cli.h"

/* Write a file beside its final place and move it there. On failure a line is said; returns an exit
 * code. */
int sonde__cli_write_file(const struct sonde__cli_command *command, const char *path,
                          const void *data, size_t size);

/* A JSON string, with its quotes; bytes that are no UTF-8 become U+FFFD. */
void sonde__cli_print_json_string(FILE *out, const char *text);

/* Text from outside, control characters made visible. */
void sonde__cli_print_visible(FILE *out, const char *text);

/* "/src/main.c:12"; without the line where that is 0, nothing without a file. */
void sonde__cli_print_source(FILE *out, const char *file, uint32_t line);

/* A folder and those above it, where they are missing. Returns an exit code; what is wrong is said.
 */
int sonde__cli_make_folder(const struct sonde__cli_command *command, const char *path);

#endif
