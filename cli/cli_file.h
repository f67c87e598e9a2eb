// SPDX-License-Identifier: Apache-2.0
/* Files that are written completely or not at all, and text from outside on its way to stdout. */
#ifndef SONDE_CLI_FILE_H
#define SONDE_CLI_FILE_H

#include "cli.h"

/* Write a file beside its final place and rename it. Reports a failure; returns an exit code. */
int sonde__cli_write_file(const struct sonde__cli_command *command, const char *path,
                          const void *data, size_t size);

/* A JSON string, with its quotes; bytes that are no UTF-8 become U+FFFD. */
void sonde__cli_print_json_string(FILE *out, const char *text);

/* Text from outside with control characters made visible. */
void sonde__cli_print_visible(FILE *out, const char *text);

/* "/src/main.c:12"; without the line where that is 0, nothing without a file. */
void sonde__cli_print_source(FILE *out, const char *file, uint32_t line);

/* Make a folder and its missing parents. Reports a failure; returns an exit code. */
int sonde__cli_make_folder(const struct sonde__cli_command *command, const char *path);

#endif
