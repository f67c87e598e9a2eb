// SPDX-License-Identifier: Apache-2.0
/* Options of the recorder: sonde run --record, --audit and --blocks. */
#ifndef SONDE_CLI_RUN_RECORD_H
#define SONDE_CLI_RUN_RECORD_H

#include "cli.h"
#include "watch_run.h"

struct sonde__cli_record {
    const char *list;  /* path */
    const char *rules; /* path of a file of rules instead; null: none */
    const char *phase; /* with rules: that a signal begins; null: none */
    bool app_only, raw, keep_going;
    bool follow;     /* also children and what they execute */
    bool live;       /* with rules: a line for each new call, as JSON if the report is */
    uint32_t top;    /* report_view.h */
    uint32_t frames; /* room for distinct frames; 0: the default */
};

/* The file that executing `name` would load libraries for, behind scripts and env; null: none, or
 * its loader cannot list them. Valid until the next call. */
const char *sonde__cli_find_binary(const char *name);

/* Set probe and plugin of `options`, whose argv, envp, verbose and symbols are set already. Reports
 * a failure; returns 0 or the exit status. */
int sonde__cli_prepare_record(const struct sonde__cli_command *command,
                              const struct sonde__cli_record *request,
                              struct sonde__watch_options *options);

/* Become the program of `options`, recorded as a part of the run at `place` ("SUPERVISOR:FD").
 * Returns only if that fails: the exit status. */
int sonde__cli_join(const struct sonde__cli_command *command, const char *place,
                    const struct sonde__watch_options *options);

/* The same for the registry of blocks, which is read every period_ns (0: only at the end). */
int sonde__cli_prepare_blocks(const struct sonde__cli_command *command, uint64_t period_ns,
                              struct sonde__watch_options *options);

#endif
