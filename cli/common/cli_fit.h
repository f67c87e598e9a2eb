// SPDX-License-Identifier: Apache-2.0
/* Fits lines to the terminal that a stream goes to (report_fit.h); files and pipes get them as they
 * are. Text for people is fitted: a command that prints it calls sonde__cli_fit_output() first.
 * JSON, exports and the reader's own text are not. */
#ifndef SONDE_CLI_FIT_H
#define SONDE_CLI_FIT_H

#include <stdio.h>

#include "report_fit.h"

/* A sink that writes to a stream. The stream records errors. */
struct sonde__report_sink sonde__cli_sink(FILE *out);
/* out: any stream. End it (sonde__report_fit_end()) before another use of `out`. */
void sonde__cli_fit_begin(struct sonde__report_fit *fit, FILE *out);

/* From now on fit what is printed to `stdout`, if it is a terminal. */
void sonde__cli_fit_output(void);
/* Write the rest. `stdout` is the original stream again, with its state of errors. */
void sonde__cli_fit_output_end(void);
/* --wide: fit nothing. */
void sonde__cli_fit_nothing(void);
bool sonde__cli_fits_nothing(void);

#endif
