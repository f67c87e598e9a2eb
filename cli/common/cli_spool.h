// SPDX-License-Identifier: Apache-2.0
/* Finds the user's spool folder. */
#ifndef SONDE_CLI_SPOOL_H
#define SONDE_CLI_SPOOL_H

#include "cli.h"
#include "spool_folder.h"

/* Absolute path of a folder; "auto" or null: the user's default folder. Reports a failure; returns
 * an exit code. */
int sonde__cli_spool_path(const struct sonde__cli_command *command, const char *folder,
                          char ret_path[SONDE__SPOOL_PATH]);
/* Check that it is usable; make it if it is missing. Reports a failure; returns an exit code. */
int sonde__cli_spool_check(const struct sonde__cli_command *command, const char *path);

#endif
