// SPDX-License-Identifier: Apache-2.0
/* A report file on its way to the screen, for the commands that show one. */
#ifndef SONDE_CLI_SHOWN_H
#define SONDE_CLI_SHOWN_H

#include "cli.h"
#include "cli_symbols.h"
#include "report_model.h"
#include "report_read.h"

/* The one report that is an operand. False: it is a second one; the exit code is in args. */
bool sonde__cli_shown_take(struct sonde__cli_args *args, const char **path);
/* 0: it was given. */
int sonde__cli_shown_given(const struct sonde__cli_command *command, const char *path);

/* Read the report at `path` ("-": standard input), give its frames the names that the symbol
 * options ask for, and print it. What could not be read of it is said at the end. Returns the exit
 * code. */
int sonde__cli_shown(const struct sonde__cli_command *command, const char *path,
                     struct sonde__cli_symbols *symbols,
                     void (*print)(void *ctx, const struct sonde__report *report,
                                   const struct sonde__report_loss *loss),
                     void *ctx);

#endif
