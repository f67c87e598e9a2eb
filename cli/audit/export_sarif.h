// SPDX-License-Identifier: Apache-2.0
/* sonde export --format sarif: recorded calls as findings, with a baseline and suppressions. */
#ifndef SONDE_CLI_EXPORT_SARIF_H
#define SONDE_CLI_EXPORT_SARIF_H

#include "cli_report.h"
#include "cli_symbols.h"

/* Options for the struct below. r: the request, m: its member. */
// clang-format off
#define SONDE__CLI_SARIF_OPTIONS(r, m)                                                             \
    {"baseline", 0, "OLD",                                                                         \
     "sarif: compare with this report, or folder of reports: findings are new, unchanged or absent", \
     sonde__cli_take_text, offsetof(r, m.baseline)},                                               \
    {"suppress", 0, "FILE",                                                                        \
     "sarif: accepted findings, each with a reason and a last day (sonde-export(1))",               \
     sonde__cli_take_text, offsetof(r, m.suppress)},                                               \
    {"fail-on", 0, "SEVERITY",                                                                     \
     "sarif: exit with 8 if there is a finding of at least this severity (note, warning or error) " \
     "that is neither suppressed nor in the baseline, with 7 if that is not known",                \
     sonde__cli_take_severity, offsetof(r, m.fail_on)},                                            \
    {"source-root", 0, "DIR",                                                                      \
     "sarif: files below DIR are given relative to it",                                            \
     sonde__cli_take_text, offsetof(r, m.source_root)}
// clang-format on

struct sonde__cli_sarif {
    const char *baseline, *suppress, *source_root; /* null: not given */
    uint32_t fail_on;                              /* enum sonde__report_severity; 0: not given */
    bool raw_names;
};

/* Is one of the options given? */
bool sonde__cli_sarif_is_asked(const struct sonde__cli_sarif *request);

/* Write the report, or the reports of the folder, at `path`. Returns the exit code. */
int sonde__cli_export_sarif(const struct sonde__cli_command *command, const char *path,
                            struct sonde__cli_symbols *symbols,
                            const struct sonde__cli_sarif *request);

#endif
