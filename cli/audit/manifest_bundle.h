// SPDX-License-Identifier: Apache-2.0
/* The privacy manifests of an app's bundle, by the parts that declare for themselves: the app with
 * what is linked into it statically (whose manifests are in resource bundles, *.bundle), and each
 * framework in Frameworks. Layouts: iOS, and macOS with Contents and Versions. */
#ifndef SONDE_CLI_MANIFEST_BUNDLE_H
#define SONDE_CLI_MANIFEST_BUNDLE_H

#include "cli.h"
#include "findings_manifest.h"

/* Called with each manifest that was read. path: of the file; inside: its folder below that of the
 * part, "Kit.bundle" or "". */
typedef void sonde__cli_bundle_file(void *ctx, const char *part, const char *inside,
                                    const char *path);

struct sonde__cli_bundle {
    struct sonde__manifest_part *parts; /* the app's own code comes first */
    size_t count, capacity;
    sonde__cli_bundle_file *on_file; /* set before reading; null: none */
    void *ctx;
};

/* Is it the path of a folder? */
bool sonde__cli_is_folder(const char *path);

/* Read those of a bundle ("Foo.app"). Reports a failure; returns an exit code. Ownership:
 * sonde__mem_free(ret_bundle->parts), also on failure. */
int sonde__cli_bundle_read(const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_bundle *ret_bundle);

#endif
