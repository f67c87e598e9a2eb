// SPDX-License-Identifier: Apache-2.0
/* Uploads symbol files to a collector: those that it lacks. */
#ifndef SONDE_CLI_SEND_SYMBOLS_H
#define SONDE_CLI_SEND_SYMBOLS_H

#include <sonde/upload.h>

#include "cli.h"

/* paths: programs, debug files, dSYM bundles and index files, or folders with them. how: address,
 * key and transport. Prints a line for each file unless `is_quiet`; reports failures. Returns an
 * exit code. */
int sonde__cli_send_symbols(const struct sonde__cli_command *command,
                            const struct sonde_upload_options *how,
                            const struct sonde__cli_operands *paths, bool is_quiet);

#endif
