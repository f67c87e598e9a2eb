// SPDX-License-Identifier: Apache-2.0
/* What would provide the missing names of an image: the package with its debug file, or a
 * setting. */
#ifndef SONDE_CLI_HINT_H
#define SONDE_CLI_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"
#include "report_model.h"

enum { SONDE__CLI_HINT_BYTES = 1024 };

/* "Debian package zlib1g-dbgsym, or DEBUGINFOD_URLS=https://…". `root`: that of the process, or ""
 * (also null). path: of the image in it, or null when only its build-id is known. */
void sonde__cli_hint(const char *root, const char *path, bool network,
                     char ret_text[SONDE__CLI_HINT_BYTES]);

/* If stderr is a terminal, a line on it for each image that has frames without a name. */
void sonde__cli_hint_images(const struct sonde__cli_command *command, const char *root,
                            bool network, const struct sonde__report *report);

#endif
