// SPDX-License-Identifier: Apache-2.0
/* Several reports at once, for the commands that add them up or compare them. */
#ifndef SONDE_CLI_REPORTS_H
#define SONDE_CLI_REPORTS_H

#include "cli.h"
#include "cli_symbols.h"
#include "report_model.h"

/* A year of nightly runs. All are in memory. */
enum { SONDE__CLI_REPORTS_MAX = 400 };

struct sonde__cli_reports {
    struct sonde__report *reports[SONDE__CLI_REPORTS_MAX];
    char *names[SONDE__CLI_REPORTS_MAX]; /* of their files */
    uint32_t count;
    bool is_damaged; /* part of one could not be read, which was said */
};

/* Add the report at `path`, or all reports that are in the folder `path`, in the order of their
 * names, without live files and whatever is no report. Reports a failure, and that a folder has
 * none; returns an exit code. */
int sonde__cli_reports_add(struct sonde__cli_reports *reports,
                           const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_symbols *symbols);
void sonde__cli_reports_done(struct sonde__cli_reports *reports);

#endif
