// SPDX-License-Identifier: Apache-2.0
/* Names what would provide the missing names of an image: a debug package or a setting. */
#ifndef SONDE_CLI_HINT_H
#define SONDE_CLI_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"
#include "report_model.h"

enum { SONDE__CLI_HINT_BYTES = 1024 };

/* "Debian package zlib1g-dbgsym, or DEBUGINFOD_URLS=https://…". root: of the process, "" or null.
 * path: of the image within it; null if only its build-id is known. */
void sonde__cli_hint(const char *root, const char *path, bool network,
                     char ret_text[SONDE__CLI_HINT_BYTES]);

/* If stderr is a terminal, print a line for each image with frames that have no name. */
void sonde__cli_hint_images(const struct sonde__cli_command *command, const char *root,
                            bool network, const struct sonde__report *report);

#endif
