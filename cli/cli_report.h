// SPDX-License-Identifier: Apache-2.0
/* Reports on their way out: to the screen as text or JSON, to a file as they are. */
#ifndef SONDE_CLI_REPORT_H
#define SONDE_CLI_REPORT_H

#include "cli.h"
#include "report_model.h"
#include "report_view.h"

/* A sink of the views that writes to a stream; its errors stay with the stream. */
struct sonde__report_sink sonde__cli_sink(FILE *out);

/* Fill what every report of this program says of itself: tool, time, system. The strings are
 * static. */
void sonde__cli_report_header(struct sonde__report_header *ret_header);

/* Write the whole report to `path` ("-": standard output). A line is said on failure.
 * Returns an exit code. */
int sonde__cli_write_report(const struct sonde__cli_command *command,
                            const struct sonde__report *report, const char *path);

#endif
