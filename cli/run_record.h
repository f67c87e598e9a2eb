// SPDX-License-Identifier: Apache-2.0
/* sonde run --record and --blocks: the options of the recorder. */
#ifndef SONDE_CLI_RUN_RECORD_H
#define SONDE_CLI_RUN_RECORD_H

#include "cli.h"
#include "watch_run.h"

struct sonde__cli_record {
    const char *list; /* path */
    bool app_only, raw, keep_going;
    uint32_t top;    /* report_view.h */
    uint32_t frames; /* room for different frames; 0: the default */
};

/* Fills probe and plugin of `options`, whose argv, envp, verbose and symbols are set. Reports a
 * failure; returns 0 or the exit status. */
int sonde__cli_prepare_record(const struct sonde__cli_command *command,
                              const struct sonde__cli_record *request,
                              struct sonde__watch_options *options);

/* The same for a program with a registry of its blocks, which is read each period_ns (0: at the end
 * only). */
int sonde__cli_prepare_blocks(const struct sonde__cli_command *command, uint64_t period_ns,
                              struct sonde__watch_options *options);

#endif
