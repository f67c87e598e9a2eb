// SPDX-License-Identifier: Apache-2.0
/* Fits lines of stacks to a terminal. A frame's line that is too wide loses the padding between
 * columns, then the middle of its widest names ("outer::…::run(int)+0x1f"), so that image, file and
 * line stay visible. Other lines, and output to files and pipes, do not change. */
#ifndef SONDE_CLI_FIT_H
#define SONDE_CLI_FIT_H

#include <stdbool.h>
#include <stdio.h>

#include "report_out.h"

enum { SONDE__CLI_FIT_BYTES = 8192 }; /* longer lines are not fitted */

struct sonde__cli_fit {
    FILE *out;
    unsigned columns; /* 0: no terminal */
    size_t used;
    bool is_long; /* the line was written in parts */
    char line[SONDE__CLI_FIT_BYTES];
};

/* out: any stream. End it before another use of `out`. */
void sonde__cli_fit_begin(struct sonde__cli_fit *fit, FILE *out);
struct sonde__report_sink sonde__cli_fit_sink(struct sonde__cli_fit *fit);
void sonde__cli_fit_end(struct sonde__cli_fit *fit);

#endif
