// SPDX-License-Identifier: Apache-2.0
/* sonde run --record: the recorder's part of the options. */
#ifndef SONDE_CLI_RUN_RECORD_H
#define SONDE_CLI_RUN_RECORD_H

#include "cli.h"
#include "watch_run.h"

struct sonde__cli_record {
    const char *list; /* path */
    bool app_only, raw, keep_going;
    uint32_t top;    /* report_view.h */
    uint32_t frames; /* room for different frames; 0: as always */
};

/* Fills probe and plugin of `options`, whose argv, envp, verbose and symbols are set.
 * Returns 0, or the exit status after it has said what is wrong. */
int sonde__cli_prepare_record(const struct sonde__cli_command *command,
                              const struct sonde__cli_record *request,
                              struct sonde__watch_options *options);

/* Fills `options` so that the program runs with a registry of its blocks, looked at each period_ns
 * (0: at the end only). Returns 0, or the exit status. */
int sonde__cli_prepare_blocks(const struct sonde__cli_command *command, uint64_t period_ns,
                              struct sonde__watch_options *options);

#endif
