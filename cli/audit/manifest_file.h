// SPDX-License-Identifier: Apache-2.0
/* Reads a file of a PrivacyInfo.xcprivacy. */
#ifndef SONDE_CLI_MANIFEST_FILE_H
#define SONDE_CLI_MANIFEST_FILE_H

#include "cli.h"
#include "findings_manifest.h"

/* Add what the file declares to `manifest`. Reports a failure; returns an exit code. */
int sonde__cli_manifest_add(const struct sonde__cli_command *command, const char *path,
                            struct sonde__manifest *manifest);

#endif
