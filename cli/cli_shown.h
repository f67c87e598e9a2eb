// SPDX-License-Identifier: Apache-2.0
/* Show a report file, for the commands that do. */
#ifndef SONDE_CLI_SHOWN_H
#define SONDE_CLI_SHOWN_H

#include "cli.h"
#include "cli_report.h"
#include "cli_symbols.h"
#include "report_model.h"
#include "report_read.h"

/* Read the report at `path` ("-": standard input) and give its frames the names that the symbol
 * options ask for. Reports a failure; returns an exit code. */
int sonde__cli_report_read(const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_symbols *symbols, struct sonde__report **ret_report,
                           struct sonde__report_loss *ret_loss);

/* The same, and print it. Reports at the end what could not be read of it. Returns the exit
 * code. */
int sonde__cli_shown(const struct sonde__cli_command *command, const char *path,
                     struct sonde__cli_symbols *symbols,
                     void (*print)(void *ctx, const struct sonde__report *report,
                                   const struct sonde__report_loss *loss),
                     void *ctx);

/* The request of a command that shows one report. */
struct sonde__cli_show {
    struct sonde__cli_symbols symbols;
    struct sonde__cli_view view;
};

/* The report that is the only operand, on standard output. Returns the exit code. */
int sonde__cli_show(const struct sonde__cli_command *command,
                    const struct sonde__cli_operands *operands, struct sonde__cli_show *request);

#endif
