// SPDX-License-Identifier: Apache-2.0
/* Reads and prints a report file. */
#ifndef SONDE_CLI_SHOWN_H
#define SONDE_CLI_SHOWN_H

#include "cli.h"
#include "cli_report.h"
#include "cli_symbols.h"
#include "report_model.h"
#include "report_read.h"

/* Read the report at `path` ("-": stdin) and look up names as the symbol options say. Reports a
 * failure; returns an exit code. */
int sonde__cli_report_read(const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_symbols *symbols, struct sonde__report **ret_report,
                           struct sonde__report_loss *ret_loss);

/* Read and print it, then report what could not be read. Returns the exit code. */
int sonde__cli_shown(const struct sonde__cli_command *command, const char *path,
                     struct sonde__cli_symbols *symbols,
                     void (*print)(void *ctx, struct sonde__report *report,
                                   const struct sonde__report_loss *loss),
                     void *ctx);

/* Request of a command that shows one report. */
struct sonde__cli_show {
    struct sonde__cli_symbols symbols;
    struct sonde__cli_view view;
};

/* Print the report that is the only operand. Returns the exit code. */
int sonde__cli_show(const struct sonde__cli_command *command,
                    const struct sonde__cli_operands *operands, struct sonde__cli_show *request);

#endif
