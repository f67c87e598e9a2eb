// SPDX-License-Identifier: Apache-2.0
/* Reads an Apple PrivacyInfo.xcprivacy: a property list, as XML or binary. */
#ifndef SONDE_CLI_MANIFEST_PLIST_H
#define SONDE_CLI_MANIFEST_PLIST_H

#include "cli.h"
#include "findings_manifest.h"

/* Real manifests have some kilobytes. */
#define SONDE__CLI_MANIFEST_BYTES ((size_t)1 << 20)

/* Add what the file declares to `manifest`. Reports a failure; returns an exit code. */
int sonde__cli_manifest_add(const struct sonde__cli_command *command, const char *path,
                            struct sonde__manifest *manifest);

#endif
