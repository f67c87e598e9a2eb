// SPDX-License-Identifier: Apache-2.0
/* Fits lines of stacks to the terminal that a stream goes to; files and pipes get them as they
 * are. */
#ifndef SONDE_CLI_FIT_H
#define SONDE_CLI_FIT_H

#include <stdio.h>

#include "report_fit.h"

/* A sink that writes to a stream. The stream records errors. */
struct sonde__report_sink sonde__cli_sink(FILE *out);
/* out: any stream. End it (sonde__report_fit_end()) before another use of `out`. */
void sonde__cli_fit_begin(struct sonde__report_fit *fit, FILE *out);

#endif
