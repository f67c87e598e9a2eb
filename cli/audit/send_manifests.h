// SPDX-License-Identifier: Apache-2.0
/* Gives a collector the privacy manifests of a build. */
#ifndef SONDE_CLI_SEND_MANIFESTS_H
#define SONDE_CLI_SEND_MANIFESTS_H

#include <sonde/upload.h>

#include "cli.h"

/* paths: bundles of apps, whose frameworks declare for themselves, as for sonde privacy, and single
 * manifests. All are read before the first is sent. Prints a line for each unless `is_quiet`;
 * reports failures. Returns an exit code. */
int sonde__cli_send_manifests(const struct sonde__cli_command *command,
                              const struct sonde_upload_options *how, const char *project,
                              const char *build, const struct sonde__cli_operands *paths,
                              bool is_quiet);

#endif
