// SPDX-License-Identifier: Apache-2.0
/* Reads several reports, for commands that combine or compare them. */
#ifndef SONDE_CLI_REPORTS_H
#define SONDE_CLI_REPORTS_H

#include "cli.h"
#include "cli_symbols.h"
#include "findings.h"
#include "report_model.h"

/* More than a year of nightly runs. All are kept in memory. */
enum { SONDE__CLI_REPORTS_MAX = 400 };

struct sonde__cli_reports {
    struct sonde__report *reports[SONDE__CLI_REPORTS_MAX];
    char *names[SONDE__CLI_REPORTS_MAX]; /* file names */
    uint32_t count;
    bool is_damaged; /* part of a report was unreadable, which was reported */
};

/* Add the report at `path`, or all reports in the folder `path` sorted by name; live files and
 * other files are skipped. Reports a failure, also for a folder without reports; returns an exit
 * code. */
int sonde__cli_reports_add(struct sonde__cli_reports *reports,
                           const struct sonde__cli_command *command, const char *path,
                           struct sonde__cli_symbols *symbols);
void sonde__cli_reports_done(struct sonde__cli_reports *reports);

/* The exit code of a comparison. The most important result decides: what was found, damaged input,
 * what could not be compared. */
int sonde__cli_gate_code(const struct sonde__findings_gate *gate, bool damaged);

#endif
