// SPDX-License-Identifier: Apache-2.0
/* Files that are written completely or not at all, and their folders. */
#ifndef SONDE_CLI_FILE_H
#define SONDE_CLI_FILE_H

#include "cli.h"

/* Write to a temporary file and rename it. Reports a failure; returns an exit code. */
int sonde__cli_write_file(const struct sonde__cli_command *command, const char *path,
                          const void *data, size_t size);

/* Make a folder and its missing parents. Reports a failure; returns an exit code. */
int sonde__cli_make_folder(const struct sonde__cli_command *command, const char *path);

#endif
